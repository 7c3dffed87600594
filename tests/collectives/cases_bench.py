"""dlaunch bench, as a user runs it: what it measures is computed once more, and what goes wrong is told."""

import json
import os
import re
import signal
import subprocess
import xml.etree.ElementTree

from case import case
from expectations import Skip, expect, expect_equal, expect_in
from processes import wait_until

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "send_recv", "barrier")
IN_PARTS = ("all_gather", "reduce_scatter", "all_to_all")
PROGRAM = b"dlaunch-collectives-mpi"


def bench(box, *words, **more):
    """Its temporary folders are the case's. Over MPI, also where there is a GPU (tests/gpu has NCCL's cases)."""
    backend = [] if "--backend" in words else ["--backend", "mpi"]
    return box.start("bench", *words, *backend, env={"TMPDIR": box.make_folder("tmp")}, **more)


def over_nodes(box, per_node=1):
    return ["--set", f"hosts=[{', '.join(box.cluster.names)}]", "--set", f"connect.ssh={box.cluster.ssh}", "--nproc-per-node", str(per_node)]


def left_in_tmp(box):
    return os.listdir(box.path("tmp"))


def bus_factor(operation, ranks):
    """nccl-tests, doc/PERFORMANCE.md."""
    if operation == "all_reduce":
        return 2 * (ranks - 1) / ranks
    return (ranks - 1) / ranks if operation in IN_PARTS else 1


def near(one, other, what):
    expect(abs(one - other) <= 1e-9 * max(abs(one), abs(other), 1e-9), f"{what}: {one} and {other}")


def expect_place(place, operation, ranks, size, checked=True):
    """One size, out of place or in place: its bandwidths follow from its time."""
    expect(place["time_us"] > 0, f"a time: {place}")
    near(place["algbw"], size / place["time_us"] / 1e3, "algorithm bandwidth")
    if operation != "barrier":
        near(place["busbw"], place["algbw"] * bus_factor(operation, ranks), "bus bandwidth")
        expect_equal(place["wrong"], 0 if checked else None, "wrong elements")
    order = [place[key] for key in ("min_us", "median_us", "p90_us", "p99_us", "max_us")]
    expect(order == sorted(order) and order[0] > 0, f"times in their order: {order}")


