"""SIGSTOP to any part: a part that continues later causes no failure, and a part that does not is not waited for forever."""

import fcntl
import os
import shutil
import signal
import time

from case import case
from expectations import Skip, expect, expect_equal, expect_in
from processes import all_processes, children_of, stat_of, wait_gone, wait_until

STOP_TIME = 2.0  # seconds; how long a part is stopped is the subject of these cases
TERM = str(int(signal.SIGTERM))
NODE_LOST = 69
LINES = 20000


def stop(pid):
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: stat_of(pid)[0] == "T", f"process {pid} stops")


def go_on(pid):
    os.kill(pid, signal.SIGCONT)


def start(box, *options, words=("tell", "ready", "gate", "lines", str(LINES), "tell", "written")):
    """Starts ranks with children; the ranks write when the gate opens."""
    run = box.start("run", "-n", "2", *options, "--", box.rank, "child", "daemon", *words)
    box.expect_all("ready", 2)
    return run


def expect_complete(box):
    for rank in (0, 1):
        data = box.rank_output(rank)
        expect_equal(data.count(b"\n"), LINES, f"lines of rank {rank}")
        expect(all(line.startswith(b"R%d %06d " % (rank, i)) for i, line in enumerate(data.splitlines())),
               f"rank {rank}: a line is torn or out of order")


def stopped_for_a_while(box, choose, is_woken=False):
    run = start(box)
    victim = choose(run)
    stop(victim)
    box.open_gate()  # the ranks write, and a stopped agent has full pipes
    time.sleep(STOP_TIME)
    if is_woken:
        wait_gone([victim], "the guardian ends")
    else:
        go_on(victim)
    run.end(0)
    expect_complete(box)
    shown = run.out.splitlines()
    expect_equal(len(shown), 2 * LINES, "lines on the console")


@case
def the_front_for_a_while(box):
    stopped_for_a_while(box, lambda run: run.pid)


@case
def the_engine_for_a_while(box):
    stopped_for_a_while(box, lambda run: run.chain()[0])


@case
def the_guardian_for_a_while(box):
    """The run ends without waiting for it, and the end of the engine wakes it."""
    stopped_for_a_while(box, lambda run: run.chain()[1], is_woken=True)


@case
def the_agent_for_a_while(box):
    stopped_for_a_while(box, lambda run: run.chain()[2])


@case
def a_rank_for_a_while(box):
    stopped_for_a_while(box, lambda run: run.ranks()[0])


@case
def everything_for_a_while(box):
    """Like a suspended machine or a paused container; longer than fence_after and lost_after."""
    run = start(box, "--set", "timeouts.fence_after=100ms", "--set", "timeouts.lost_after=3200ms")
    everybody = [pid for pid in all_processes() if pid != os.getpid()] if box.namespaced else [run.pid, *run.chain(), *run.ranks()]
    for pid in everybody:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(4.0)
    for pid in everybody:
        go_on(pid)
    box.open_gate()
    run.end(0)
    expect_complete(box)


@case
def the_engine_for_longer_than_any_limit(box):
    """With the fork connector, the agent takes the engine for dead only when the channel ends; silence alone means nothing."""
    run = start(box, "--set", "timeouts.fence_after=100ms", "--set", "timeouts.lost_after=3200ms")
    engine = run.chain()[0]
    stop(engine)
    box.open_gate()
    box.expect_all("written", 2)
    time.sleep(5.0)
    expect(stat_of(engine)[0] == "T", "it was continued")
    go_on(engine)
    run.end(0)
    expect_complete(box)


@case
def an_agent_that_stays_stopped_is_69(box):
    run = start(box, "--set", "timeouts.fence_after=100ms")
    stop(run.chain()[2])
    run.end(NODE_LOST, patience=30)
    expect_in("was stopped", run.text, "why")


@case
def a_guardian_that_stays_stopped_holds_nobody_up(box):
    run = start(box)
    stop(run.chain()[1])
    box.open_gate()
    run.end(0)
    expect_complete(box)


@case
def a_stopped_engine_hears_term(box):
    run = start(box)
    stop(run.chain()[0])
    run.signal(signal.SIGTERM)
    run.end(143)


@case
def a_stopped_engine_hears_ctrl_c(box):
    run = box.start_on_terminal("run", "-n", "2", "--", box.rank, "child", "daemon", "tell", "ready", "pause")
    box.expect_all("ready", 2)
    stop(run.chain()[0])
    run.type(b"\x03")
    run.end(130)


@case
def a_stopped_engine_learns_of_its_fronts_death(box):
    run = start(box)
    stop(run.chain()[0])
    run.signal(signal.SIGKILL)
    wait_gone([run.pid], "the front")
    box.reap()
    run.code = -signal.SIGKILL
    box.expect_nobody("after the front was killed")


@case
def a_stopped_guardian_learns_of_its_engines_death(box):
    run = start(box)
    engine, guardian, _ = run.chain()
    stop(guardian)
    os.kill(engine, signal.SIGKILL)
    run.end(70)
    expect(run.seconds < 15, f"{run.seconds:.1f} s until the end")


@case
def a_stopped_agent_learns_of_its_guardians_death(box):
    run = start(box)
    _, guardian, agent = run.chain()
    stop(agent)
    os.kill(guardian, signal.SIGKILL)
    run.end(NODE_LOST)


@case
def stopped_ranks_are_ended_by_the_failure_of_another(box):
    """This holds even if a rank stops itself when it is told to end."""
    run = box.start("run", "-n", "3", "--set", "timeouts.stop=1s", "--", "sh", "-c",
                    f'case $RANK in 0) {box.rank} tell ready gate; exit 7;; 1) exec {box.rank} tell ready stop pause;; '
                    f'*) trap "kill -TTOU $$" TERM; {box.rank} tell ready; while :; do sleep 0.05; done;; esac')
    box.expect_all("ready", 3)
    box.open_gate()
    run.end(7)


EXECVE = ("59", "221")  # its number on x86_64, and on aarch64


def executing_below(front):
    """The children of the agent that wait in execve(2). When it starts, the agent also has other, short-lived children."""
    level = [front]
    for _ in range(4):
        level = [child for parent in level for child in children_of(parent)]
    found = []
    for pid in level:
        try:
            with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
                found += [pid] if file.read().split(" ")[0] in EXECVE else []
        except OSError:  # it has ended meanwhile
            pass
    return found


@case
def a_rank_that_is_stopped_before_it_executes_does_not_hold_its_agent(box):
    """Its agent is then in vfork(2), and looks as if it waited for a disk. A lease (fcntl(2)) delays the exec."""
    program = shutil.copy(box.rank, "/dev/shm/rank-with-a-lease")
    lease = os.open(program, os.O_RDWR)
    broken = []
    signal.signal(signal.SIGIO, lambda number, frame: broken.append(number))
    try:
        fcntl.fcntl(lease, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    except OSError as error:
        os.unlink(program)
        raise Skip(f"no leases in /dev/shm: {error}") from error
    run = box.start("run", "-n", "2", "--", program, "tell", "ready", "gate")
    try:
        # dlaunch looks at the program first, without waiting for the lease.
        looks = [[]]

        def still_executes():
            looks.append(executing_below(run.pid))
            return broken and set(looks[-1]) & set(looks[-2])
        wait_until(still_executes, "the agent executes the program", pause=0.05)
        stop((set(looks[-1]) & set(looks[-2])).pop())
        fcntl.fcntl(lease, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        os.close(lease)
        box.expect_all("ready", 2)
        box.open_gate()
        run.end(0)
    finally:
        signal.signal(signal.SIGIO, signal.SIG_DFL)
        os.unlink(program)
