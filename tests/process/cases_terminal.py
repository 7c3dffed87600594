"""Ctrl-C, Ctrl-Z, fg and a terminal that closes. The runs are foreground jobs of a small shell on a pty."""

import os
import select
import signal

from case import case
from expectations import expect, expect_equal, expect_in
from processes import stat_of

TERM = str(int(signal.SIGTERM))


def start(box, *words, options=(), ranks=2):
    run = box.start_on_terminal("run", "-n", str(ranks), *options, "--", box.rank, "child", "daemon", *words)
    box.expect_all("ready", ranks)
    return run


@case
def ctrl_c_once_stops_with_grace(box):
    run = start(box, "notice", TERM, "term", "tell", "ready", "pause", options=["--set", "timeouts.stop=1s"])
    run.type(b"\x03")
    box.expect_all("term", 2)
    run.end(130, patience=15)


@case
def ctrl_c_does_not_reach_the_ranks_as_sigint(box):
    run = start(box, "notice", str(int(signal.SIGINT)), "int", "tell", "ready", "pause")
    run.type(b"\x03")
    run.end(130)
    expect(box.no_event("int"), "a rank got SIGINT from the terminal")


@case
def ctrl_c_twice_kills_at_once(box):
    run = start(box, "notice", TERM, "term", "tell", "ready", "pause")
    run.type(b"\x03")
    box.expect_all("term", 2)
    run.type(b"\x03")
    run.end(130, patience=10)


@case
def ctrl_backslash_ends_the_run(box):
    run = start(box, "tell", "ready", "pause")
    run.type(b"\x1c")
    run.end(131)


@case
def ctrl_z_stops_the_front_only_and_fg_goes_on(box):
    run = start(box, "tell", "ready", "gate", "tell", "went-on", "only", "0", "notice", TERM, "term", "tell", "listening", "pause")
    chain = run.chain()
    run.type(b"\x1a")
    box.expect_events(["shell saw a stop"])
    expect_equal(stat_of(run.pid)[0], "T", "state of the front")
    for pid in (*chain, *run.ranks()):
        expect(stat_of(pid)[0] != "T", f"process {pid} was stopped, too")
    box.open_gate()
    box.expect_all("went-on", 2)  # the ranks do not know about it
    box.expect_events(["listening 0"])
    os.kill(run.shell, signal.SIGUSR1)  # fg
    os.kill(run.pid, signal.SIGINT)
    box.expect_events(["term 0"])
    os.kill(run.pid, signal.SIGINT)
    run.end(130)


@case
def a_run_that_ends_while_the_front_is_stopped_is_reported_after_fg(box):
    run = start(box, "tell", "ready", "gate", "exit", "5")
    engine = run.chain()[0]
    run.type(b"\x1a")
    box.expect_events(["shell saw a stop"])
    fd = os.pidfd_open(engine)
    box.open_gate()
    expect(select.select([fd], [], [], 20)[0], "the engine does not end while the front is stopped")
    os.close(fd)
    os.kill(run.shell, signal.SIGUSR1)
    run.end(5)


@case
def a_terminal_that_closes_ends_the_run(box):
    run = start(box, "tell", "ready", "pause")
    run.read_screen()
    os.close(run.terminal)
    run.terminal = None
    run.end(129)


@case
def progress_and_summary_appear_on_the_terminal(box):
    run = box.start_on_terminal("run", "-n", "2", "--", "echo", "out").end(0)
    expect_in(b"dlaunch: done in", run.screen, "summary")


@case
def ranks_do_not_get_the_terminal(box):
    run = box.start_on_terminal("run", "-n", "2", "--", "sh", "-c", "test -t 0 || test -t 1 || test -t 2 || echo no terminal").end(0)
    expect_equal(run.screen.count(b"no terminal"), 2, "ranks without a terminal")
    expect_equal(box.rank_output(0), b"no terminal\n", "stdout")


@case
def ranks_cannot_open_the_terminal(box):
    run = box.start_on_terminal("run", "--", "sh", "-c", "(: </dev/tty) 2>/dev/null || echo none").end(0)
    expect_in(b"none", run.screen, "no controlling terminal")
