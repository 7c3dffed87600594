"""What a person, and a program, is told at the end."""

import json
import os
import re

from case import case
from expectations import expect, expect_equal, expect_in

HOST = os.uname().nodename


def own_lines(run):
    return [line for line in run.text.splitlines() if line.startswith("dlaunch:")]


@case
def success_is_one_line(box):
    run = box.run("run", "-n", "4", "--", "true")
    expect(re.fullmatch(r"dlaunch: done in [0-9].*, 4 ranks ok, logs in runs/[0-9a-z-]+", own_lines(run)[-1]),
           f"last line: {own_lines(run)}")


@case(alone=True)  # beside others there may be a note about cores
def one_rank_says_only_the_last_line(box):
    run = box.run("run", "--", "true")
    expect_equal(len(run.text.splitlines()), 1, "lines on stderr")
    expect_in("dlaunch: done in", run.text, "summary")
    expect_equal(run.out, b"", "stdout")


@case
def the_first_line_names_job_ranks_and_run(box):
    box.write("job.yaml", "name: sample\ncommand: [true]\nprocesses: 2\n")
    run = box.run("run")
    first = own_lines(run)[0]
    for part in ("sample", "2 ranks", "pytorch", os.path.basename(box.run_folder())):
        expect_in(part, first, "first line")


@case
def failure_names_rank_host_code_and_last_lines(box):
    run = box.run("run", "-n", "4", "--", "sh", "-c", "if [ $RANK = 3 ]; then echo the reason >&2; exit 7; fi; exec sleep 1000", code=7)
    expect(re.search(rf"dlaunch: FAILED after [0-9.]+ .*: rank 3 on {re.escape(HOST)} exited with code 7, first of 4", run.text),
           "first line: " + run.text)
    expect_in("last lines of rank 3", run.text, "heading")
    expect_in("| the reason", run.text, "last line of its stderr")
    expect(re.search(r"others\s+.*0-2.*stopped by dlaunch", run.text), "the others: " + run.text)
    expect(re.search(r"logs\s+.*runs/", run.text), "where the logs are: " + run.text)
    expect(len(run.text[run.text.index("FAILED"):].splitlines()) <= 24, "the summary does not fit one screen")


@case
def a_python_exception_is_shown_by_itself(box):
    box.write("train.py", "def forward():\n    raise RuntimeError('tensor sizes do not match')\n\nforward()\n")
    run = box.run("run", "-n", "2", "--", "sh", "-c", "test $RANK = 0 && exec sleep 1000; exec /usr/bin/python3 train.py", code=1)
    summary = run.text[run.text.index("FAILED"):]
    expect(re.search(r"^\s+RuntimeError: tensor sizes do not match$", summary, re.M), summary)
    expect(re.search(r"train\.py:2 in forward", summary), "file and line: " + summary)


@case
def the_exception_comes_from_the_error_file_of_pytorch(box):
    # What torch.distributed.elastic's @record writes to TORCHELASTIC_ERROR_FILE.
    error = {"message": {"message": "ValueError: bad batch", "extraInfo": {
        "py_callstack": 'Traceback (most recent call last):\n  File "train.py", line 12, in main\n    raise ValueError("bad batch")\n'
                        'ValueError: bad batch\n', "timestamp": "1"}}}
    box.write("error.json", json.dumps(error))
    run = box.run("run", "-n", "2", "--", "sh", "-c",
                  "test $RANK = 0 && exec sleep 1000; cp error.json $TORCHELASTIC_ERROR_FILE; exit 4", code=4)
    expect_in("ValueError: bad batch", run.text, "exception")
    expect_in("train.py:12 in main", run.text, "place")


@case
def verbose_tells_what_happens_and_when(box):
    run = box.run("run", "-vv", "-n", "2", "--", "true")
    for wanted in ("is ready after", "plan made after", "rank 1 is pid", "rank 0 exited with code 0"):
        expect_in(wanted, run.text, "stderr")


@case
def a_signal_is_named(box):
    run = box.run("run", "-n", "2", "--", box.rank, "only", "1", "die", "6", code=134)
    expect_in("SIGABRT", run.text, "summary")


@case
def control_characters_of_a_rank_do_not_reach_the_summary(box):
    run = box.run("run", "--set", "logs.console=none", "--", "sh", "-c", "printf 'red \\033[31m\\033]0;title\\007 text\\r\\n' >&2; exit 1", code=1)
    expect(b"\x1b" not in run.err and b"\x07" not in run.err, f"control characters in the summary: {run.err!r}")
    expect_in("text", run.text, "the line itself")


@case
def the_summary_is_the_last_that_is_said(box):
    run = box.run("run", "-n", "2", "--", "sh", "-c", "seq 1000 >&2; echo last >&2; test $RANK = 0 || exit 3; exec sleep 1000", code=3)
    after = run.text[run.text.index("FAILED"):]
    expect(f"{HOST}:" not in after.split("logs", 1)[0].replace(f"rank 1 on {HOST}", ""), "rank output inside the summary: " + after)


@case
def run_folder_holds_job_plan_events_and_summary(box):
    text = "# a comment\nname: sample\ncommand: [sh, -c, exit 5]\nprocesses: 2\n"
    box.write("job.yaml", text)
    box.run("run", code=5)
    expect_in("# job.yaml as it was given:\n" + "".join(f"# {line}\n" for line in text.splitlines()),
              box.read(box.run_folder(), "job.yaml").decode(), "job.yaml")
    plan, summary = box.json("plan.json"), box.json("summary.json")
    expect(isinstance(plan, dict) and plan, "plan.json")
    expect_equal(summary["exit_code"], 5, "exit_code")
    expect_equal(summary["origin"], "rank", "origin")
    events = [json.loads(line) for line in box.read(box.run_folder(), "events.jsonl").splitlines()]
    expect(len(events) >= 5, f"only {len(events)} events")


@case
def success_in_the_run_folder(box):
    box.run("run", "-n", "3", "--", "true")
    summary = box.json("summary.json")
    expect_equal(summary["exit_code"], 0, "exit_code")
    box.json("plan.json")
    expect(box.read(box.run_folder(), "job.yaml"), "no job.yaml for a job given on the command line")


@case
def the_recorded_job_can_be_run_again(box):
    box.run("run", "-n", "2", "--", "sh", "-c", "echo $WORLD_SIZE \"$0\"", "a 'b'\n\"c\"")
    job = os.path.join(box.run_folder(), "job.yaml")
    again = box.run("run", job, "--set", "logs.dir=again")
    expect_equal(box.rank_output(1, runs="again"), box.rank_output(1), "output of the second run")
    expect_equal(again.code, 0, "exit code")


@case
def interrupted_is_said(box):
    run = box.start("run", "-n", "2", "--", box.rank, "tell", "ready", "pause")
    box.expect_all("ready", 2)
    run.signal(2)
    run.end(130)
    expect(re.search(r"Ctrl-C|SIGINT|interrupt", run.text), "summary: " + run.text)
    summary = box.json("summary.json")
    expect_equal(summary["exit_code"], 130, "exit_code")
    expect_equal(summary["origin"], "dlaunch", "origin")


@case
def an_exec_error_is_recorded(box):
    box.run("run", "--", "no-such-program", code=127)
    summary = box.json("summary.json")
    expect_equal(summary["exit_code"], 127, "exit_code")


@case
def leftovers_are_said(box):
    """A job whose daemons had to be killed after success: not silently."""
    box.run("run", "--", box.rank, "daemon", "exit", "0")
    expect_equal(box.json("summary.json")["exit_code"], 0, "exit_code")
