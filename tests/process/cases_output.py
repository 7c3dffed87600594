"""Output: complete in the rank's files, whole lines on the console."""

import os
import re
import resource
import signal
import time

from case import case
from expectations import Skip, expect, expect_equal, expect_in, pseudo_random_bytes

HOST = os.uname().nodename


@case
def files_are_complete_to_the_byte(box):
    size = 5_000_000
    run = box.run("run", "-n", "2", "--set", "logs.console=none", "--", "sh", "-c",
                  f"exec {box.rank} bytes {size} $((RANK + 1))")
    for rank in (0, 1):
        wanted = pseudo_random_bytes(size, rank + 1)
        expect_equal(len(set(wanted)), 256, "all byte values are in the sample")
        expect(box.rank_output(rank) == wanted, f"rank {rank}: {len(box.rank_output(rank))} bytes, or other bytes")
    expect_equal(run.out, b"", "console with logs.console=none")


@case
def a_single_rank_passes_through_unchanged(box):
    run = box.run("run", "--", box.rank, "bytes", "300000", "5")
    wanted = pseudo_random_bytes(300000, 5)
    expect(box.rank_output(0) == wanted, "the file differs")
    expect(run.out.rstrip(b"\n") == wanted.rstrip(b"\n"), f"the console differs: {len(run.out)} of {len(wanted)} bytes")


@case
def stdout_and_stderr_stay_apart(box):
    run = box.run("run", "--", "sh", "-c", "echo out; echo err >&2")
    expect_equal(box.rank_output(0), b"out\n", "rank-0.out")
    expect_equal(box.rank_output(0, "err"), b"err\n", "rank-0.err")
    expect_equal(run.out, b"out\n", "stdout")
    expect_in(b"err\n", run.err, "stderr")


@case
def files_are_made_when_first_written(box):
    box.run("run", "-n", "2", "--", "sh", "-c", "test $RANK = 0 || echo x >&2")
    expect_equal(sorted(os.listdir(os.path.join(box.run_folder(), "attempt-0"))), ["local.times", "rank-1.err"], "files")


@case
def lines_have_a_prefix_of_host_and_rank(box):
    run = box.run("run", "-n", "2", "--", "sh", "-c", "echo out; echo err >&2")
    expect_equal(sorted(run.out.decode().splitlines()), [f"{HOST}:0 | out", f"{HOST}:1 | out"], "stdout")
    errors = [line for line in run.text.splitlines() if not line.startswith("dlaunch:")]
    expect_equal(sorted(errors), [f"{HOST}:0 | err", f"{HOST}:1 | err"], "stderr")


def ranks_in(text):
    """The ranks in the prefix of a merged line, such as "0-3,7"."""
    found = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def merged_lines(text, ranks):
    """The lines of each rank, and how many lines were shown."""
    shown = [match for line in text.decode().splitlines() if (match := re.match(r"\[([\d,-]+)\] (.*)", line))]
    by_rank = {rank: [match[2] for match in shown if rank in ranks_in(match[1])] for rank in range(ranks)}
    return by_rank, len(shown)


@case
def equal_lines_of_many_ranks_are_one_on_a_terminal(box):
    lines = [f"line {number}" for number in range(300)]
    run = box.start_on_terminal("run", "-n", "9", "--", box.rank, "tell", "ready", "gate", "print", "\n".join(lines) + "\n",
                                env={"NO_COLOR": "1"})
    box.expect_all("ready", 9)
    box.open_gate()
    run.end(0)
    by_rank, shown = merged_lines(run.screen, 9)
    for rank in range(9):
        expect_equal(by_rank[rank], lines, f"lines of rank {rank} on the console")
        expect_equal(box.rank_output(rank).decode().splitlines(), lines, f"lines of rank {rank} in its file")
    expect(shown < 9 * 300, "no line was merged")
    expect(f"{HOST}:".encode() not in run.screen.split(b"dlaunch: done")[0], "a prefix with a host")


@case
def few_ranks_on_a_terminal_and_many_in_a_pipe_are_not_merged(box):
    run = box.start_on_terminal("run", "-n", "8", "--", "echo", "out", env={"NO_COLOR": "1"}).end(0)
    for rank in range(8):
        expect_in(f"{HOST}:{rank} | out".encode(), run.screen, "line")
    run = box.run("run", "-n", "9", "--", "echo", "out")
    expect_equal(sorted(run.out.decode().splitlines()), [f"{HOST}:{rank} | out" for rank in range(9)], "stdout")


