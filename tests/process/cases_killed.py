"""kill -9 of any part of dlaunch: every process of the job, and every other part, is gone soon after."""

import os
import signal

from case import case
from expectations import expect, expect_in
from processes import wait_gone, wait_until

TERM = str(int(signal.SIGTERM))
SOON = 10.0  # seconds; it usually takes milliseconds
NODE_LOST, INTERNAL = 69, 70


def start(box, *options):
    """Starts four ranks that ignore TERM, each with a child and a stubborn daemon."""
    run = box.start("run", "-n", "4", "--set", "timeouts.stop=1s", *options, "--",
                    box.rank, "ignore", TERM, "child", "daemon", "tell", "ready", "pause")
    box.expect_all("ready", 4)
    return run


@case
def the_front(box):
    run = start(box)
    run.signal(signal.SIGKILL)
    wait_gone([run.pid], "the front")
    box.reap()
    run.code = -signal.SIGKILL
    box.expect_nobody("after the front was killed", SOON)


@case
def the_engine(box):
    run = start(box)
    os.kill(run.chain()[0], signal.SIGKILL)
    run.end(INTERNAL)
    expect_in("engine", run.text, "what happened")
    expect_in("SIGKILL", run.text, "how")


@case
def the_guardian(box):
    run = start(box)
    os.kill(run.chain()[1], signal.SIGKILL)
    run.end(NODE_LOST)
    expect_in("SIGKILL", run.text, "how")


@case
def the_agent(box):
    run = start(box)
    os.kill(run.chain()[2], signal.SIGKILL)
    run.end(NODE_LOST)
    expect_in("SIGKILL", run.text, "how")


@case
def front_and_engine_in_one_instant(box):
    run = start(box)
    engine = run.chain()[0]
    for pid in (run.pid, engine):
        os.kill(pid, signal.SIGSTOP)
    for pid in (run.pid, engine):
        os.kill(pid, signal.SIGKILL)
    wait_gone([run.pid], "the front")
    box.reap()
    run.code = -signal.SIGKILL
    box.expect_nobody("after front and engine were killed", SOON)


@case
def the_engine_while_the_front_is_stopped(box):
    run = start(box)
    engine, guardian, agent = run.chain()
    ranks = run.ranks()
    run.signal(signal.SIGSTOP)
    os.kill(engine, signal.SIGKILL)
    wait_gone([*ranks, guardian, agent], "the job", SOON)
    run.signal(signal.SIGCONT)
    run.end(INTERNAL)


@case
def the_agent_while_the_engine_is_stopped(box):
    run = start(box)
    engine, guardian, agent = run.chain()
    ranks = run.ranks()
    os.kill(engine, signal.SIGSTOP)
    os.kill(agent, signal.SIGKILL)
    wait_gone([*ranks, guardian], "the job", SOON)
    os.kill(engine, signal.SIGCONT)
    run.end(NODE_LOST)


def many_times(box, part, rounds):
    for i in range(rounds):
        run = box.start("run", "-n", "2", "--set", f"logs.dir=runs-{i}", "--", box.rank, "child", "daemon", "tell", "ready", "pause")
        box.expect_all("ready", 2)
        victim = (run.pid, *run.chain())[part]
        os.kill(victim, signal.SIGKILL)
        if part == 0:
            wait_gone([run.pid], "the front")
            box.reap()
            run.code = -signal.SIGKILL
            box.expect_nobody(f"round {i}", SOON)
        else:
            run.end()
            expect(run.code in (NODE_LOST, INTERNAL), f"exit code {run.code} in round {i}")


@case(long=True, budget=120)
def the_front_many_times(box):
    many_times(box, 0, 100)


@case(long=True, budget=120)
def the_engine_many_times(box):
    many_times(box, 1, 100)


@case(long=True, budget=120)
def the_guardian_many_times(box):
    many_times(box, 2, 100)


@case(long=True, budget=120)
def the_agent_many_times(box):
    many_times(box, 3, 100)


@case
def last_words_before_the_engine_died_are_in_the_files(box):
    # The agent finds both when it continues: the end of its launcher, and full pipes.
    lines = "".join(f"line {i}\\n" for i in range(4000))
    script = f"printf '{lines}'; exec {box.rank} tell ready pause"
    run = box.start("run", "-n", "8", "--", "sh", "-c", f"{box.rank} tell up gate && {script}")
    box.expect_all("up", 8)
    engine, guardian, agent = run.chain()
    os.kill(agent, signal.SIGSTOP)
    os.kill(engine, signal.SIGKILL)
    box.open_gate()
    box.expect_all("ready", 8)
    os.kill(agent, signal.SIGCONT)
    run.end(INTERNAL)
    for rank in range(8):
        expect(box.rank_output(rank).endswith(b"line 3999\n"), f"the end of rank {rank}'s output is missing")


@case
def output_written_before_the_agent_died_is_in_the_files(box):
    run = box.start("run", "-n", "2", "--", "sh", "-c", f"echo before; exec {box.rank} tell ready pause")
    box.expect_all("ready", 2)
    wait_until(lambda: all(box.rank_output(rank) for rank in (0, 1)), "output in the files while the ranks run")
    os.kill(run.chain()[2], signal.SIGKILL)
    run.end(NODE_LOST)
    for rank in (0, 1):
        expect_in(b"before\n", box.rank_output(rank), f"file of rank {rank}")
