"""dlaunch bench, as a user runs it. The cases recompute its figures."""

import json
import os
import re
import subprocess
import xml.etree.ElementTree

from case import case
from expectations import Skip, expect, expect_equal, expect_in

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "send_recv", "barrier")
IN_PARTS = ("all_gather", "reduce_scatter", "all_to_all")
PROGRAM = b"dlaunch-collectives-mpi"


def bench(box, *words, **more):
    """Starts `dlaunch bench` with temporary folders in the case's folder, and over MPI, even with a GPU (tests/gpu has the cases for NCCL)."""
    backend = [] if "--backend" in words else ["--backend", "mpi"]
    return box.start("bench", *words, *backend, env={"TMPDIR": box.make_folder("tmp")}, **more)


def over_nodes(box, per_node=1):
    return ["--set", f"hosts=[{', '.join(box.cluster.names)}]", "--set", f"connect.ssh={box.cluster.ssh}", "--nproc-per-node", str(per_node)]


def left_in_tmp(box):
    return os.listdir(box.path("tmp"))


def bus_factor(operation, ranks):
    """Bus bandwidth divided by algorithm bandwidth (nccl-tests, doc/PERFORMANCE.md)."""
    if operation == "all_reduce":
        return 2 * (ranks - 1) / ranks
    return (ranks - 1) / ranks if operation in IN_PARTS else 1


def near(one, other, what):
    expect(abs(one - other) <= 1e-9 * max(abs(one), abs(other), 1e-9), f"{what}: {one} and {other}")


def expect_place(place, operation, ranks, size, checked=True):
    """Checks the figures of one size, out of place or in place. The bandwidths must match the time."""
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
        sizes = () if operation == "barrier" else ("-b", "64", "-e", "64K", "-f", "32")
        run = bench(box, operation, *sizes, "-N", "5", "-w", "1", "--json", *where).end(0)
        expect_result(run.out, operation, ranks, (64, 2048, 65536))
        expect_equal(run.text, "", f"stderr of {operation}")
    expect_equal(left_in_tmp(box), [], "folders of runs")


@case
def one_rank_measures_every_operation(box):
    every_operation(box, 1, ["-n", "1"])


@case
def one_rank_sends_to_itself_and_the_output_says_that_it_is_a_copy(box):
    run = bench(box, "send_recv", "-n", "1", "-b", "64", "-e", "1M", "-f", "128", "-N", "2").end(0)
    expect_in("# send_recv over mpi: Open MPI", run.out.decode(), "the header")
    expect_in("# one rank: a copy in memory, without a network", run.out.decode(), "what it is")


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
def a_plot_that_cannot_be_written_loses_no_result(box):
    run = bench(box, "all_reduce", "-b", "64", "-e", "64", "-N", "2", "-n", "2", "--json", "--plot", "/dev/full").end(70)
    expect_equal(len(json.loads(run.out)["rows"]), 1, "rows")
    expect_in("write /dev/full", run.text, "what is wrong")


@case
def pairs_name_the_slow_node(box):
    """node4 sends and receives slowly, so all of its links are slow."""
    cluster = box.make_cluster(4)
    cluster.nodes[3].slow_link("40mbit")
    run = bench(box, "--pairs", "-b", "512K", "-N", "2", "-w", "1", "--json", *over_nodes(box)).end(0)
    result = json.loads(run.out)
    pairs = {(pair["a"], pair["b"]): pair for pair in result["pairs"]}
    expect_equal(sorted(pairs), [(a, b) for a in range(4) for b in range(a + 1, 4)], "every pair once")
    # Each link is measured only once, so on a busy machine, a good link may look slow, too, but not slower than these.
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


@case
def the_probe_reports_each_back_end(box):
    run = box.run("collectives", "--probe")
    expect_in("mpi: ready", run.out.decode(), "MPI")
    if not os.path.exists("/dev/nvidiactl"):
        nccl = run.out.decode().split("\nnccl: ")[1]
        expect(re.match(r"this dlaunch was built without NCCL|NCCL [0-9.]+ is installed, but there is no NVIDIA driver|libnccl\.so\.2: ", nccl), f"why not NCCL: {nccl}")
    run = box.run("collectives", "--backend", "mpi", "nothing", code=64)
    expect_in("dlaunch starts this program itself", run.text, "a user's try")


@case
def nccl_is_built_in_where_possible(box):
    """A build without NCCL succeeds and skips the tests that need NCCL, so this case checks that NCCL is not left out by mistake."""
    look = ["cmake", "-S", os.path.join(TOP, "tests/collectives/nccl_here"), "-B", box.make_folder("nccl_here")]
    done = subprocess.run(look, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=True)
    found = re.search(r"NCCL (TRUE|FALSE): .*", done.stdout)
    expect(found, f"an answer: {done.stdout}")
    line = next(line for line in box.run("collectives", "--probe").out.decode().splitlines() if line.startswith("nccl: "))
    if "built without NCCL" not in line:
        return
    expect(found[1] == "FALSE", f"{line}, and yet there is what it takes ({found[0]}): configure its build folder anew")
    raise Skip(f"built without NCCL, as nothing of it is here: {found[0]}")


@case(long=True, alone=True, budget=1500)
def a_dlaunch_with_the_core_linked_in(box):
    """The CMake option DLAUNCH_LINK_COLLECTIVES makes one dynamic file with the same command."""
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
