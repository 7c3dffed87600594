"""A file system that does not answer, like a network file system whose server is gone. Every way to end a run ends its healthy ranks within a bounded
time, says what waits for what, and leaves nothing once the file system answers again."""

import os
import signal
import time

from case import case
from expectations import expect, expect_equal, expect_in
from frozen import file_system, silent_server
from processes import command_of, is_alive, wait_until

INTERNAL, TIME_LIMIT, INTERRUPTED, TERMINATED = 70, 124, 130, 143
BOUND = 60.0  # seconds within which dlaunch must return on a busy machine; it usually needs about half of that
# The ranks print continuously, so that the process that writes their logs soon blocks.
CHATTER = "echo $$ > $CASE/pid-$RANK; while :; do echo line; sleep 0.05; done"
LINES = 3000


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def waits_for_disk(pids):
    for pid in pids:
        try:
            threads = os.listdir(f"/proc/{pid}/task")
        except OSError:
            continue
        for thread in threads:
            try:
                with open(f"/proc/{pid}/task/{thread}/stat", encoding="utf-8") as file:
                    if file.read().rsplit(")", 1)[1].split()[0] == "D":
                        return True
            except OSError:
                pass
    return False


def chatter(box, *options, logs):
    """Starts a run whose ranks print. Returns the run and the pids of its ranks."""
    run = box.start("run", "-n", "2", "--set", f"logs.dir={logs}", "--set", "timeouts.stop=1s", *options, "--", "sh", "-c", CHATTER)
    wait_until(lambda: all(box.exists(f"pid-{rank}") and box.read(f"pid-{rank}").strip() for rank in (0, 1)), "the ranks start", pause=0.02)
    return run, [int(box.read(f"pid-{rank}")) for rank in (0, 1)]


def freeze_under(run, frozen):
    chain = run.chain()
    frozen.freeze()
    wait_until(lambda: waits_for_disk(chain), "a part of dlaunch waits for the file system", pause=0.05)


def expect_dead(ranks):
    alive = [f"{pid} ({command_of(pid)})" for pid in ranks if is_alive(pid)]
    expect(not alive, f"ranks that live on: {alive}")


def thaw_and_expect_nobody(box, frozen):
    frozen.thaw()
    box.expect_nobody("after the file system answers again", BOUND)


@case(alone=True, budget=240.0)
def ctrl_c_twice_ends_the_ranks(box):
    with file_system(box) as frozen:
        run, ranks = chatter(box, logs=frozen.folder + "/runs")
        freeze_under(run, frozen)
        run.signal(signal.SIGINT)
        time.sleep(0.5)  # so that the two are not merged
        run.signal(signal.SIGINT)
        run.end(INTERRUPTED, patience=BOUND, left=1000)
        expect_dead(ranks)
        expect_in("ext4 at " + frozen.folder, run.text, "what is waited for")
        expect_in("state D", run.text, "how")
        thaw_and_expect_nobody(box, frozen)
        summary = box.json("summary.json", runs="frozen/runs")
        expect_equal((summary["cause"], summary["exit_code"]), ("cancelled", INTERRUPTED), "what is recorded in the end")


@case(alone=True, budget=240.0)
def kill_9_of_the_front_ends_the_ranks(box):
    with file_system(box) as frozen:
        run, ranks = chatter(box, logs=frozen.folder + "/runs")
        freeze_under(run, frozen)
        run.signal(signal.SIGKILL)
        run.end(-signal.SIGKILL, left=1000)
        wait_until(lambda: not any(map(is_alive, ranks)), "the ranks end", BOUND, pause=0.1)
        thaw_and_expect_nobody(box, frozen)


@case(alone=True, long=True, budget=240.0)
def kill_9_of_the_engine_ends_the_ranks(box):
    with file_system(box) as frozen:
        run, ranks = chatter(box, logs=frozen.folder + "/runs")
        engine = run.chain()[0]
        freeze_under(run, frozen)
        os.kill(engine, signal.SIGKILL)
        run.end(INTERNAL, patience=BOUND, left=1000)
        expect_dead(ranks)
        expect_in("ext4 at " + frozen.folder, run.text, "what is waited for")
        thaw_and_expect_nobody(box, frozen)


