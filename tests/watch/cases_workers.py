"""Ranks that only supervise the processes that do their work: torchrun inside of a rank."""

import subprocess

from case import case
from hangs import ASTRAY, PYPI, WATCHED, Job, end, expect_verdict, line_of, needs, told
from expectations import expect, expect_equal
from processes import children_of, command_of
from watch_sandbox import PYTHON, functions


def absent(box, python, *options):
    """torchrun with three workers, one of which never joins: the verdict, and the branches of the rank."""
    needs(python)
    py_spy = box.py_spy()
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    torchrun = [python, "-m", "torch.distributed.run", "--standalone", *options, "--nproc_per_node", "3", ASTRAY, "absent"]
    run = box.start("run", *WATCHED, "--set", "env={OMP_NUM_THREADS: '1'}", "--", *torchrun, env={"PATH": f"{box.environment['PATH']}:{py_spy}"})
    box.expect_events([f"ready {worker}" for worker in range(3)], patience=60)
    verdict = told(box, "hang")
    rank = box.stacks_json(py_spy=py_spy)["ranks"][0]
    supervisor = rank["processes"][0]["pid"]
    workers = [pid for pid in children_of(supervisor) if command_of(pid).endswith(f"{ASTRAY} absent")]
    expect_equal([process["pid"] for process in rank["processes"] if process["parent"] == supervisor], workers, "children of the rank")
    astray = [process["pid"] for process in rank["processes"] if functions(process["threads"][0])[:1] == ["forward"]]
    expect(len(workers) == 3 and len(astray) == 1, rank)
    expect_verdict(verdict, [0], f"worker pid {astray[0]} of rank 0 on {Job().host(box)} is in forward ({line_of('time.sleep(1000)')})",
                   f"; 2 workers wait for it in all_reduce ({line_of('all_reduce(ones)  # of all')})")
    text = box.stacks(py_spy=py_spy).out.decode()
    branch = text[text.index(f"child {python}"):]
    expect("_invoke_run" in text and "_invoke_run" not in branch and "all_reduce" in branch and "forward" in branch, text)
    end(box, run)


@case(budget=120)
def a_worker_of_torchrun_that_never_joins_is_named_with_its_pid_and_line(box):
    # With Python 3.11, Debian's PyTorch 1.13 does not understand its own defaults of these options.
    absent(box, PYTHON, "-r", "1", "-t", "1")


@case(budget=120, long=True)
def a_worker_of_torchrun_that_never_joins_with_pytorch_of_pypi(box):
    absent(box, PYPI)
