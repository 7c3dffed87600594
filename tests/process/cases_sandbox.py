"""The sandbox itself: it must detect a launcher that leaves something behind."""

import os
import signal

from case import case
from expectations import expect, expect_equal, expect_in, pseudo_random_bytes
from processes import wait_gone


def expect_caught(run, part):
    try:
        run.end(0)
    except AssertionError as error:
        expect_in(part, str(error), "what the sandbox says")
        return
    raise AssertionError("the sandbox did not see it")


@case
def a_daemon_that_is_left_is_found(box):
    run = box.start("-c", f"{box.rank} daemon", program="/bin/sh")
    expect_caught(run, "left running")
    left = box.survivors()
    expect_equal(len(left), 1, "processes left")
    os.kill(left[0], signal.SIGKILL)
    wait_gone(left, "the daemon")
    box.expect_nobody("after the daemon was killed")


@case
def a_background_child_that_is_left_is_found(box):
    run = box.start("-c", f"{box.rank} tell ready pause & {box.rank} gate", program="/bin/sh")
    box.expect_events(["ready -"])
    box.open_gate()
    expect_caught(run, "left running")
    for pid in box.survivors():
        os.kill(pid, signal.SIGKILL)


@case
def nothing_left_is_accepted(box):
    box.start("-c", "exit 0", program="/bin/sh").end(0)
    expect_equal(box.survivors(), [], "processes left")


@case
def a_wrong_exit_code_is_found(box):
    expect_caught(box.start("-c", "echo why >&2; exit 3", program="/bin/sh"), "exit code 3 instead of 0")


@case
def a_launcher_that_never_ends_is_found(box):
    run = box.start("pause", program=box.rank)
    try:
        run.end(0, patience=0.2)
    except AssertionError as error:
        expect_in("still running", str(error), "what the sandbox says")
    run.signal(signal.SIGKILL)
    run.end(-signal.SIGKILL)


@case
def the_rank_program_makes_the_bytes_that_are_expected(box):
    run = box.start("bytes", "100003", "9", program=box.rank).end(0)
    expect(run.out == pseudo_random_bytes(100003, 9), "other bytes")
