"""However a run ends, its exit code is right and no process of the job is left."""

import os
import resource
import shlex
import shutil
import signal

from case import case
from expectations import Skip, expect, expect_equal, expect_in
from file_schemas import check_all
from processes import children_of, wait_gone, wait_until

HOST = os.uname().nodename
TERM, INT, HUP = str(int(signal.SIGTERM)), str(int(signal.SIGINT)), str(int(signal.SIGHUP))
FAMILY = ["child", "daemon"]  # what a rank leaves behind: a plain child, and a daemon that wants to survive


def start_family(box, *words, options=(), ranks=4):
    """Starts ranks with a child and a daemon each, and returns when all of them are up."""
    run = box.start("run", "-n", str(ranks), *options, "--", box.rank, *FAMILY, "tell", "ready", *words)
    box.expect_all("ready", ranks)
    return run


@case
def success_leaves_no_children_and_no_daemons(box):
    run = start_family(box, "gate", "exit", "0")
    box.open_gate()
    run.end(0)


@case
def first_failure_ends_the_job_with_its_code(box):
    run = start_family(box, "only", "3", "gate", "exit", "7", ranks=8)
    box.open_gate()
    run.end(7)
    expect_in(f"rank 3 on {HOST} exited with code 7", run.text, "who and where")


@case
def nothing_slow_is_read_before_the_others_are_stopped(box):
    """Reading /proc/net/tcp walks the kernel's whole table of connections: 10 ms and more on a machine with much memory."""
    if shutil.which("strace") is None:
        raise Skip("strace is not installed")
    trace = box.path("trace")
    run = box.start("run", "-n", "4", "--", box.rank, "tell", "ready", "only", "3", "gate", "exit", "7",
                    prefix=["strace", "-f", "-o", trace, "-e", "trace=openat,socket"])
    box.expect_all("ready", 4)
    box.open_gate()
    run.end(7, left=1000)
    with open(trace, encoding="utf-8", errors="replace") as file:
        text = file.read()
    expect_in("NETLINK_SOCK_DIAG", text, "the question who listens on the job's ports")
    expect("/proc/net/tcp" not in text, "the table of connections was read")


@case
def the_time_limit_of_coreutils_leaves_time_for_a_checkpoint(box):
    """timeout(1) signals its child and then the child's process group, which must not count as a second Ctrl-C."""
    script = "trap 'sleep 0.3; echo saved; exit 0' TERM; : > ready; while :; do sleep 0.05; done"
    for _ in range(4):
        run = box.start("run", "--", "sh", "-c", script, prefix=["timeout", "60"])
        wait_until(lambda: box.exists("ready"), "the rank")
        os.unlink(box.path("ready"))
        os.kill(run.pid, signal.SIGALRM)  # its time is over
        run.end(124)
        expect_in(b"saved", run.out, "the rank's end")


@case
def failure_by_signal_is_128_plus_its_number(box):
    run = start_family(box, "only", "2", "gate", "die", str(int(signal.SIGSEGV)))
    box.open_gate()
    run.end(128 + signal.SIGSEGV)
    expect_in("SIGSEGV", run.text, "signal by name")
    expect_in("rank 2", run.text, "which rank")


@case
def a_rank_killed_by_sigkill_is_137(box):
    run = start_family(box, "only", "1", "gate", "die", "9")
    box.open_gate()
    run.end(137)
    expect_in("SIGKILL", run.text, "signal by name")


@case
def exit_code_255(box):
    box.run("run", "--", "sh", "-c", "exit 255", code=255)


@case
def ranks_that_ignore_term_are_killed_after_the_grace_time(box):
    run = start_family(box, "ignore", TERM, "tell", "deaf", "only", "3", "gate", "exit", "7",
                       options=["--set", "timeouts.stop=1s"])
    box.expect_all("deaf", 4)
    box.open_gate()
    run.end(7, patience=15)
    expect(run.seconds >= 1.0, f"killed after {run.seconds:.2f} s, before the grace time was over")


@case
def the_grace_time_is_not_spent_when_ranks_obey(box):
    run = start_family(box, "only", "0", "gate", "exit", "1")
    box.open_gate()
    run.end(1, patience=10)


@case
def other_ranks_get_the_stop_signal(box):
    run = box.start("run", "-n", "2", "--", box.rank, "notice", TERM, "term", "tell", "ready", "only", "1", "gate", "exit", "4")
    box.expect_all("ready", 2)
    box.open_gate()
    box.expect_events(["term 0"])
    for pid in run.ranks():
        os.kill(pid, signal.SIGKILL)
    run.end(4)


@case
def the_stop_signal_can_be_chosen(box):
    run = box.start("run", "-n", "2", "--set", "stop_signal=INT", "--", box.rank, "notice", INT, "int", "tell", "ready",
                    "only", "1", "gate", "exit", "4")
    box.expect_all("ready", 2)
    box.open_gate()
    box.expect_events(["int 0"])
    for pid in run.ranks():
        os.kill(pid, signal.SIGKILL)
    run.end(4)


