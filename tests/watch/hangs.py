"""Programs that hang, on this machine or on nodes, and the verdicts on them."""

import json
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass

from expectations import Skip, expect, expect_equal, expect_in
from processes import wait_until
from watch_sandbox import HERE, PYTHON

ASTRAY = os.path.join(HERE, "ranks", "astray.py")
PYPI = os.path.expanduser("~/.cache/dlaunch-test/torch-venv/bin/python")
WATCHED = ["--set", "timeouts.stop=1s", "--set", "watch.after=2s"]


@dataclass(frozen=True)
class Job:
    """`nodes`: 0: on this machine, without ssh."""
    ranks: int = 3
    nodes: int = 0
    odd: int = 1
    python: str = PYTHON

    def host(self, box, rank=None):
        """Of this rank; of the odd one."""
        if self.nodes == 0:
            return os.uname().nodename
        return f"node{(self.odd if rank is None else rank) * self.nodes // self.ranks + 1}"

    def subject(self, box):
        return f"rank {self.odd} on {self.host(box)} "

    def rest(self, odd=1, them="it"):
        count = self.ranks - odd
        return f"; 1 rank waits for {them} in " if count == 1 else f"; {count} ranks wait for {them} in "


PAIR = Job(ranks=2)
SIXTEEN = Job(ranks=16, nodes=8, odd=5)


def line_of(text, program=ASTRAY):
    with open(program, encoding="utf-8") as file:
        name = os.path.basename(program)
        return f"{name}:{next(number for number, line in enumerate(file, 1) if text in line)}"


def needs_torch(python=PYTHON):
    if subprocess.run([python, "-c", "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"],
                      check=False, stderr=subprocess.DEVNULL).returncode != 0:
        raise Skip(f"no torch for {python} (python3-torch; docs/internals/testing.md)")


def needs(python):
    if not os.path.exists(python):
        raise Skip(f"missing: {python} (docs/internals/testing.md)")
    needs_torch(python)


def environment(box):
    """In which dlaunch finds py-spy."""
    return {"PATH": box.environment["PATH"] + ":" + box.py_spy()}


def until_ready(box, ranks):
    """An import of torch takes its time where all ranks do it at once."""
    box.expect_events([f"ready {rank}" for rank in range(ranks)], patience=max(40, 10 * ranks))


def start(box, job, *command, options=(), **more):
    """On nodes, one cluster serves all runs of a case. A program that the case's folder has is taken from there (cases_screens.py)."""
    command = [box.path(os.path.basename(word)) if box.exists(os.path.basename(word)) else word for word in command]
    if job.nodes > 0:
        if box.cluster is None:
            box.make_cluster(job.nodes)
        return box.launch(*command, ranks=job.ranks // job.nodes, options=[*WATCHED, *options], **more)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    return box.start("run", "-n", str(job.ranks), *WATCHED, *options, "--", *command, **more)


def variables_of(**variables):
    """An option with these variables for the ranks."""
    return ["--set", "env={" + ", ".join(f"{name}: '{value}'" for name, value in variables.items()) + "}"]


def train(box, what, job=Job(), options=(), **variables):
    needs(job.python)
    more = variables_of(OMP_NUM_THREADS=1, ODD=job.odd, **variables)
    run = start(box, job, job.python, ASTRAY, what, options=[*more, *options], env=environment(box))
    until_ready(box, job.ranks)
    return run


def mpi_program(box, compiler):
    program = box.path("ring")
    made = subprocess.run([compiler, "-O1", "-o", program, os.path.join(HERE, "ranks", "mpi_step.c")], check=False,
                          capture_output=True, text=True) if shutil.which(compiler) else None
    if made is None or made.returncode != 0:
        raise Skip(f"missing: {compiler} (packages libopenmpi-dev, libmpich-dev)")
    return program


def mpi(box, compiler, what, job=Job()):
    run = start(box, job, mpi_program(box, compiler), what, str(job.odd),
                options=["--set", "framework=mpi", "--set", "mpi.oversubscribe=true"])
    until_ready(box, job.ranks)
    return run


def pid_of(box, run, job, rank):
    """The pid of this rank, as this machine has it."""
    if job.nodes == 0:
        return run.ranks()[rank]
    for pid in box.people(box.cluster[int(job.host(box, rank)[4:])])[2]:
        with open(f"/proc/{pid}/environ", "rb") as file:
            if f"RANK={rank}".encode() in file.read().split(b"\0"):
                return pid
    raise AssertionError(f"no process of rank {rank}")


def stalls(box):
    with open(os.path.join(box.run_folder(), "events.jsonl"), encoding="utf-8") as file:
        events = [json.loads(line) for line in file if line.endswith("\n")]
    return [event for event in events if event["event"] == "stall"]


def told(box, kind):
    """The first verdict of this kind. None before it may call it a hang."""
    found = []

    def look():
        found[:] = stalls(box)
        return any(one["verdict"] == kind for one in found)
    try:
        wait_until(look, f"the verdict {kind}", 90, 0.2)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{json.dumps(found, indent=1)}") from None
    verdict = next(one for one in found if one["verdict"] == kind)
    for earlier in found[:found.index(verdict)]:
        expect(earlier["verdict"] != "hang", json.dumps(found, indent=1))
    return verdict


def end(_box, run):
    run.signal(signal.SIGTERM)
    run.end(143)


def expect_verdict(verdict, odd, *parts):
    text = json.dumps(verdict, indent=1)
    expect_equal(verdict["ranks"], odd, text)
    for part in parts:
        expect_in(part, verdict["headline"], text)
