"""Metrics of a job, and `dlaunch scale`: runs of it at several sizes."""

import json
import signal
import xml.etree.ElementTree

from case import case
from expectations import expect, expect_equal, expect_in

PATTERN = "metrics: {throughput: 'images/sec: ([0-9.]+)'}\n"


@case
def metrics_are_in_the_summary(box):
    box.write("job.yaml", "command: |\n  for i in 9 1 2 3; do echo \"images/sec: $((i + RANK))0.5\"; done\n  echo \"loss $RANK\" >&2\n"
                          "processes: 2\nmetrics: {throughput: 'images/sec: ([0-9.]+)', loss: '^loss ([0-9.]+)$', never: 'x ([0-9])'}\n")
    run = box.run("run")
    expect_in("dlaunch: throughput 30.5 (rank 0; 30.5 to 40.5 on 2 ranks)\n", run.text, "throughput")
    expect_in("dlaunch: loss 0 (rank 0; 0 to 1 on 2 ranks)\n", run.text, "loss")
    expect_in("dlaunch: never: no line of the output matches its pattern\n", run.text, "a pattern that nothing matches")
    metrics = {one["name"]: one for one in box.json("summary.json")["metrics"]}
    expect_equal(metrics["throughput"]["ranks"],
                 [{"rank": 0, "stream": "out", "matches": 4, "last": 30.5, "steady": 25.5},
                  {"rank": 1, "stream": "out", "matches": 4, "last": 40.5, "steady": 35.5}], "throughput")
    expect_equal([one["stream"] for one in metrics["loss"]["ranks"]], ["err", "err"], "where the losses were")
    expect_equal(metrics["never"]["ranks"], [], "a pattern that nothing matches")


@case
def metrics_of_a_run_that_failed(box):
    box.write("job.yaml", "command: \"echo images/sec: 5; exit 3\"\n" + PATTERN)
    run = box.run("run", code=3)
    expect("throughput" not in run.text, f"a metric on the screen of a failure: {run.text}")
    expect_equal(box.json("summary.json")["metrics"][0]["ranks"][0]["last"], 5, "the metric")


@case
def a_pattern_without_a_group_is_an_error(box):
    box.write("job.yaml", "command: x\nmetrics:\n  loss: 'loss'\n")
    run = box.run("run", code=65)
    expect_in("job.yaml:3:3: error: the pattern of metrics.loss has no group: put the number into ( )", run.text, "the error")


@case(budget=120)
def scale_by_ranks(box):
    # A single rank reaches 100; with more ranks, each of them is slower by a known amount.
    box.write("job.yaml", "name: scaling\ncommand: |\n  echo \"images/sec: $((105 - 5 * WORLD_SIZE))\"\n" + PATTERN)
    run = box.run("scale", "--by", "ranks", "--counts", "1,2,4")
    rows = [line.split() for line in run.out.decode().splitlines()[1:4]]
    expect_equal(rows, [["1", "1", "100", "-", "1.00", "100", "%"], ["1", "2", "190", "-", "1.90", "95", "%"],
                        ["1", "4", "340", "-", "3.40", "85", "%"]], "rows")
    expect_equal(len(box.runs()), 3, "runs")
    expect(b"images/sec" not in run.out, "output of ranks on the console")
    for words in ("1 rank: 100 throughput, run ", "4 ranks: 340 throughput"):
        expect_in(words, run.text, "progress")
    table = json.loads(box.run("scale", "--by", "ranks", "-n", "3", "--repeats", "2", "--json", "-q").out)
    expect_equal([(row["count"], row["ranks"], row["throughput"], row["deviation"], len(row["runs"])) for row in table["rows"]],
                 [(1, 1, 100, 0, 2), (2, 2, 190, 0, 2), (3, 3, 270, 0, 2)], "rows of the JSON")
    expect_equal((table["name"], table["by"], table["metric"], table["over"], table["scaling"]),
                 ("scaling", "ranks", "throughput", "sum", "weak"), "what was measured")
    expect(all(run["run"] for row in table["rows"] for run in row["runs"]), "runs without a name")


@case
def a_plot_of_it(box):
    box.write("job.yaml", "command: 'echo images/sec: 50'\n" + PATTERN)
    box.run("scale", "--by", "ranks", "--counts", "1,2", "--plot", "scale.svg", "-q")
    root = xml.etree.ElementTree.parse(box.path("scale.svg")).getroot()
    expect_equal(len(root.findall("{http://www.w3.org/2000/svg}circle")), 6, "points: measured, linear, efficiency at two sizes")
    refused = box.run("scale", "--by", "ranks", "--counts", "1", "--plot", "missing/x.svg", code=64)
    expect_in("--plot missing/x.svg: No such file", refused.text, "a folder that is not there")
    full = box.run("scale", "--by", "ranks", "--counts", "1", "--json", "-q", "--plot", "/dev/full", code=70)
    expect_equal(json.loads(full.out)["rows"][0]["throughput"], 50, "the table is printed all the same")
    expect_in("write /dev/full", full.text, "what is wrong")