@case
def a_stopped_rank_is_woken_to_take_the_signal(box):
    run = box.start("run", "-n", "2", "--", box.rank, "tell", "ready", "stop", "pause")
    box.expect_all("ready", 2)
    run.signal(signal.SIGTERM)
    run.end(143, patience=10)


def cancel(box, number, code):
    run = start_family(box, "pause")
    run.signal(number)
    run.end(code)
    expect_in("dlaunch:", run.text, "a word about it")


@case
def sigterm_to_the_front(box):
    cancel(box, signal.SIGTERM, 143)


@case
def sigint_to_the_front(box):
    cancel(box, signal.SIGINT, 130)


@case
def sighup_to_the_front(box):
    cancel(box, signal.SIGHUP, 129)


@case
def a_second_interrupt_kills_at_once(box):
    run = start_family(box, "notice", TERM, "term", "tell", "set", "pause")
    box.expect_all("set", 4)
    run.signal(signal.SIGINT)
    box.expect_all("term", 4)  # they have received it, and go on
    run.signal(signal.SIGINT)
    run.end(130, patience=10)


@case
def a_second_term_kills_at_once(box):
    run = start_family(box, "notice", TERM, "term", "tell", "set", "pause", options=["--set", "timeouts.stop=2s"])
    box.expect_all("set", 4)
    run.signal(signal.SIGTERM)
    box.expect_all("term", 4)
    run.signal(signal.SIGTERM)
    run.end(143, patience=15)


@case
def cancel_before_the_ranks_are_up(box):
    run = box.start("run", "-n", "200", "--", box.rank, *FAMILY, "tell", "ready", "pause")
    box.expect_events(["ready 0"])
    run.signal(signal.SIGINT)
    run.end(130)


