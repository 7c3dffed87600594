"""Much output, one endless line, and full disks: nothing is torn, lost or reordered, and memory is bounded."""

import os
import re
import subprocess

from case import case
from cases_console import memory_of
from expectations import Skip, expect, expect_equal, expect_in
from processes import wait_until

HOST = os.uname().nodename
BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench")
MB = 1_000_000


def compile_output_program(box):
    program = box.path("output-program")
    subprocess.run(["gcc", "-O2", "-o", program, os.path.join(BENCH, "output.c")], check=True)
    return program


def many_lines(box, ranks, lines, mode="block"):
    program = compile_output_program(box)
    reader, writer = os.pipe()
    run = box.start("run", "-q", "-n", str(ranks), "--", program, "gen", str(lines), mode, stdout=writer)
    os.close(writer)
    check = subprocess.run([program, "check", str(ranks), str(lines)], stdin=reader, stdout=subprocess.PIPE, text=True, check=False)
    os.close(reader)
    run.end(0, patience=300)
    expect_equal(check.stdout, f"lines={ranks * lines} torn=0 reordered=0 missing=0\n", "console")
    for rank in range(ranks):
        name = os.path.join(box.run_folder(), "attempt-0", f"rank-{rank}.out")
        expect_equal(os.path.getsize(name), 100 * lines, "bytes in the file")
        with open(name, "rb") as file:
            check = subprocess.run([program, "check", "1024", "0"], stdin=file, stdout=subprocess.PIPE, text=True, check=False)
        expect_equal(check.stdout, f"lines={lines} torn=0 reordered=0 missing=0\n", "file")
        os.unlink(name)


@case
def half_a_million_lines_are_whole(box):
    many_lines(box, 4, 125_000)


@case
def lines_written_one_by_one_are_whole(box):
    many_lines(box, 4, 25_000, "line")


@case(long=True, alone=True, budget=600.0)
def ten_million_lines_are_whole(box):
    many_lines(box, 4, 2_500_000)


def one_line(box, megabytes):
    """Rank 1 writes one line of that size. Rank 0 writes nothing, but with two ranks, lines have a prefix."""
    size = megabytes * MB
    reader, writer = os.pipe()
    run = box.start("run", "-q", "-n", "2", "--", "sh", "-c", f"[ $RANK = 0 ] || head -c {size} /dev/zero | tr '\\0' x; "
                    f"exec {box.rank} tell written gate", stdout=writer)
    os.close(writer)
    shown = most = read = 0
    pids = []
    with os.fdopen(reader, "rb") as file:
        while shown < size - (1 << 17):
            line = file.readline()
            text = re.fullmatch(rb"\S+:1 [|+] (x+)\n", line)
            expect(text, f"a part of the line: {line[:60]!r}")
            shown += len(text[1])
            read += 1
            pids = pids or [run.pid, *run.chain()]
            if read % 200 == 0:
                most = max(most, memory_of(pids))
        box.open_gate()
        rest = b"".join(re.fullmatch(rb"\S+:1 [|+] (x*)\n", line)[1] for line in file)
    run.end(0, patience=300)
    expect_equal(shown + len(rest), size, "bytes of the line on the console")
    expect(most < box.memory(40), f"{most} bytes of memory")
    name = os.path.join(box.run_folder(), "attempt-0", "rank-1.out")
    expect_equal(os.path.getsize(name), size, "bytes in the file")
    with open(name, "rb") as file:
        while part := file.read(MB):
            expect_equal(part.count(b"x"), len(part), "bytes that are not of the line")
    os.unlink(name)


@case
def one_line_of_64_megabytes(box):
    one_line(box, 64)


@case(long=True, alone=True, budget=600.0)
def one_line_of_a_gigabyte(box):
    one_line(box, 1000)


def small_disk(box, kilobytes):
    folder = box.make_folder("runs")
    if not box.namespaced or subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k,mode=755", "tmpfs", folder],
                                            capture_output=True, check=False).returncode != 0:
        raise Skip("no file system can be mounted here (that needs root and a namespace)")
    return folder


@case
def a_full_log_disk_never_blocks_a_rank(box):
    small_disk(box, 1024)
    run = box.run("run", "-n", "4", "--set", "logs.console=none", "--", "sh", "-c", f"yes 0123456789 | head -c {2 * MB}; exec {box.rank} tell over")
    box.expect_all("over", 4)
    expect_equal(run.text.count("No space left on device; the ranks go on"), 1, f"notes in {run.text}")
    expect(re.search(r"^dlaunch: the log files lack 7\.\d MB of the output of 4 ranks", run.text, re.M), f"no sum: {run.text}")
    expect_in("done", run.text, "the summary")


@case
def a_disk_that_gets_room_again_is_used_again(box):
    folder = small_disk(box, 2048)
    ballast = os.path.join(folder, "ballast")
    with open(ballast, "wb") as file:
        file.write(b"b" * 1_600_000)
    # The rank goes on writing until the test has seen the mark, so the test does not depend on time.
    script = (f"yes 0123456789 | head -c {MB}; {box.rank} tell full gate; "
              "while [ ! -e stop ]; do echo after; sleep 0.1; done")
    run = box.start("run", "--set", "logs.console=none", "--", "sh", "-c", script)
    box.expect_all("full", 1)
    os.unlink(ballast)
    box.open_gate()
    wait_until(lambda: b"bytes lost" in box.rank_output(0), "the mark in the file")
    box.write("stop", "")
    run.end(0)
    output = box.rank_output(0)
    mark = re.search(rb"\n?\[\.\.\. (\d+) bytes lost: No space left on device\]\n", output)
    before, after = output[:mark.start()], output[mark.end():]
    expect(after and set(after.split(b"\n")) <= {b"after", b""}, f"behind the gap: {after[:200]!r}")
    lost = int(mark[1])
    expect(lost > 400_000 and before == (b"0123456789\n" * 100_000)[:len(before)], f"{len(before)} bytes before the gap, {lost} lost")
    expect_equal(run.text.count("No space left on device; the ranks go on"), 1, f"notes in {run.text}")
    expect_in("of the output of rank 0 (stdout)", run.text, "what is missing at the end")
