"""Failures of dlaunch bench, before it starts and while it measures."""

import glob
import json
import os
import re
import signal
import xml.etree.ElementTree

from case import case
from cases_bench import PROGRAM, bench, expect_place, left_in_tmp, over_nodes
from expectations import Skip, expect, expect_equal, expect_in
from processes import wait_until


WRONG = (
    (["all_reduse"], "did you mean all_reduce?"),
    ([], "no operation given"),
    (["all_reduce", "--type", "flaot32"], "did you mean float32?"),
    (["all_reduce", "--op", "summ"], "did you mean sum?"),
    (["all_gather", "--op", "sum"], "--op: all_gather reduces nothing"),
    (["all_reduce", "--root", "1"], "--root: all_reduce has no root"),
    (["broadcast", "-n", "2", "--root", "2"], "--root 2: there are 2 ranks"),
    (["all_reduce", "-b", "1M", "-e", "1K"], "the smallest size, 1M, is above the largest, 1K"),
    (["all_reduce", "-b", "10"], "10 bytes is not a multiple of the type's 4"),
    (["all_reduce", "-b", "10X"], '"10X": expected a whole number'),
    (["all_reduce", "-e", "2T"], "more than 1 TiB"),
    (["all_reduce", "-f", "1"], "the step factor must be 2 or more"),
    (["all_reduce", "-b", "0"], "the smallest size must not be 0"),
    (["all_reduce", "-i", "4", "-e", "1M"], "more than 1000 sizes"),
    (["all_reduce", "-i", "4", "-f", "2"], "give one of them"),
    (["all_reduce", "-N", "0"], "--iterations 0: expected"),
    (["all_reduce", "--backend", "gloo"], "expected auto, mpi or nccl"),
    (["all_reduce", "--timeout", "soon"], "--timeout soon: expected a time"),
    (["barrier", "-b", "8"], "barrier moves no data"),
    (["barrier", "--plot", "x.svg"], "a barrier has no sizes"),
    (["all_reduce", "--plot", "missing/x.svg"], "--plot missing/x.svg: No such file"),
    (["all_reduce", "--plot", "."], "--plot .: Is a directory"),
    (["all_reduce", "-n", "2", "-e", "8G"], "with float32 the largest size is 8589934588 bytes; --backend nccl has no such limit"),
    (["all_gather", "-n", "3", "-b", "3M", "-e", "12G"], "a size of 12G is 3221225472 elements of float32"),
    (["all_reduce", "-n", "2", "-e", "2G", "--type", "int8"], "with int8 the largest size is 2147483647 bytes"),
    (["--pairs", "-n", "2", "-b", "16G", "--type", "float64"], "with float64 the largest size is 17179869176 bytes"),
    (["--pairs", "-n", "1"], "--pairs needs two ranks"),
    (["--pairs", "-e", "1M"], "--pairs measures one size"),
    (["all_gather", "-n", "4", "-b", "8", "-e", "8"], "is less than one element of float32 for each of 4 ranks"),
)


@case
def wrong_input_is_one_clear_error(box):
    for words, expected in WRONG:
        run = bench(box, *words).end(64)
        expect_in(expected, run.text, f"bench {' '.join(words)}")
        expect(run.text.count("\n") <= 3, f"few lines: {run.text}")
        expect_equal(run.out, b"", f"stdout of bench {' '.join(words)}")
        expect_equal(left_in_tmp(box), [], f"folders of bench {' '.join(words)}")


@case
def too_little_memory_is_an_error_before_the_start(box):
    run = bench(box, "all_reduce", "-b", "15G", "-e", "15G", "--type", "float64", "-n", "64").end(75)
    expect_in("the buffers of 64 ranks", run.text, "what needs it")
    expect_in("smaller --max-bytes", run.text, "what to do")
    expect_equal(left_in_tmp(box), [], "folders of runs")


@case
def nccl_without_a_gpu_is_one_error(box):
    if os.path.exists("/dev/nvidiactl"):
        raise Skip("there is a GPU")
    run = bench(box, "all_reduce", "--backend", "nccl").end(75)
    expect("has no usable GPU" in run.text or "built without NCCL" in run.text, run.text)


HIDE_MPI = "for f in /usr/lib/*/libmpi.so.40*; do mount --bind /dev/null \"$f\"; done"


@case
def a_node_without_mpi_is_named(box):
    box.make_cluster(2)
    box.ssh("node2", HIDE_MPI)
    run = bench(box, "all_reduce", "-e", "8", *over_nodes(box)).end(75)
    expect_in("rank 1 on node2", run.text, "where")
    expect_in("libmpi.so.40 on this node cannot be used", run.text, "what")
    expect_in("Debian, Ubuntu: libopenmpi3", run.text, "what to do")