def expect_result(text, operation, ranks, sizes):
    result = json.loads(text)
    expect_equal((result["operation"], result["ranks"], len(result["hosts"])), (operation, ranks, ranks), "header")
    expect_in("mpi: Open MPI", result["backend"], "back-end")
    if operation == "barrier":
        expect_equal([row["bytes"] for row in result["rows"]], [0], "a barrier's only row")
    else:
        parts = ranks if operation in IN_PARTS else 1
        counts = [size // 4 // parts for size in sizes]
        expect_equal([row["count"] for row in result["rows"]], counts, "counts")
        expect_equal([row["bytes"] for row in result["rows"]], [count * 4 * parts for count in counts], "sizes")
    for row in result["rows"]:
        expect_equal(row["out_of_place"] is None, operation == "broadcast", "no such call")
        expect_equal(row["in_place"] is None, operation in ("all_to_all", "send_recv", "barrier"), "no such call")
        for place in filter(None, (row["out_of_place"], row["in_place"])):
            expect_place(place, operation, ranks, row["bytes"])
    return result


def every_operation(box, ranks, where):
    for operation in OPERATIONS:
        if operation == "send_recv" and ranks < 2:
            continue
        sizes = () if operation == "barrier" else ("-b", "64", "-e", "64K", "-f", "32")
        run = bench(box, operation, *sizes, "-N", "5", "-w", "1", "--json", *where).end(0)
        expect_result(run.out, operation, ranks, (64, 2048, 65536))
        expect_equal(run.text, "", f"stderr of {operation}")
    expect_equal(left_in_tmp(box), [], "folders of runs")


@case
def one_rank_measures_every_operation(box):
    every_operation(box, 1, ["-n", "1"])


@case
def two_ranks_measure_every_operation(box):
    every_operation(box, 2, [])


@case(alone=True)
def four_ranks_measure_every_operation(box):
    every_operation(box, 4, ["-n", "4"])


@case(alone=True)
def two_nodes_with_two_ranks_each_measure_every_operation(box):
    box.make_cluster(2)
    every_operation(box, 4, over_nodes(box, 2))


TYPES = ("int8", "uint8", "int32", "uint32", "int64", "uint64", "float16", "bfloat16", "float32", "float64")
REDUCTIONS = ("sum", "prod", "min", "max", "avg")


def expect_right(box, kind, op):
    run = bench(box, "all_reduce", "-b", "8K", "-e", "8K", "-N", "1", "-w", "0", "--type", kind, "--op", op, "-n", "2", "--json").end(0)
    row = json.loads(run.out)["rows"][0]
    expect_equal([row[place]["wrong"] for place in ("out_of_place", "in_place")], [0, 0], f"wrong elements of {kind} {op}")


@case
def every_type_computes_right(box):
    for number, kind in enumerate(TYPES):
        expect_right(box, kind, REDUCTIONS[number % len(REDUCTIONS)])


@case(long=True, alone=True)
def every_type_and_operation_computes_right(box):
    for kind in TYPES:
        for op in REDUCTIONS:
            expect_right(box, kind, op)


TABLE_ROW = re.compile(r"^ +(\d+) +(\d+) +(\S+) +(\S+) +(\S+) +([\d.]+) +([\d.]+) +([\d.]+) +(\d+) +([\d.]+) +([\d.]+) +([\d.]+) +(\d+)$", re.M)


@case
def the_table_is_that_of_nccl_tests(box):
    run = bench(box, "all_reduce", "-b", "256K", "-e", "1M", "-N", "5", "-n", "2").end(0)
    text = run.out.decode()
    expect_in("all_reduce over mpi: Open MPI", text, "the header")
    expect_in("2 ranks", text, "the header")
    expect(max(len(line) for line in text.splitlines()) <= 104, f"lines fit:\n{text}")
    rows = TABLE_ROW.findall(text)
    expect_equal([row[:5] for row in rows], [(str(size), str(size // 4), "float32", "sum", "-") for size in (262144, 524288, 1048576)], "rows")
    for row in rows:
        for time, algbw, busbw, wrong in (row[5:9], row[9:13]):
            expect(abs(float(algbw) - int(row[0]) / float(time) / 1e3) < 0.02 + 0.01 * float(algbw), f"bandwidth of its time: {row}")
            expect(abs(float(busbw) - float(algbw)) < 0.011, f"of two ranks, both are the same: {row}")
            expect_equal(wrong, "0", "wrong elements")


@case
def a_plot_is_well_formed(box):
    run = bench(box, "reduce_scatter", "-b", "64", "-e", "16K", "-N", "2", "--plot", "plot.svg", "--no-check").end(0)
    expect_in("n/a", run.out.decode(), "what was not checked")
    root = xml.etree.ElementTree.parse(box.path("plot.svg")).getroot()
    svg = "{http://www.w3.org/2000/svg}"
    expect_equal(root.tag, f"{svg}svg", "the root")
    expect_equal(len(root.findall(f"{svg}circle")), 2 * 2 * 9, "points: two places, two panels, nine sizes")
    expect(any("2 ranks on 1 host" in (text.text or "") for text in root.findall(f"{svg}text")), "a title")


@case
def a_plot_that_cannot_be_written_costs_no_result(box):
    run = bench(box, "all_reduce", "-b", "64", "-e", "64", "-N", "2", "-n", "2", "--json", "--plot", "/dev/full").end(70)
    expect_equal(len(json.loads(run.out)["rows"]), 1, "rows")
    expect_in("write /dev/full", run.text, "what is wrong")


@case
def every_two_nodes_by_themselves_and_the_slow_one_is_named(box):
    """Everything that node4 sends or receives is slow, so its links are."""
    cluster = box.make_cluster(4)
    cluster.nodes[3].slow_link("40mbit")
    run = bench(box, "--pairs", "-b", "512K", "-N", "2", "-w", "1", "--json", *over_nodes(box)).end(0)
    result = json.loads(run.out)
    pairs = {(pair["a"], pair["b"]): pair for pair in result["pairs"]}
    expect_equal(sorted(pairs), [(a, b) for a in range(4) for b in range(a + 1, 4)], "every pair once")
    # Nothing is measured twice here, so on a busy machine a good link may look slow, too; never slower than these.
    planted = [(0, 3), (1, 3), (2, 3)]
    expect(all(pairs[pair]["slow"] for pair in planted), f"not all slow links are named: {pairs}")
    slowest = sorted(pairs, key=lambda pair: pairs[pair]["bandwidth"])[:3]
    expect_equal(sorted(slowest), planted, "the slowest links")


@case
def pairs_as_a_matrix(box):
    run = bench(box, "--pairs", "-n", "3", "-b", "64K", "-N", "2").end(0)
    text = run.out.decode()
    expect_equal(len(re.findall(r"^\S+:\d( +(-|[\d.]+)){3}$", text, re.M)), 3, f"rows of the matrix:\n{text}")
    expect_in("# median", text, "the median")


WRONG = (
    (["all_reduse"], "did you mean all_reduce?"),
    ([], "no operation given"),
    (["all_reduce", "--type", "flaot32"], "did you mean float32?"),
    (["all_reduce", "--op", "summ"], "did you mean sum?"),
    (["all_gather", "--op", "sum"], "--op: all_gather reduces nothing"),
    (["all_reduce", "--root", "1"], "--root: all_reduce has no root"),
    (["broadcast", "-n", "2", "--root", "2"], "--root 2: there are 2 ranks"),
    (["all_reduce", "-b", "1M", "-e", "1K"], "the smallest size, 1M, is above the largest, 1K"),
    (["all_reduce", "-b", "10"], "10 bytes is no multiple of the type's 4"),
    (["all_reduce", "-b", "10X"], '"10X" is no size'),
    (["all_reduce", "-e", "2T"], "more than 1 TiB"),
    (["all_reduce", "-f", "1"], "the step factor is below 2"),
    (["all_reduce", "-b", "0"], "the smallest size is 0"),
    (["all_reduce", "-i", "4", "-e", "1M"], "more than 1000 sizes"),
    (["all_reduce", "-i", "4", "-f", "2"], "give one of them"),
    (["all_reduce", "-N", "0"], "--iterations 0: expected"),
    (["all_reduce", "--backend", "gloo"], "expected auto, mpi or nccl"),
    (["all_reduce", "--timeout", "soon"], "--timeout soon: expected a time"),
    (["barrier", "-b", "8"], "barrier moves no data"),
    (["barrier", "--plot", "x.svg"], "a barrier has no sizes"),
    (["all_reduce", "--plot", "missing/x.svg"], "--plot missing/x.svg: No such file"),
    (["all_reduce", "--plot", "."], "--plot .: Is a directory"),
    (["send_recv", "-n", "1"], "send_recv needs two ranks, and there is one"),
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
def more_memory_than_there_is_is_told_before(box):
    run = bench(box, "all_reduce", "-b", "512G", "-e", "512G", "-n", "2").end(75)
    expect_in("the buffers of 2 ranks", run.text, "what needs it")
    expect_in("smaller --max-bytes", run.text, "what to do")
    expect_equal(left_in_tmp(box), [], "folders of runs")


@case
def nccl_without_a_gpu_is_one_error(box):
    if os.path.exists("/dev/nvidiactl"):
        raise Skip("there is a GPU")
    run = bench(box, "all_reduce", "--backend", "nccl").end(75)
    expect("has no GPU" in run.text or "built without NCCL" in run.text, run.text)


HIDE_MPI = "for f in /usr/lib/*/libmpi.so.40*; do mount --bind /dev/null \"$f\"; done"


@case
def a_node_without_mpi_is_named(box):
    box.make_cluster(2)
    box.ssh("node2", HIDE_MPI)
    run = bench(box, "all_reduce", "-e", "8", *over_nodes(box)).end(75)
    expect_in("rank 1 on node2", run.text, "where")
    expect_in("libmpi.so.40 of this node cannot be used", run.text, "what")
    expect_in("Debian, Ubuntu: libopenmpi3", run.text, "what to do")


def ranks_of(box):
    """Those that measure, by what they are called."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if words[0] == PROGRAM and b"bench" in words:
            found.append(int(pid))
    return found


def while_measuring(box, *words):
    """A bench that goes on for long, once its head is out."""
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
    wait_until(lambda: not ranks_of(box), "the ranks' end", 30)
    box.expect_nobody("nothing is left")


@case
def a_rank_that_stands_still_is_told_in_time(box):
    run = while_measuring(box, "--timeout", "2s")
    os.kill(ranks_of(box)[0], signal.SIGSTOP)
    run.end(124, patience=60)
    # On a busy machine the ranks may be about to begin only.
    said = " ".join(run.text.split())
    expect(re.search(r"(all_reduce of 1M|the start) has not ended within 2 s", said), f"the report: {said}")


@case
def it_says_what_can_be_had(box):
    run = box.run("collectives", "--probe")
    expect_in("mpi: ready", run.out.decode(), "MPI")
    if not os.path.exists("/dev/nvidiactl"):
        nccl = run.out.decode().split("\nnccl: ")[1]
        expect(re.match(r"this dlaunch was built without NCCL|NCCL [0-9.]+ is here, but no NVIDIA driver|libnccl\.so\.2: ", nccl), f"why not NCCL: {nccl}")
    run = box.run("collectives", "--backend", "mpi", "nothing", code=64)
    expect_in("started by dlaunch itself", run.text, "a user's try")


@case(long=True, alone=True, budget=1500)
def a_dlaunch_with_the_core_linked_in(box):
    """CMake option DLAUNCH_LINK_COLLECTIVES: one dynamic file, the same command."""
    folder = os.environ["DLAUNCH_BUILD"] + "-linked"
    configure = ["cmake", "-S", TOP, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DDLAUNCH_STATIC=OFF", "-DDLAUNCH_TESTS=OFF",
                 "-DDLAUNCH_LINK_COLLECTIVES=ON"]
    for command in (configure, ["cmake", "--build", folder, "-j2", "--target", "dlaunch"]):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        expect_equal(done.returncode, 0, f"{command}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    linked = os.path.join(folder, "bin/dlaunch")
    needs = subprocess.run(["ldd", linked], capture_output=True, text=True, check=True).stdout
    expect_in("libmpi.so", needs, "what it is linked with")
    run = bench(box, "all_reduce", "-b", "64", "-e", "64K", "-f", "32", "-N", "5", "-n", "2", "--json", program=linked).end(0)
    expect_result(run.out, "all_reduce", 2, (64, 2048, 65536))


@case
def the_core_is_not_linked_into_a_static_dlaunch(box):
    done = subprocess.run(["cmake", "-S", TOP, "-B", box.make_folder("build"), "-DDLAUNCH_LINK_COLLECTIVES=ON"], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False)
    expect(done.returncode != 0, "refused")
    expect_in("needs -DDLAUNCH_STATIC=OFF", done.stderr, "why")