@case
def scale_of_what_rank_0_prints(box):
    box.write("job.yaml", "command: '[ $RANK = 0 ] && echo images/sec: 50 || true'\n" + PATTERN)
    for over, wanted in (("rank0", [50, 50]), ("sum", [50, 50]), ("each", [50, 100])):
        table = json.loads(box.run("scale", "--by", "ranks", "--counts", "2,1", "--over", over, "--json", "-q").out)
        expect_equal([row["throughput"] for row in table["rows"]], wanted, f"--over {over}")


@case
def scale_from_the_time(box):
    table = json.loads(box.run("scale", "--by", "ranks", "--counts", "1,2", "--json", "-q", "--", box.rank, "sleep", "50").out)
    expect_equal((table["metric"], table["over"]), (None, None), "what was measured")
    expect_equal([row["ranks"] for row in table["rows"] if row["throughput"] > 0], [1, 2], "rows with a throughput")
    strong = json.loads(box.run("scale", "--by", "ranks", "--counts", "1,2", "--strong", "--json", "-q", "--", box.rank, "sleep", "50").out)
    expect_equal([row["ranks"] for row in strong["rows"] if row["throughput"] > 0], [1, 2], "rows with a throughput, strong")
    expect_equal(strong["scaling"], "strong", "scaling")


@case
def a_size_that_fails_is_a_row(box):
    box.write("job.yaml", "command: \"echo images/sec: 10; [ $WORLD_SIZE != 2 ] || exit 7\"\n" + PATTERN)
    run = box.run("scale", "--by", "ranks", "--counts", "1,2,4", code=7)
    text = run.out.decode()
    expect_equal([line.split()[:3] for line in text.splitlines()[1:4]], [["1", "1", "10"], ["-", "2", "failed"], ["1", "4", "40"]], "rows")
    expect_in("2 ranks: failed after", text, "why")
    expect_in("exited with code 7", text, "why")
    # A job that prints no metric fails in every row, although it exits with 0.
    box.write("job.yaml", "command: echo nothing\n" + PATTERN)
    silent = box.run("scale", "--by", "ranks", "--counts", "1", code=65)
    expect_in("no line of the output matches metrics.throughput", " ".join(silent.out.decode().split()), "a pattern that nothing matches")


@case
def scale_says_what_is_wrong(box):
    box.write("job.yaml", "command: echo 1\nprocesses: 4\nmetrics: {a: 'a ([0-9])', b: 'b ([0-9])'}\n")
    for words, code, wanted in ((["--by", "nodes"], 64, "sets the total number of processes (\"processes: 4\")"),
                                (["--by", "racks"], 64, "expected nodes or ranks"),
                                (["--metric", "c"], 64, "the job has no metrics.c"),
                                ([], 64, "choose one with --metric NAME"),
                                (["--metric", "a", "--counts", "1,,2"], 64, "expected a list of numbers such as 1,2,4"),
                                (["--metric", "a", "--counts", "0"], 64, "expected a list of numbers"),
                                (["--metric", "a", "--over", "half"], 64, "expected sum, rank0 or each"),
                                (["--metric", "a", "--repeats", "0"], 64, "--repeats: expected 1 or more")):
        expect_in(wanted, box.run("scale", *words, code=code).text, f"{words}")


@case
def ctrl_c_stops_all_of_it(box):
    run = box.start("scale", "--by", "ranks", "--counts", "1,2", "--", box.rank, "tell", "here", "pause")
    box.next_event()
    run.signal(signal.SIGINT)  # from another process, to the first process only
    run.end(130)
    expect_equal(len(box.runs()), 1, "runs")
    expect_in("Ctrl-C", run.text, "what was said")


@case
def nohup_is_honoured_at_every_size(box):
    run = box.start("scale", "--by", "ranks", "--counts", "1,2", "--", box.rank, "tell", "here", "gate", "tell", "went-on",
                    before=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    box.expect_all("here", 1)
    run.signal(signal.SIGHUP)
    box.open_gate()
    run.end(0)
    expect_equal(len(box.runs()), 2, "runs")


@case
def ctrl_c_on_the_terminal_stops_all_of_it(box):
    run = box.start_on_terminal("scale", "--by", "ranks", "--counts", "1,2", "--", box.rank, "notice", "15", "term", "tell", "here", "pause")
    box.expect_all("here", 1)
    run.type(b"\x03")
    box.expect_all("term", 1)  # a second signal would kill the ranks
    run.type(b"\x03")
    run.end(130)
    expect_equal(len(box.runs()), 1, "runs")


@case
def its_end_by_force_is_the_runs_end(box):
    run = box.start("scale", "--by", "ranks", "--counts", "1,2", "--", box.rank, "tell", "here", "pause")
    box.next_event()
    run.signal(signal.SIGKILL)
    run.end(-signal.SIGKILL, left=1000)
    box.expect_nobody("after the end of dlaunch scale")