@case
def nohup_is_honoured(box):
    run = box.start("run", "-n", "2", "--", box.rank, "tell", "ready", "gate", "tell", "went-on",
                    before=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    box.expect_all("ready", 2)
    run.signal(signal.SIGHUP)
    box.open_gate()
    box.expect_all("went-on", 2)
    run.end(0)


@case
def time_limit_is_124(box):
    run = start_family(box, "pause", options=["--set", "timeouts.run=2s"])
    run.end(124, patience=15)
    expect_in("timeouts.run", run.text, "which limit")
    expect(run.seconds >= 2.0, f"ended after {run.seconds:.2f} s, before the limit")


CHECKPOINT = "/usr/bin/python3 {folder}/checkpoint.py $CASE/checkpoint.$RANK"


def expect_checkpoints(box, count):
    for rank in range(count):
        expect(box.exists(f"checkpoint.{rank}"), f"rank {rank} did not finish its checkpoint")
        expect_equal(box.read(f"checkpoint.{rank}"), b"batch", f"checkpoint of rank {rank}")


@case
def data_loaders_live_while_a_checkpoint_is_written(box):
    line = CHECKPOINT.format(folder=shlex.quote(box.ranks_folder))
    run = box.start("run", "-n", "2", "--", "sh", "-c", "exec " + line)
    box.expect_all("training", 2)
    run.signal(signal.SIGTERM)
    run.end(143)
    expect_checkpoints(box, 2)


@case
def the_program_of_a_string_command_finishes_its_checkpoint(box):
    line = CHECKPOINT.format(folder=shlex.quote(box.ranks_folder))
    box.write("job.yaml", f"command: {line}\nprocesses: 2\n")
    run = box.start("run")
    box.expect_all("training", 2)
    run.signal(signal.SIGTERM)
    run.end(143)
    expect_checkpoints(box, 2)


@case
def the_program_of_a_script_without_traps_finishes_its_checkpoint(box):
    """The shell dies from TERM at once; dlaunch must still wait for its child."""
    line = CHECKPOINT.format(folder=shlex.quote(box.ranks_folder))
    box.write("job.yaml", f"command: |\n  {line}\n  echo never reached\nprocesses: 2\n")
    run = box.start("run")
    box.expect_all("training", 2)
    run.signal(signal.SIGTERM)
    run.end(143)
    expect_checkpoints(box, 2)
    expect_equal(box.rank_output(0), b"", "what came after the program")


@case
def a_script_with_setup_finishes_its_checkpoint(box):
    line = CHECKPOINT.format(folder=shlex.quote(box.ranks_folder))
    box.write("job.yaml", f"setup: export A=b\ncommand: {line}\nprocesses: 2\n")
    run = box.start("run")
    box.expect_all("training", 2)
    run.signal(signal.SIGTERM)
    run.end(143)
    expect_checkpoints(box, 2)


@case
def one_rank_that_ends_well_early_does_not_end_the_others(box):
    run = box.start("run", "-n", "2", "--", "sh", "-c", f"test $RANK = 0 || exec {box.rank} tell ready gate tell went-on")
    box.expect_events(["ready 1"])
    box.open_gate()
    box.expect_events(["went-on 1"])
    run.end(0)


@case
def children_of_a_rank_that_ended_live_until_all_ranks_ended(box):
    """They may serve data to the others; leftovers are killed with the last rank."""
    run = box.start("run", "-n", "2", "--", "sh", "-c",
                    f"if [ $RANK = 0 ]; then exec {box.rank} child tell ended exit 0; else exec {box.rank} tell ready gate; fi")
    box.expect_events(["ended 0", "ready 1"])
    agent = run.chain()[2]
    box.open_gate()
    run.end(0)
    wait_gone([agent], "the agent")


@case
def a_fork_bomb_of_daemons_is_cleaned_up(box):
    run = box.start("run", "-n", "2", "--", box.rank, *(["daemon"] * 30), *(["child"] * 30), "tell", "ready", "only", "1", "gate",
                    "exit", "6")
    box.expect_all("ready", 2)
    box.open_gate()
    run.end(6)


@case
def pipes_held_open_by_daemons_do_not_hold_the_run(box):
    """The daemon keeps the rank's stdout; the end of the run must not wait for end of file."""
    box.run("run", "--", "sh", "-c", "setsid sh -c 'trap \"\" TERM HUP; while :; do read x </proc/self/fd/9; done' 9<>$EVENTS & echo out",
            patience=15)
    expect_equal(box.rank_output(0), b"out\n", "stdout")


@case
def kill_reaches_everyone_when_the_ranks_have_used_up_the_descriptors(box):
    # As many ranks as the agent allows with these limits: each needs two pipes and two files. Killing them needs descriptors, too, for /proc.
    run = box.start("run", "-n", "7", "--", "sh", "-c", f"echo out; echo err >&2; exec {box.rank} ignore {TERM} "
                    "child daemon tell ready pause", before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
    box.expect_all("ready", 7)
    run.signal(signal.SIGINT)
    run.signal(signal.SIGTERM)
    run.end(130)
    expect(run.seconds < 8, f"{run.seconds:.1f} s until the end")


@case
def exit_code_is_true_when_sigchld_was_inherited_as_ignored(box):
    # The kernel then discards the exit status of children (wait(2), SIGCHLD set to SIG_IGN).
    box.run("run", "--", "sh", "-c", "exit 3", code=3, before=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))


def with_a_child_from_before(box, *arguments):
    """Starts a shell that starts a process and then becomes dlaunch by exec, as the entry points of containers do. Returns the run and the pid of the
    process."""
    prefix = ["sh", "-c", "sleep 60 & echo $! >child; exec \"$@\"", "sh"]
    run = box.start(*arguments, prefix=prefix)
    wait_until(lambda: box.exists("child") and box.read("child"), "the pid of the child")
    return run, int(box.read("child"))


@case
def plan_leaves_children_from_before_alone(box):
    run, child = with_a_child_from_before(box, "plan", "--", "true")
    run.end(0, left=1)
    os.kill(child, signal.SIGKILL)
    expect(run.seconds < 1.5, f"{run.seconds:.1f} s until the end")


@case
def front_leaves_children_from_before_alone_when_its_engine_is_killed(box):
    run, child = with_a_child_from_before(box, "run", "--", box.rank, "child", "daemon", "tell", "ready", "pause")
    box.expect_all("ready", 1)
    engine = [pid for pid in children_of(run.pid) if pid != child][0]
    os.kill(engine, signal.SIGKILL)
    run.end(70, left=1)
    os.kill(child, signal.SIGKILL)


@case
def a_signal_to_all_of_dlaunch_is_one_signal(box):
    """As with systemd's KillMode=control-group, front and engine both get the signal; the ranks still finish their checkpoint."""
    script = f"trap 'echo saving; {box.rank} tell saving gate; echo saved; exit 0' TERM; {box.rank} tell ready; while :; do sleep 0.1; done"
    run = box.start("run", "-n", "2", "--", "sh", "-c", script)
    box.expect_all("ready", 2)
    engine = run.chain()[0]
    run.signal(signal.SIGTERM)
    os.kill(engine, signal.SIGTERM)
    box.expect_all("saving", 2)
    box.open_gate()
    run.end(143)
    for rank in (0, 1):
        expect_in(b"saved", box.rank_output(rank), f"the checkpoint of rank {rank}")


@case
def usr1_and_usr2_are_passed_on_and_end_nothing(box):
    run = box.start("run", "-n", "2", "--", "/usr/bin/python3", "-u", "-c",
                    "import signal, os\n"
                    "left = [signal.SIGUSR2, signal.SIGUSR1]\n"
                    "for n in (signal.SIGUSR1, signal.SIGUSR2):\n"
                    "    signal.signal(n, lambda n, _: (print(signal.Signals(n).name), left.pop()))\n"
                    "os.write(os.open(os.environ['EVENTS'], os.O_WRONLY), b'ready ' + os.environ['RANK'].encode() + b'\\n')\n"
                    "while left: __import__('time').sleep(0.02)\n")
    box.expect_all("ready", 2)
    run.signal(signal.SIGUSR1)
    for rank in range(2):
        wait_until(lambda: box.rank_output(rank) == b"SIGUSR1\n", f"rank {rank} has received the first", 20, 0.01)  # noqa: B023
    run.signal(signal.SIGUSR2)
    run.end(0)
    for rank in range(2):
        expect_equal(box.rank_output(rank), b"SIGUSR1\nSIGUSR2\n", f"signals of rank {rank}")
    check_all(box, ["signal"])
