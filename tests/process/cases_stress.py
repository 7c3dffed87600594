"""Ending under stress: many ranks, small limits, hostile ranks, odd surroundings, and bad moments."""

import os
import re
import random
import resource
import signal
import time

from case import case
from expectations import Skip, expect, expect_equal, expect_in
from processes import program_of, wait_gone, wait_until

TERM = str(int(signal.SIGTERM))
SOMEBODY = 54321  # a user that has no other processes
AS_SHELLS_SAY = {-signal.SIGTERM: 143, -signal.SIGINT: 130}  # until dlaunch handles the signal, it dies from it


def become(user, *limits):
    """Returns a function that makes the child process an ordinary user, with these limits (number, value)."""
    def change():
        for number, value in limits:
            resource.setrlimit(number, (value, value))
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    return change


def open_to_all(box):
    os.chmod(box.folder, 0o777)


# --- many ranks


def thousand(box, **options):
    run = box.start("run", "-n", "1000", "--set", "logs.console=none", "--", "sh", "-c", "echo line of $RANK; test $RANK != 500 || sleep 0.2",
                    **options)
    run.end(0, patience=150)
    for rank in range(1000):
        expect_equal(box.rank_output(rank), b"line of %d\n" % rank, f"file of rank {rank}")


@case(budget=240, long=True)
def a_thousand_ranks_as_root(box):
    thousand(box)


@case(budget=240)
def a_thousand_ranks_as_an_ordinary_user(box):
    open_to_all(box)
    thousand(box, before=become(SOMEBODY))


@case(budget=240)
def a_thousand_ranks_with_daemons_leave_nothing(box):
    run = box.start("run", "-n", "1000", "--set", "timeouts.stop=1s", "--", box.rank, "ignore", TERM, "daemon", "tell", "ready", "pause")
    for _ in range(1000):
        expect(box.next_event(60), "not all ranks have come up")
    run.signal(signal.SIGTERM)
    run.end(143, patience=90)


# --- small limits: a clear error, and nothing left


def expect_error_or_run(run, limit):
    expect(0 <= run.code < 128, f"exit code {run.code} with {limit}\n{run.report()}")
    expect(run.code == 0 or "dlaunch:" in run.text, f"no error with {limit}: {run.text!r}")
    expect("terminate called" not in run.text, run.text)


@case
def too_few_descriptors_for_the_ranks(box):
    run = box.start("run", "-n", "200", "--", box.rank, "child", "daemon", "pause",
                    before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)))
    run.end(75, patience=40)
    expect_in("the hard limit is 256", run.text, "what was too small")
    needed = int(re.search(r"need (\d+) open files", run.text)[1])
    run = box.start("run", "-n", "200", "--", "true", before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (needed, needed)))
    run.end(0, patience=40)
    run = box.run("run", "--", "true", code=75, before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12)))
    expect_in("but a run needs 20; the hard limit is 12", run.text, "too few for dlaunch itself")
    run = box.run("run", "--", "true", code=75, before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (12, 200)))
    needed = int(re.search(r"try: ulimit -n (\d+)", run.text)[1])
    box.run("run", "--", "true", before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (needed, 200)))