@case
def lines_can_be_merged_in_a_pipe(box):
    run = box.run("run", "-n", "3", "--set", "logs.console=merged", "--", "sh", "-c", "echo equal; echo own $RANK; printf end >&2")
    by_rank, _ = merged_lines(run.out, 3)
    expect_equal(by_rank, {rank: ["equal", f"own {rank}"] for rank in range(3)}, "stdout")
    by_rank, _ = merged_lines(run.err, 3)
    expect_equal(by_rank, {rank: ["end"] for rank in range(3)}, "stderr")
    for rank in range(3):
        expect_equal(box.rank_output(rank), f"equal\nown {rank}\n".encode(), "file")


@case
def lines_that_differ_in_a_number_can_be_one(box):
    run = box.run("run", "-n", "4", "--set", "logs.console=merged", "--set", "logs.fold_numbers=true", "--",
                  "sh", "-c", "echo loaded shard $RANK of 4")
    shards = []
    for line in run.out.decode().splitlines():
        found = re.fullmatch(r"\[([\d,-]+)\] loaded shard <?([\d,-]+)>? of 4", line)
        expect(found and found[1] == found[2], f"not a folded line: {line}")
        shards += ranks_in(found[2])
    expect_equal(sorted(shards), [0, 1, 2, 3], "shards")


@case
def the_prefix_can_be_switched_off(box):
    run = box.run("run", "-n", "2", "--set", "logs.prefix=never", "--", "echo", "out")
    expect_equal(run.out, b"out\nout\n", "stdout")


@case
def the_prefix_can_be_switched_on_for_one_rank(box):
    run = box.run("run", "--set", "logs.prefix=always", "--", "echo", "out")
    expect_equal(run.out.decode(), f"{HOST}:0 | out\n", "stdout")


@case
def lines_are_never_torn(box):
    count, ranks = 10_000, 8
    run = box.run("run", "-n", str(ranks), "--", box.rank, "lines", str(count))
    next_line = [0] * ranks
    pattern = re.compile(rf"{re.escape(HOST)}:(\d) \| R(\d) (\d{{6}}) ([a-z]*)\.")
    for line in run.out.decode().split("\n")[:-1]:
        match = pattern.fullmatch(line)
        expect(match, f"torn line: {line!r}")
        rank = int(match[2])
        expect_equal(match[1], match[2], "rank of the prefix")
        expect_equal(int(match[3]), next_line[rank], f"next line of rank {rank}")
        expect_equal(len(match[4]), next_line[rank] % 71, "length of the line")
        next_line[rank] += 1
    expect_equal(next_line, [count] * ranks, "lines of each rank")
    for rank in range(ranks):
        expect_equal(box.rank_output(rank).count(b"\n"), count, "lines in the file")


@case
def a_partial_last_line_is_kept(box):
    run = box.run("run", "-n", "2", "--", "printf", "first\nlast without end")
    for rank in (0, 1):
        expect_equal(box.rank_output(rank), b"first\nlast without end", "file")
        expect_in(f"{HOST}:{rank} | last without end\n", run.out.decode(), "console")


@case
def a_partial_line_before_death_by_signal_is_kept(box):
    run = box.run("run", "-n", "2", "--", box.rank, "print", "last words", "only", "1", "die", "9", code=137)
    expect_equal(box.rank_output(1), b"last words", "file")
    expect_in(f"{HOST}:1 | last words", run.out.decode(), "console")


@case
def a_very_long_line_arrives_whole_in_the_file(box):
    box.run("run", "-n", "2", "--", "sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x; echo")
    for rank in (0, 1):
        expect(box.rank_output(rank) == b"x" * 3_000_000 + b"\n", f"rank {rank}: {len(box.rank_output(rank))} bytes")


@case
def a_reader_that_has_gone_is_told_once_and_ends_nothing(box):
    reader, writer = os.pipe()
    os.close(reader)
    run = box.start("run", "-n", "2", "--", "seq", "1", "20000", stdout=writer)
    os.close(writer)
    run.end()
    expect_equal(run.code, 0, "exit code: the ranks were well")
    expect_equal(run.err.count(b"cannot write to stdout (Broken pipe)"), 1, "said")
    for rank in (0, 1):
        expect(box.rank_output(rank).endswith(b"\n20000\n"), f"rank {rank}: its file ends early")


@case
def no_colour_in_a_pipe(box):
    run = box.run("run", "-n", "2", "--", "echo", "out")
    expect(b"\x1b" not in run.out + run.err, "escape sequences in a file")


@case
def colour_on_a_terminal(box):
    run = box.start_on_terminal("run", "-n", "2", "--", "echo", "out").end(0)
    expect_in(b"\x1b[", run.screen, "colour on a terminal")


@case
def no_color_is_honoured(box):
    run = box.start_on_terminal("run", "-n", "2", "--", "echo", "out", env={"NO_COLOR": "1"}).end(0)
    expect(b"\x1b" not in run.screen, "escape sequences although NO_COLOR is set")
    expect_in(b"out", run.screen, "output")


