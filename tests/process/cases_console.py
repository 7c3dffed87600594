"""Whose output the console shows, and consoles that stop reading for a while or for good."""

import os
import re
import resource
import subprocess
import time

from case import case
from expectations import expect, expect_equal, expect_in, pseudo_random_bytes

HOST = os.uname().nodename
MB = 1_000_000


def memory_of(pids):
    """The proportional set size, in bytes (proc(5), smaps_rollup)."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            total += 1024 * int(re.search(r"^Pss:\s+(\d+) kB", file.read(), re.M)[1])
    return total


@case
def only_rank_0_is_shown_and_needs_no_prefix(box):
    run = box.run("run", "-n", "3", "--set", "logs.console=rank0", "--", "sh", "-c", "echo out $RANK; echo err $RANK >&2")
    expect_equal(run.out, b"out 0\n", "stdout")
    expect_equal([line for line in run.text.splitlines() if not line.startswith("dlaunch:")], ["err 0"], "stderr")
    for rank in range(3):
        expect_equal(box.rank_output(rank), f"out {rank}\n".encode(), "file")


@case
def a_list_of_ranks_is_shown(box):
    run = box.run("run", "-n", "4", "--set", "logs.console=[3, 1]", "--", "sh", "-c", "echo out $RANK")
    expect_equal(sorted(run.out.decode().splitlines()), [f"{HOST}:{rank} | out {rank}" for rank in (1, 3)], "stdout")
    for rank in range(4):
        expect_equal(box.rank_output(rank), f"out {rank}\n".encode(), "file")


@case
def a_rank_that_does_not_exist_cannot_be_shown(box):
    run = box.run("run", "-n", "4", "--set", "logs.console=[0, 4]", "--", "true", code=65)
    expect_in("logs.console: there is no rank 4; this job has ranks 0 to 3", run.text, "what is wrong")


@case
def binary_output_passes_unharmed(box):
    """The console shows every byte unchanged between those that end or restart a line."""
    wanted = {rank: pseudo_random_bytes(300_000, rank + 1).replace(b"\r", b"") for rank in (0, 1)}
    for rank, data in wanted.items():
        box.write(f"data-{rank}", data)
    run = box.run("run", "-n", "2", "--", "sh", "-c", "cat data-$RANK")
    shown = {0: [], 1: []}
    for line in run.out.split(b"\n")[:-1]:
        prefix = re.match(rb"\S+:(\d) ([|+]) ", line)
        expect(prefix, f"no prefix: {line[:80]!r}")
        shown[int(prefix[1])].append(line[prefix.end():])
    for rank, data in wanted.items():
        expect(box.rank_output(rank) == data, "the file differs")
        expect(shown[rank] == data.split(b"\n"), f"the console differs: {len(shown[rank])} lines")


def start_unread(box, megabytes, *words, options=()):
    """Starts two ranks that write this much to a console that nobody reads. Returns the run and the read end of the console."""
    reader, writer = os.pipe()
    script = f"yes 0123456789012345678901234567890123456789012345678 | head -c {megabytes * MB}; exec {box.rank} {' '.join(words)}"
    run = box.start("run", "-n", "2", *options, "--", "sh", "-c", script, stdout=writer)
    os.close(writer)
    return run, reader


@case
def a_console_that_never_reads_holds_nothing_up(box):
    run, reader = start_unread(box, 40, "tell", "written", "gate", "tell", "over")
    box.expect_all("written", 2)
    pids = [run.pid, *run.chain()]
    used = memory_of(pids)
    expect(used < box.memory(40), f"{used} bytes for 80 MB of output")
    box.open_gate()
    box.expect_all("over", 2)
    over = time.monotonic()
    run.end(0)
    expect(4 < time.monotonic() - over < 20, f"ended {time.monotonic() - over:.1f} s after the last rank")
    os.close(reader)
    said = re.search(r"note: the console has accepted nothing for 5 s: \[\.\.\. (\d+) MB skipped, complete in runs/\S+/attempt-0\]", run.text)
    expect(said, f"what was skipped is not said: {run.text}")
    expect(78 <= int(said[1]) <= 80, f"{said[0]}")
    expect_in("dlaunch: done", run.text, "the summary")
    for rank in (0, 1):
        expect_equal(len(box.rank_output(rank)), 40 * MB, "bytes in the file")


@case
def ctrl_s_holds_nothing_up(box):
    run = box.start_on_terminal("run", "-n", "2", "--", box.rank, "tell", "ready", "gate", "lines", "40000", "tell", "written")
    box.expect_all("ready", 2)
    run.type(b"\x13")
    box.open_gate()
    box.expect_all("written", 2)
    run.end(0)
    for rank in (0, 1):
        expect_equal(box.rank_output(rank).count(b"\n"), 40000, "lines in the file")


@case
def a_short_stop_costs_nothing(box):
    """After a stop of less than 5 s, every byte is still shown, read from the files."""
    run, reader = start_unread(box, 8, "tell", "written")
    box.expect_all("written", 2)
    size = 0
    while data := os.read(reader, 1 << 16):
        size += len(data)
    run.end(0)
    lines = 2 * 8 * MB // 50
    expect_equal(size, lines * (50 + len(f"{HOST}:0 | ")), "bytes on the console")


@case(long=True)
def a_console_that_comes_back_goes_on_near_the_end(box):
    """The console stalls for longer than 5 s, and for longer than an agent may be silent."""
    run, reader = start_unread(box, 20, "tell", "written", "gate", "print", "'the end\n'",
                               options=["--set", "timeouts.fence_after=1s", "--set", "timeouts.lost_after=5s"])
    box.expect_all("written", 2)
    time.sleep(7)  # a time limit is under test
    box.open_gate()
    shown = b""
    while data := os.read(reader, 1 << 16):
        shown += data
    run.end(0)
    marks = re.findall(rb"^\S+:(\d) \| \[\.\.\. \d+ MB skipped, complete in runs/\S+/rank-(\d)\.out\]$", shown, re.M)
    expect_equal(sorted(marks), [(b"0", b"0"), (b"1", b"1")], "marks")
    torn = [line for line in shown.split(b"\n")[:-1]
            if not re.fullmatch(rb"\S+:\d \| (0123456789012345678901234567890123456789012345678|the end|\[\.\.\. .*\])", line)]
    expect_equal(torn, [], "torn lines")
    expect_equal(shown.count(b"| the end\n"), 2, "the last lines")
    expect(len(shown) < 10 * MB, f"{len(shown)} bytes shown: nothing was skipped")


@case
def head_ends_the_view_and_not_the_job(box):
    reader, writer = os.pipe()
    run = box.start("run", "-n", "2", "--", box.rank, "lines", "40000", "tell", "written", stdout=writer)
    os.close(writer)
    head = subprocess.run(["head", "-n", "1"], stdin=reader, stdout=subprocess.PIPE, check=True)
    os.close(reader)
    box.expect_all("written", 2)
    run.end(0)
    expect_in(b" | R", head.stdout, "what head got")
    expect_equal(run.text.count("cannot write to stdout (Broken pipe)"), 1, "said once")
    expect("skipped" not in run.text, "the run does not wait for a reader that has gone")
    for rank in (0, 1):
        expect_equal(box.rank_output(rank).count(b"\n"), 40000, "lines in the file")


@case
def a_reader_of_stderr_that_has_gone_hurts_nobody(box):
    reader, writer = os.pipe()
    os.close(reader)
    run = box.start("run", "-n", "2", "--", "sh", "-c", f"seq 1 20000 >&2; exec {box.rank} lines 100", inherit=[writer],
                    before=lambda: os.dup2(writer, 2))
    os.close(writer)
    run.end(0)
    expect_equal(run.out.count(b"\n"), 200, "lines on stdout")
    for rank in (0, 1):
        expect(box.rank_output(rank, "err").endswith(b"\n20000\n"), "its file ends early")


@case
def a_log_disk_without_room_is_one_message(box):
    """A limit on the file size simulates a full disk. Eight ranks reach it with two streams each."""
    run = box.run("run", "-n", "8", "--set", "logs.console=none", "--", "sh", "-c", "seq 1 50000; seq 1 50000 >&2",
                  before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)))
    expect_equal(len(re.findall(r"^dlaunch: note: cannot write to \S+/attempt-0: File too large; the ranks go on", run.text, re.M)), 1, "notes")
    expect_equal(len(re.findall(r"^dlaunch: the log files lack 3\.\d MB of the output of 8 ranks", run.text, re.M)), 1, "what is missing at the end")