@case
def any_limit_of_descriptors_ends_in_an_error_or_a_run(box):
    if box.sanitized:
        raise Skip("UBSan itself needs descriptors; without any it takes every object for a broken one")
    for limit in range(3, 49):
        run = box.start("run", "-n", "2", "--set", f"logs.dir=runs-{limit}", "--", "sh", "-c", "exit 0",
                        before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
        run.end(patience=40)
        expect_error_or_run(run, f"at most {limit} descriptors")
    expect_equal(run.code, 0, "exit code with 48 descriptors")


@case
def too_few_processes_for_the_ranks(box):
    open_to_all(box)
    run = box.start("run", "-n", "50", "--", box.rank, "pause", before=become(SOMEBODY, (resource.RLIMIT_NPROC, 30)))
    run.end(70, patience=40)
    expect_in("ulimit -u", run.text, "what was too small")


@case
def any_limit_of_processes_ends_in_an_error_or_a_run(box):
    open_to_all(box)
    for limit in range(1, 10):
        run = box.start("run", "-n", "2", "--set", f"logs.dir=runs-{limit}", "--", box.rank, "print", "out",
                        before=become(SOMEBODY + limit, (resource.RLIMIT_NPROC, limit)))
        run.end(patience=40)
        expect_error_or_run(run, f"at most {limit} processes")
    expect_equal(run.code, 0, "exit code with 9 processes")


# --- hostile ranks


# Dead processes keep their IDs until they are reaped. On a busy machine, or with a sanitizer, a storm would use up all IDs, and the cases beside it
# would fail.
in_a_storm = become(SOMEBODY + 20, (resource.RLIMIT_NPROC, 1000))


@case
def a_storm_of_forks_is_ended(box):
    """The processes fork and exit at once, so that none lives long enough to be listed twice."""
    open_to_all(box)
    run = box.start("run", "-n", "2", "--set", "timeouts.stop=1s", "--", box.rank, "ignore", TERM, *(["relay"] * 8), "tell", "ready", "pause",
                    before=in_a_storm)
    box.expect_all("ready", 2)
    run.signal(signal.SIGTERM)
    run.end(143, patience=40)


@case
def a_storm_of_forks_is_ended_when_the_agent_is_killed(box):
    open_to_all(box)
    run = box.start("run", "-n", "2", "--", box.rank, *(["relay"] * 8), "tell", "ready", "pause", before=in_a_storm)
    box.expect_all("ready", 2)
    os.kill(run.chain()[2], signal.SIGKILL)
    run.end(69, patience=40)


@case
def a_bounded_fork_bomb_is_ended(box):
    open_to_all(box)
    bomb = "bomb() { bomb & bomb & wait; bomb; }; bomb 2>/dev/null"
    run = box.start("run", "--set", "timeouts.stop=1s", "--", "sh", "-c", f"{box.rank} tell ready; {bomb}",
                    before=become(SOMEBODY, (resource.RLIMIT_NPROC, 200)))
    box.expect_all("ready", 1)
    run.signal(signal.SIGINT)
    run.end(130, patience=40)


@case
def a_rank_that_kills_its_group(box):
    run = box.start("run", "-n", "3", "--", "sh", "-c", f"{box.rank} daemon child tell ready gate; test $RANK = 1 && kill -9 0; exec {box.rank} pause")
    box.expect_all("ready", 3)
    box.open_gate()
    run.end(137)
    expect_in("rank 1", run.text, "who was first")


@case
def a_rank_that_kills_every_process_of_its_user(box):
    """kill(-1, KILL) takes front, engine, guardian and agent in one instant; PDEATHSIG takes the rank itself."""
    open_to_all(box)
    run = box.start("run", "-n", "2", "--", "sh", "-c", f"{box.rank} daemon tell ready gate; exec /usr/bin/python3 -c 'import os, signal; "
                    "os.kill(-1, 9); signal.pause()'", before=become(SOMEBODY))
    box.expect_all("ready", 2)
    box.open_gate()
    wait_gone([run.pid], "the front")
    box.reap()
    run.code = box.exit_code(run)
    expect_equal(run.code, -signal.SIGKILL, "exit code of the front")
    box.expect_nobody("after everything was killed")


@case
def a_rank_that_sends_term_to_every_process_of_its_user(box):
    open_to_all(box)
    run = box.start("run", "-n", "2", "--", "sh", "-c", f"{box.rank} daemon tell ready gate; exec /usr/bin/python3 -c 'import os, signal; "
                    "os.kill(-1, 15); signal.pause()'", before=become(SOMEBODY))
    box.expect_all("ready", 2)
    box.open_gate()
    run.end(143)


@case
def a_rank_that_kills_those_above_it(box):
    run = box.start("run", "-n", "2", "--", "sh", "-c", f"{box.rank} daemon tell ready gate; kill -9 $PPID; exec {box.rank} pause")
    box.expect_all("ready", 2)
    box.open_gate()
    run.end(69)


@case
def a_rank_that_becomes_a_daemon_has_ended(box):
    run = box.start("run", "-n", "2", "--", "/usr/bin/python3", "-c", "import os\nif os.fork(): os._exit(0)\nos.setsid()\n"
                    "if os.fork(): os._exit(0)\nos.write(1, b'daemon')\nos.execv(os.environ['RANK_PROGRAM'], ['rank', 'pause'])").end(0)
    expect(re.search(r"[2-9] leftover processes killed", run.text), "that something was left and has been ended")


@case
def a_rank_may_close_its_output_early(box):
    run = box.start("run", "-n", "2", "--", "sh", "-c", f"echo out; echo err >&2; exec >&- 2>&-; {box.rank} tell closed gate; exit 0")
    box.expect_all("closed", 2)
    wait_until(lambda: all(box.rank_output(rank) == b"out\n" for rank in (0, 1)), "what came before")
    box.open_gate()
    run.end(0)
    expect_equal(box.rank_output(1, "err"), b"err\n", "stderr")


# --- odd surroundings


@case
def nohup_and_the_terminal_closes(box):
    run = box.start_on_terminal("-c", "trap '' HUP; exec \"$@\"", "sh", box.dlaunch, "run", "-n", "2", "--", box.rank, "tell", "ready", "gate",
                                "lines", "100", "tell", "went-on", program="/bin/sh")
    box.expect_all("ready", 2)
    run.read_screen()
    os.close(run.terminal)
    run.terminal = None
    box.open_gate()
    box.expect_all("went-on", 2)
    run.end(0)
    expect_equal(box.rank_output(1).count(b"\n"), 100, "lines in the file")


@case
def without_standard_descriptors(box):
    for closed in ((0,), (1,), (2,), (0, 1, 2)):
        def close(which=closed):
            for fd in which:
                os.close(fd)
        name = "runs-" + "".join(str(fd) for fd in closed)
        run = box.start("run", "-n", "2", "--set", f"logs.dir={name}", "--", "sh", "-c", f"echo out; echo err >&2; exec {box.rank} tell written gate exit 3", before=close)
        box.expect_all("written", 2)  # the end of one rank stops the other
        box.open_gate()
        run.end(3)
        box.close_gate()
        for rank in (0, 1):
            expect_equal(box.rank_output(rank, "err", name), b"err\n", f"stderr of rank {rank} without {closed}")
            expect_equal(box.rank_output(rank, "out", name), b"out\n", f"stdout of rank {rank} without {closed}")


@case
def in_an_empty_environment(box):
    box.run("run", "-n", "2", "--", "/bin/sh", "-c", "echo $RANK", prefix=["/usr/bin/env", "-i"])
    expect_equal(box.rank_output(1), b"1\n", "stdout")


@case
def in_a_folder_that_is_gone(box):
    def leave_no_folder():
        os.mkdir("gone")
        os.chdir("gone")
        os.rmdir("../gone")
    run = box.start("run", "--", "true", before=leave_no_folder).end()
    expect(0 < run.code < 128, f"exit code {run.code}")
    expect_in("current working directory", run.text, "what is wrong")
    expect_in("dlaunch:", run.text, "an error of dlaunch's")


# --- bad moments


@case(budget=120)
def time_limit_while_the_ranks_start(box):
    for limit in (1, 5, 20, 60):
        run = box.start("run", "-n", "100", "--set", f"timeouts.run={limit}ms", "--set", "timeouts.stop=1s", "--set", f"logs.dir=runs-{limit}",
                        "--", box.rank, "ignore", TERM, "child", "daemon", "pause")
        run.end(124)


@case(budget=120)
def time_limit_at_the_very_end(box):
    codes = set()
    for i in range(12):
        run = box.start("run", "-n", "2", "--set", "timeouts.run=200ms", "--set", f"logs.dir=runs-{i}", "--", box.rank, "child", "daemon", "sleep",
                        str(160 + 5 * i))
        run.end()
        codes.add(run.code)
        expect(run.code in (0, 124), f"exit code {run.code}\n{run.report()}")


@case
def two_interrupts_in_one_instant(box):
    run = box.start_on_terminal("run", "-n", "2", "--set", "timeouts.stop=2s", "--", box.rank, "ignore", TERM, "child", "daemon", "tell", "ready",
                                "pause")
    box.expect_all("ready", 2)
    run.type(b"\x03\x03")
    run.end(130)


def signals_while_it_starts(box, number, code, rounds):
    chosen, python = random.Random(number), program_of(os.getpid())
    for i in range(rounds):
        run = box.start("run", "-n", "4", "--set", "timeouts.stop=1s", "--set", f"logs.dir=runs-{i}", "--", box.rank, "child", "daemon", "pause")
        wait_until(lambda: program_of(run.pid) != python, "dlaunch is executed")
        delay = (i % 50 + chosen.random()) / 1000
        time.sleep(delay)  # the moment is the subject
        run.signal(number)
        run.end()
        expect_equal(AS_SHELLS_SAY.get(run.code, run.code), code, f"exit code, {1000 * delay:.1f} ms after the start\n{run.report()}\n")


@case(budget=150)
def term_at_any_moment_of_the_start(box):
    signals_while_it_starts(box, signal.SIGTERM, 143, 50)


@case(budget=150)
def interrupt_at_any_moment_of_the_start(box):
    signals_while_it_starts(box, signal.SIGINT, 130, 50)


@case(budget=400, long=True)
def term_at_any_moment_of_the_start_many_times(box):
    signals_while_it_starts(box, signal.SIGTERM, 143, 400)