def ranks_of(box):
    """The pids of the ranks that measure."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if words[0] == PROGRAM and (b"bench" in words or b"pairs" in words):
            found.append(int(pid))
    return found


def while_measuring(box, *words):
    """Starts a long bench, and returns when the head of its table is printed."""
    run = bench(box, "all_reduce", "-b", "1M", "-e", "1M", "-i", "4", "-N", "1000000", "-n", "2", "--no-check", *words)
    wait_until(lambda: len(ranks_of(box)) == 2 and b"# all_reduce" in run.out, "ranks that measure", 60)
    return run


@case
def a_rank_that_is_killed_ends_it_all(box):
    run = while_measuring(box)
    os.kill(ranks_of(box)[0], signal.SIGKILL)
    run.end(128 + signal.SIGKILL)
    expect_in("was killed by SIGKILL", run.text, "the report")
    expect_equal(len(left_in_tmp(box)), 1, "the folder is kept")
    expect_in("the run is kept in", run.text, "where")
    expect_in("# incomplete: failed after", run.out.decode(), "the table")


def has_record(box, kind):
    """Whether rank 0 has written a complete record of this kind. With --json, stdout does not show it yet."""
    for path in glob.glob(box.path("tmp", "dlaunch-measure-*", "*", "attempt-0", "rank-0.out")):
        with open(path, "rb") as file:
            if any(line.startswith(f'{{"record":"{kind}"'.encode()) and line.endswith(b"\n") for line in file):
                return True
    return False


def cut_off(box, kind, *words):
    """Kills a rank of `bench --json` after the first record of this kind; returns the output."""
    run = bench(box, *words, "--json")
    wait_until(lambda: has_record(box, kind), f"a first {kind}", 40)
    os.kill(ranks_of(box)[0], signal.SIGKILL)
    result = json.loads(run.end(128 + signal.SIGKILL).out)
    expect_equal(result["complete"], False, "whether all was measured")
    expect(re.match(r"failed after .*: rank \d on \S+ was killed by SIGKILL", result["error"]), f"the error: {result['error']}")
    return result


@case
def what_was_measured_before_a_rank_failed_is_not_lost(box):
    result = cut_off(box, "size", "all_reduce", "-b", "8", "-e", "64M", "-f", "8388608", "-N", "20000", "-w", "0", "-n", "2", "--no-check",
                     "--plot", "plot.svg")
    expect_equal([row["bytes"] for row in result["rows"]], [8], "rows")
    for place in ("out_of_place", "in_place"):
        expect_place(result["rows"][0][place], "all_reduce", 2, 8, checked=False)
    texts = [text.text or "" for text in xml.etree.ElementTree.parse(box.path("plot.svg")).getroot().iter("{http://www.w3.org/2000/svg}text")]
    expect(any(text.startswith("incomplete: failed after") for text in texts), f"a note in the plot: {texts}")


@case
def pairs_that_were_measured_before_a_rank_failed_are_not_lost(box):
    result = cut_off(box, "pair", "--pairs", "-n", "3", "-b", "32M", "-N", "200", "-w", "0")
    expect(1 <= len(result["pairs"]) < 3, f"pairs: {result['pairs']}")


@case
def all_was_measured(box):
    for words in (["all_reduce", "-b", "64", "-e", "64"], ["--pairs", "-b", "64"]):
        result = json.loads(bench(box, *words, "-n", "2", "-N", "1", "--json").end(0).out)
        expect_equal((result["complete"], result.get("error")), (True, None), f"bench {words[0]}")


@case
def a_signal_in_the_middle_leaves_nothing(box):
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        run = while_measuring(box)
        run.signal(number)
        run.end(code)
        expect_equal(left_in_tmp(box), [], "folders of runs")


@case
def a_killed_reader_takes_the_run_with_it(box):
    run = while_measuring(box)
    run.signal(signal.SIGKILL)
    run.end(-signal.SIGKILL, left=1000)
    wait_until(lambda: not ranks_of(box), "the ranks' end", 30)
    box.expect_nobody("nothing is left")


@case
def a_rank_that_is_stopped_is_reported_in_time(box):
    run = while_measuring(box, "--timeout", "2s")
    os.kill(ranks_of(box)[0], signal.SIGSTOP)
    run.end(124, patience=60)
    # On a busy machine the ranks may not have begun yet.
    expect(re.search(r"(all_reduce of 1M|the startup) did not end within 2 s", run.words), f"the report: {run.words}")
