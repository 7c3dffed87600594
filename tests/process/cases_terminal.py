"""Ctrl-C, Ctrl-Z, fg and a terminal that closes. The runs are foreground jobs of a small shell on a pty."""

import os
import select
import signal

from case import case
from expectations import expect, expect_equal, expect_in
from processes import stat_of, wait_until

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
    box.expect_all("went-on", 2)  # the ranks do not notice it
    box.expect_events(["listening 0"])
    os.kill(run.shell, signal.SIGUSR1)  # fg
    run.signal(signal.SIGINT)
    box.expect_events(["term 0"])
    run.signal(signal.SIGINT)
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


BREAKPOINT = 'import sys\nanswer = 42\nbreakpoint()\nprint("went on", len(sys.argv))\n'


def wait_on_screen(run, wanted, what):
    """Waits until the terminal has shown `wanted` since the last such wait."""
    def shown():
        run.read_screen(0.05)
        return wanted in run.screen[run.looked_at:]
    wait_until(shown, f"{what}: {wanted!r} on the terminal\n{run.screen.decode(errors='replace')}")
    run.looked_at = run.screen.index(wanted, run.looked_at) + len(wanted)


def debug(box, *options):
    box.write("train.py", BREAKPOINT)
    run = box.start_on_terminal("run", *options, "--", "/usr/bin/python3", "train.py")
    run.looked_at = 0
    return run


@case
def a_breakpoint_of_a_single_rank_is_the_terminals(box):
    run = debug(box)
    wait_on_screen(run, b"(Pdb) ", "the prompt")
    run.type(b"p answer\n")
    wait_on_screen(run, b"42", "the answer")
    run.type(b"c\n")
    run.end(0)
    expect_in(b"went on 1", run.screen, "the rest of the program")


@case
def a_breakpoint_of_rank_0_prompts_at_once(box):
    """A prompt ends without a newline, and must be visible although other ranks print lines."""
    box.write("train.py", "import os, time\nif os.environ['RANK'] == '0':\n    breakpoint()\n    print('went on')\n"
                          "else:\n    print('no prompt', end='', flush=True)\n    os.read(0, 1)\n")
    run = box.start_on_terminal("run", "-n", "2", "--set", "stdin=rank0", "--", "/usr/bin/python3", "train.py", env={"NO_COLOR": "1"})
    run.looked_at = 0
    host = os.uname().nodename.encode()
    wait_on_screen(run, host + b":0 | (Pdb) ", "the prompt")
    run.type(b"p 6 * 7\n")
    wait_on_screen(run, host + b":0 | 42", "the answer")
    wait_on_screen(run, host + b":0 | (Pdb) ", "the next prompt")
    run.type(b"c\n")
    run.end(0)
    expect_in(host + b":0 | went on", run.screen, "the rest of the program")
    expect_equal(box.rank_output(0).splitlines()[-1], b"(Pdb) went on", "the last line of the file")


@case
def stdin_none_leaves_the_terminal_alone(box):
    run = box.start_on_terminal("run", "--set", "stdin=none", "--", "sh", "-c", "readlink /proc/$$/fd/0").end(0)
    expect_in(b"/dev/null", run.screen, "stdin of the rank")


@case
def a_run_in_the_background_leaves_what_is_typed_to_the_shell(box):
    """SIGTTIN does not stop it, and back in the foreground, it reads."""
    run = box.start_on_terminal("run", "--", "sh", "-c", f"{box.rank} tell ready; read line; echo got $line; {box.rank} tell read")
    box.expect_events(["ready 0"])
    run.type(b"\x1a")
    box.expect_events(["shell saw a stop"])
    os.kill(run.pid, signal.SIGCONT)  # bg
    run.type(b"typed\n")
    expect(not select.select([os.pidfd_open(run.pid)], [], [], 1.5)[0], "it has ended in the background")
    expect(stat_of(run.pid)[0] != "T", "it was stopped")
    expect(box.no_event("read"), "a rank has read what was typed for the shell")
    os.kill(run.shell, signal.SIGUSR1)  # fg
    box.expect_events(["read 0"])
    run.end(0)
    expect_in(b"got typed", run.screen, "what the rank has read")


@case
def detach_leaves_the_terminal_alone(box):
    run = box.start_on_terminal("run", "--detach", "--", "sh", "-c", f"readlink /proc/$$/fd/0; {box.rank} tell ready gate")
    box.expect_events(["ready 0"])
    wait_until(lambda: box.has_ended(run) or not stat_of(run.pid), "the front has handed over")
    run.end(0, left=1000)
    box.open_gate()
    wait_until(lambda: os.path.exists(box.path(box.run_folder(), "summary.json")), "the end")
    expect_equal(box.rank_output(0), b"/dev/null\n", "stdin of the rank")
