"""What dlaunch says by itself of ranks that make no progress, and timeouts.hang."""

import json
import os
import signal

from case import case
from cases_stacks import end, line_of
from expectations import expect, expect_equal, expect_in
from file_schemas import check_all
from processes import wait_until

TIME_LIMIT = 124


def found(box):
    """The verdicts in events.jsonl."""
    with open(os.path.join(box.run_folder(), "events.jsonl"), encoding="utf-8") as file:
        events = [json.loads(line) for line in file if line.endswith("\n")]
    return [event["text"] for event in events if event["event"] == "stall"]


def watched(box, what, after, ranks=2, py_spy=None, more=()):
    options = ["--set", f"watch.after={after}", *more]
    environment = {"PATH": box.environment["PATH"] + (":" + py_spy if py_spy else "")}
    return box.stand(what, ranks=ranks, options=options, env=environment)


@case
def ranks_that_stop_printing_are_told_of_once_with_host_file_and_line(box):
    os.mkfifo(box.path("fifo"))
    run = watched(box, "odd", "2s", ranks=3, py_spy=box.py_spy())
    wait_until(lambda: found(box), "the verdict", 60, 0.2)
    end(box, run)
    expect_equal(len(found(box)), 1, "verdicts")
    summary = box.json("summary.json")
    stall = summary["stalls"][0]
    expect_equal([len(summary["stalls"]), stall["attempt"], stall["resumed"]], [1, 0, False], "in summary.json")
    host = summary["ranks"][0]["node"]
    text = run.err.decode()
    expect_in(f"stand.py:{line_of('time.sleep(1000)')}", text, "where the ranks stand")
    expect_in(host, text, "the host")
    expect_in(stall["headline"][:40], text, "the console")
    expect(1 <= 1 + len(stall["lines"]) <= 12, f"lines: {stall['lines']}")
    expect(2 <= stall["silence_s"] < 60, f"silence: {stall['silence_s']}")
    kept = os.listdir(os.path.join(box.run_folder(), "stacks"))
    expect_equal(len(kept), 2, f"snapshots: {kept}")
    first = json.loads(box.read(box.run_folder(), "stacks", sorted(kept)[0]))
    expect_equal([rank["rank"] for rank in first["ranks"]], [0, 1, 2], "ranks in it")
    check_all(box, ["stall"])


@case
def ranks_that_compute_without_a_word_are_said_to_work(box):
    run = watched(box, "compute", "2s", py_spy=box.py_spy())
    wait_until(lambda: found(box), "the verdict", 60, 0.2)
    end(box, run)
    expect_equal(box.json("summary.json")["stalls"][0]["verdict"], "working", "the verdict")


@case
def a_run_that_prints_is_never_suspected(box):
    run = watched(box, "print", "4s")
    run.end(0)
    expect_equal(found(box), [], "verdicts")
    expect_equal(box.json("summary.json")["stalls"], [], "in summary.json")


@case
def nothing_is_watched_with_none(box):
    run = watched(box, "sleep", "none", more=["--set", "timeouts.run=5s"])
    run.end(TIME_LIMIT)
    expect_equal(found(box), [], "verdicts")


@case
def a_hang_ends_the_job_with_124_and_says_where_it_stood(box):
    run = watched(box, "sleep", "none", more=["--set", "timeouts.hang=3s"])
    run.end(TIME_LIMIT)
    summary = box.json("summary.json")
    expect_equal([summary["cause"], summary["origin"]], ["hang", "dlaunch"], "the cause")
    expect_in(": no rank made progress for 3 s (timeouts.hang)", run.err.decode(), "the report")
    expect_equal(len(summary["stalls"]), 1, "where it stood")
    expect_in(summary["stalls"][0]["headline"][:40], run.err.decode().split("FAILED")[1].replace("\n          ", " "), "in the report")


@case
def a_hang_is_restarted_if_the_job_wants_it(box):
    options = ["--set", "timeouts.hang=3s", "--restarts", "1", "--set", "restart.backoff=0s..0s"]
    run = watched(box, "sleep", "none", more=[*options, "--set", "restart.on=[hang]"])
    box.expect_all("ready", 2)  # of the second attempt
    run.end(TIME_LIMIT)
    summary = box.json("summary.json")
    expect_equal([attempt["cause"] for attempt in summary["earlier"]], ["hang"], "earlier attempts")
    expect_equal([stall["attempt"] for stall in summary["stalls"]], [0, 1], "looked into in both")
    expect_in("no rank made progress for 3 s (timeouts.hang) after", run.err.decode(), "the restart")


@case
def a_hang_is_not_restarted_if_the_job_does_not_want_it(box):
    options = ["--set", "timeouts.hang=3s", "--restarts", "1", "--set", "restart.on=[failure]"]
    run = watched(box, "sleep", "none", more=options)
    run.end(TIME_LIMIT)
    expect_equal(box.json("summary.json")["earlier"], [], "earlier attempts")
    expect_in('restart.on does not include "hang"', run.err.decode(), "why")


@case
def a_rank_that_was_stopped_does_not_hold_up_the_end(box):
    run = watched(box, "sleep", "none", more=["--set", "timeouts.hang=3s"])
    os.kill(run.ranks()[0], signal.SIGSTOP)
    run.end(TIME_LIMIT)
    expect_equal(box.json("summary.json")["cause"], "hang", "the cause")
