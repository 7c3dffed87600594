"""metrics.prometheus: the state of a run for node_exporter's textfile collector."""

import os
import re
import stat

from case import case
from expectations import expect, expect_equal, expect_in
from processes import wait_until
from run_helpers import listed, start

SAMPLE = re.compile(r'^(dlaunch_[a-z_]+)\{((?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)+)\} (-?[0-9.]+(?:e[-+]?[0-9]+)?|nan|-?inf)$')


def samples(box, name="out.prom"):
    """{(family, labels): value}; checks the format."""
    found = {}
    families = []
    for line in box.read(name).decode().splitlines():
        if line.startswith("# TYPE "):
            families.append(line.split()[2])
        elif not line.startswith("#"):
            match = SAMPLE.match(line)
            expect(match, f"not a sample: {line}")
            expect_equal(match[1], families[-1], "the family of a sample")
            expect((match[1], match[2]) not in found, f"twice: {line}")
            found[match[1], match[2]] = match[3]
    expect_equal(len(families), len(set(families)), "families")
    return found


@case
def it_shows_the_run_while_it_goes_on_and_at_its_end(box):
    run = start(box, "tell", "ready", "gate", options=("--set", f"metrics.prometheus={box.path('out.prom')}", "--name", "na\"me"))
    identity = listed(box)[0]["run"]
    state = f'run="{identity}",state="running"'
    wait_until(lambda: samples(box).get(("dlaunch_run_state", state)) == "1", "the state running", patience=30, pause=0.2)
    host = os.uname().nodename
    seen = samples(box)
    expect_equal(seen["dlaunch_run_info", f'run="{identity}",job="na\\"me",launcher="{host}"'], "1", "the run")
    for rank in (0, 1):
        expect_equal(seen["dlaunch_rank_up", f'run="{identity}",rank="{rank}",role="default",host="{host}"'], "1", "ranks")
    expect_equal(seen["dlaunch_ranks", state], "2", "ranks that run")
    expect(not any(name == "dlaunch_exit_code" for name, labels in seen), "an exit code")
    box.open_gate()
    run.end(0)
    seen = samples(box)
    expect_equal(seen["dlaunch_run_state", f'run="{identity}",state="done"'], "1", "the state at the end")
    expect_equal(seen["dlaunch_exit_code", f'run="{identity}"'], "0", "exit code")
    expect(not any(name == "dlaunch_rank_up" for name, labels in seen), "ranks after the end")
    expect_equal(stat.S_IMODE(os.stat(box.path("out.prom")).st_mode), 0o644 & ~current_umask(), "mode")
    expect_equal([name for name in os.listdir(box.folder) if name.startswith("out.prom")], ["out.prom"], "files")


def current_umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


@case
def a_failure_is_in_it(box):
    box.write("job.yaml", "command: exit 7\nmetrics: {prometheus: out.prom, loss: 'loss ([0-9.]+)'}\n")
    box.run("run", "--restarts", "1", code=7)
    seen = samples(box)
    identity = listed(box)[0]["run"]
    expect_equal([seen[name, f'run="{identity}"'] for name in ("dlaunch_exit_code", "dlaunch_restarts_total")], ["7", "1"], "exit code, restarts")
    expect_equal(seen["dlaunch_run_state", f'run="{identity}",state="failed"'], "1", "state")


@case
def a_file_that_cannot_be_written_is_a_note(box):
    run = box.run("run", "--set", "metrics.prometheus=missing/out.prom", "--", "true")
    expect_in("cannot write metrics.prometheus", run.text, "the note")
    expect_equal(run.text.count("cannot write metrics.prometheus"), 1, "how often")
    expect_in("must be a file whose name ends in .prom", box.run("run", "--set", "metrics.prometheus=a.txt", "--", "true", code=65).text, "another name")


@case
def what_others_put_in_its_way_is_not_opened(box):
    """A FIFO would hold the engine for ever."""
    run = start(box, "tell", "ready", "gate", options=("--set", f"metrics.prometheus={box.path('out.prom')}"))
    os.mkfifo(box.path(f"out.prom.{run.chain()[0]}"))
    box.open_gate()
    run.end(0)
    expect(stat.S_ISREG(os.stat(box.path("out.prom")).st_mode), "what was written")
    expect_equal([name for name in os.listdir(box.folder) if name.startswith("out.prom")], ["out.prom"], "files")