@case
def a_full_pipe_does_not_hold_the_ranks(box):
    """stdout is not read until all ranks have written everything."""
    reader, writer = os.pipe()
    run = box.start("run", "-n", "2", "--", box.rank, "lines", "40000", "tell", "written", stdout=writer)
    os.close(writer)
    box.expect_all("written", 2)
    data = b""
    while part := os.read(reader, 1 << 16):
        data += part
    run.end(0)
    expect_equal(data.count(b"\n"), 80000, "lines on the console")


@case
def a_closed_stdout_does_not_hurt_the_job(box):
    reader, writer = os.pipe()
    run = box.start("run", "--", box.rank, "tell", "ready", "gate", "lines", "20000", stdout=writer)
    os.close(writer)
    box.expect_all("ready", 1)
    os.close(reader)
    box.open_gate()
    run.end()
    expect(run.code in (0, 128 + signal.SIGPIPE), f"exit code {run.code}")
    expect_equal(box.rank_output(0).count(b"\n"), 20000, "lines in the file")


def unwritable(box):
    """Options of Sandbox.run with which dlaunch cannot write to the current folder."""
    folder = box.make_folder("read-only")
    os.chmod(folder, 0o555)
    if os.getuid() != 0:
        return {"cwd": folder}
    with open("/proc/self/uid_map", encoding="utf-8") as file:
        if len(file.read().split()) != 3 or int(open("/proc/self/uid_map", encoding="utf-8").read().split()[2]) < 65535:
            raise Skip("root of a user namespace may write everywhere, and there is no other user in it")
    os.chown(box.path("home"), 65534, 65534)
    return {"cwd": folder, "prefix": ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]}


@case
def runs_go_to_the_state_folder_where_the_current_one_cannot_be_written(box):
    run = box.run("run", "--", "echo", "out", **unwritable(box))
    found = [os.path.join(path, name) for path, _, names in os.walk(box.path("home")) for name in names if name == "rank-0.out"]
    expect_equal(len(found), 1, "output files under HOME")
    expect_equal(box.read(found[0]), b"out\n", "output")
    expect_in(os.path.dirname(os.path.dirname(found[0])), run.text, "it is said where the logs are")


@case
def the_state_folder_follows_xdg(box):
    options = unwritable(box)
    state = box.make_folder("home", "my-state")
    if os.getuid() == 0:
        os.chown(state, 65534, 65534)
    box.run("run", "--", "echo", "out", env={"XDG_STATE_HOME": state}, **options)
    found = [name for _, _, names in os.walk(state) for name in names if name == "rank-0.out"]
    expect_equal(len(found), 1, "output files under XDG_STATE_HOME")


@case
def logs_dir_is_honoured(box):
    box.run("run", "--set", "logs.dir=some/where", "--", "echo", "out")
    expect_equal(box.rank_output(0, runs="some/where"), b"out\n", "output")


@case
def ids_sort_by_time(box):
    names = []
    for _ in range(3):
        box.run("run", "--", "true")
        names.append(next(name for name in box.runs() if name not in names))
    expect_equal(names, sorted(names), "ids in the order of their runs")


@case(alone=True)  # beside other runs, dlaunch may print a note about cores
def quiet_says_nothing_about_success(box):
    run = box.run("run", "-q", "-n", "2", "--", "echo", "out")
    expect_equal(run.err, b"", "stderr")
    expect_equal(run.out.count(b"out\n"), 2, "output")


@case
def quiet_still_reports_failure(box):
    run = box.run("run", "-q", "--", "sh", "-c", "exit 3", code=3)
    expect_in("FAILED", run.text, "summary")


@case(long=True)
def a_slow_reader_gets_every_byte(box):
    # More than 5 s after the last rank's end, but never 5 s without progress.
    size, got = 2_000_000, 0
    read, write = os.pipe()
    run = box.start("run", "-q", "--", box.rank, "bytes", str(size), "7", stdout=write)
    os.close(write)
    while data := os.read(read, 20_000):
        got += len(data)
        time.sleep(0.1)
    os.close(read)
    run.end(0)
    expect(got >= size, f"{got} bytes of {size}")


@case
def what_a_full_disk_took_from_the_console_is_marked(box):
    size = 3_000_000
    read, write = os.pipe()  # only files are limited
    run = box.start("run", "-q", "--", "sh", "-c", f"yes | head -c {size}", stdout=write,
                    before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)))
    os.close(write)
    shown = b""
    while data := os.read(read, 65536):
        shown += data
    os.close(read)
    run.end(0)
    marks = re.findall(rb"\[\.\.\. (\d+) bytes lost\]\n", shown)
    rest = re.sub(rb"\[\.\.\. \d+ bytes lost\]\n", b"", shown)
    expect_equal(len(rest) + sum(map(int, marks)), size, "bytes shown and bytes said to be lost")