def stopped(box, *words):
    with file_system(box) as frozen:
        run, ranks = chatter(box, logs=frozen.folder + "/runs")
        freeze_under(run, frozen)
        stop = box.start("stop", *words, frozen.folder + "/runs/" + next(name for name in os.listdir(frozen.folder + "/runs") if name[0] != "."))
        stop.end(TIME_LIMIT, patience=BOUND, left=1000)
        expect_dead(ranks)
        expect_in("ext4 at " + frozen.folder, stop.text, "what is waited for")
        run.end(TERMINATED, patience=BOUND, left=1000)
        thaw_and_expect_nobody(box, frozen)


@case(alone=True, long=True, budget=240.0)
def stop_ends_the_ranks(box):
    stopped(box)


@case(alone=True, long=True, budget=240.0)
def stop_now_ends_the_ranks(box):
    stopped(box, "--now")


@case(alone=True, budget=120.0)
def a_log_file_system_that_stalls_for_a_while_costs_nothing(box):
    """The stall lasts longer than the time after which a silent node counts as lost."""
    with file_system(box) as frozen:
        run = box.start("run", "-n", "2", "--set", f"logs.dir={frozen.folder}/runs", "--set", "timeouts.fence_after=100ms",
                        "--set", "timeouts.lost_after=3200ms", "--", box.rank, "tell", "ready", "gate", "lines", str(LINES), "tell", "written")
        box.expect_all("ready", 2)
        frozen.freeze()
        box.open_gate()
        time.sleep(9.0)  # the stall is the subject; 300 KB a rank are more than a pipe holds
        expect(not box.has_ended(run), f"the run has ended\n{run.report()}")
        expect_in("ext4 at " + frozen.folder, run.text, "what is waited for")
        frozen.thaw()
        run.end(0)
        expect_equal(run.out.count(b"\n"), 2 * LINES, "lines on the console")
        for rank in (0, 1):
            data = box.rank_output(rank, runs="frozen/runs")
            expect_equal(data.count(b"\n"), LINES, f"lines of rank {rank}")
            expect(all(line.startswith(b"R%d %06d " % (rank, i)) for i, line in enumerate(data.splitlines())),
                   f"rank {rank}: a line is torn or out of order")


@case(alone=True, long=True, budget=240.0)
def a_rank_that_waits_for_a_file_system_is_named(box):
    with file_system(box) as frozen:
        run = box.start("run", "-n", "2", "--set", "timeouts.stop=1s", "--", "sh", "-c",
                        'echo $$ > $CASE/pid-$RANK; [ $RANK = 0 ] && while :; do echo x >> $CASE/frozen/data; done; sleep 1000')
        wait_until(lambda: all(box.exists(f"pid-{rank}") and box.read(f"pid-{rank}").strip() for rank in (0, 1)), "the ranks start", pause=0.02)
        ranks = [int(box.read(f"pid-{rank}")) for rank in (0, 1)]
        frozen.freeze()
        wait_until(lambda: waits_for_disk(ranks[:1]), "rank 0 waits for the file system", pause=0.05)
        agent = run.chain()[2]
        run.signal(signal.SIGINT)
        wait_until(lambda: not is_alive(ranks[1]), "rank 1 ends", BOUND, pause=0.05)
        before = processor_seconds(agent)
        time.sleep(4.0)  # in which the agent waits for rank 0
        used = processor_seconds(agent) - before
        expect(used < 0.2, f"the agent has used {used:.2f} s of processor time in 4 s")
        run.end(patience=BOUND, left=1000)
        expect(run.code != 0, "exit code 0")
        expect(not is_alive(ranks[1]), "rank 1 lives on")
        expect_in(f"rank 0: pid {ranks[0]}", run.text, "who it is")
        expect_in("ext4 at " + frozen.folder, run.text, "what is waited for")
        frozen.thaw()
        box.expect_nobody("after the file system answers again", BOUND)


@case(alone=True, long=True, budget=90.0)
def stop_of_a_run_whose_folder_cannot_be_read_says_so(box):
    with silent_server(box) as folder:
        stop = box.start("stop", folder + "/runs/20261120-210142-k3f")
        stop.end(TIME_LIMIT, patience=BOUND, left=1000)
        expect_in("fuse at " + folder, stop.text, "what is waited for")
    box.expect_nobody("after the server has gone", BOUND)
