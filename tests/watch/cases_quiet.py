"""No alarm for programs that print nothing for long, and work."""

import json
import shutil

import scenes
from case import case
from expectations import Skip, expect, expect_equal
from hangs import PAIR, Job, end, environment, mpi, stalls, start, train, variables_of
from processes import wait_until
from slow_disk import slow_disk
from watch_sandbox import PYTHON

GIGABYTE = 1000 << 20
SLOW = 16 << 20  # bytes a second: a checkpoint of 1 GB takes a minute


@case
def a_long_evaluation_is_no_hang(box):
    scenes.evaluation(box)


@case
def a_checkpoint_to_a_slow_disk_is_no_hang(box):
    scenes.quiet(box, "save")


@case
def a_first_step_that_compiles_for_long_is_no_hang(box):
    scenes.quiet(box, "compile")


@case
def a_training_that_prints_nothing_is_no_hang(box):
    scenes.silent_training(box)


@case(budget=120)
def a_program_of_mpi_that_only_communicates_is_no_hang(box):
    """All ranks may be seen in the same call twice."""
    run = mpi(box, "mpicc.openmpi", "steps")
    wait_until(lambda: len(stalls(box)) > 1, "two verdicts", 90, 0.2)
    expect_equal([one for one in stalls(box) if one["verdict"] == "hang"], [], "hangs")
    end(box, run)


# --- up to the end of the pause

def to_its_end(box, run, patience):
    run.end(0, patience=patience)
    told = box.json("summary.json")["stalls"]
    expect(told, "dlaunch looked")
    expect_equal([one for one in told if one["verdict"] == "hang"], [], json.dumps(told, indent=1))


def quiet_for(box, what, seconds):
    run = start(box, PAIR, PYTHON, scenes.QUIET, what, options=variables_of(SECONDS=seconds), env=environment(box))
    box.expect_all("ready", PAIR.ranks)
    return run


@case(long=True, budget=200)
def a_whole_evaluation_of_a_minute_is_no_hang(box):
    to_its_end(box, quiet_for(box, "evaluate", 60), 120)


@case(long=True, budget=300)
def a_whole_checkpoint_of_1_gb_to_a_slow_disk_is_no_hang(box):
    """Rank 0 writes it, and most of the time waits in fsync(2); the other one waits for rank 0."""
    with slow_disk(box, 2 * GIGABYTE, SLOW) as disk:
        to_its_end(box, train(box, "save", Job(ranks=2, odd=0), DISK=disk), 240)


@case(long=True, budget=300)
def a_whole_first_step_that_compiles_for_2_minutes_is_no_hang(box):
    if shutil.which("g++") is None:
        raise Skip("missing: g++")
    to_its_end(box, quiet_for(box, "compile_for_long", 120), 240)


@case(long=True, budget=200)
def a_whole_training_that_prints_nothing_is_no_hang(box):
    to_its_end(box, train(box, "steps", PAIR, SECONDS=60), 120)
