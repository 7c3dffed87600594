"""What users and programs are told at the end."""

import json
import os
import re

from case import case
from expectations import expect, expect_equal, expect_in
from screen import Screen

HOST = os.uname().nodename


def own_lines(run):
    return [line for line in run.text.splitlines() if line.startswith("dlaunch:")]


@case
def success_is_one_line(box):
    run = box.run("run", "-n", "4", "--", "true")
    expect(re.fullmatch(r"dlaunch: done in [0-9].*, 4 ranks ok, logs in runs/[0-9a-z-]+", own_lines(run)[-1]),
           f"last line: {own_lines(run)}")


@case(alone=True)  # beside other runs, dlaunch may print a note about cores
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
    """If daemons had to be killed after a success, dlaunch says so, and the exit code stays 0."""
    box.run("run", "--", box.rank, "daemon", "exit", "0")
    expect_equal(box.json("summary.json")["exit_code"], 0, "exit_code")


LOST = "raise RuntimeError('[./gloo/transport/tcp/pair.cc:598] Connection closed by peer [127.0.0.1]:2475')\n"


@case
def the_error_of_another_rank_is_the_cause_where_the_first_lost_its_peer(box):
    """Rank 1 has printed its error but not ended yet; rank 0 notices, and ends first."""
    box.write("own.py", "import traceback\ntry:\n    raise ValueError('bad batch')\nexcept ValueError:\n    traceback.print_exc()\n")
    box.write("lost.py", LOST)
    run = box.start("run", "-n", "2", "--", "sh", "-c",
                    'test $RANK = 1 && /usr/bin/python3 own.py && exec "$0" tell ready pause; "$0" gate exit 0; exec /usr/bin/python3 lost.py',
                    box.rank)
    box.expect_events(["ready 1"])
    box.open_gate()
    run.end(1)
    expect(re.search(r"FAILED after .*: rank 1 on .* failed, first of 2\n\n  ValueError: bad batch\n", run.text), run.text)
    expect_in("rank 0 exited with 1: another rank was gone", run.text, "the one that lost it")
    expect_equal(box.json("summary.json")["lost_peer"], [0], "lost_peer")


@case
def a_rank_that_leaves_with_0_before_the_others_is_the_cause(box):
    box.write("lost.py", LOST)
    # A pid is there until its agent has seen its end.
    run = box.run("run", "-n", "2", "--", "sh", "-c",
                  "test $RANK = 1 && { echo $$ >new; mv new pid; exit 0; }; until test -e pid; do sleep 0.01; done; "
                  "while kill -0 $(cat pid) 2>/dev/null; do sleep 0.01; done; exec /usr/bin/python3 lost.py", code=1)
    expect(re.search(r"FAILED after .*: rank 1 on \S+ exited with code 0 while others were still running ", run.words), run.text)
    expect_in("rank 0 exited with code 1, because another rank closed its connection", run.words, "why")
    expect_equal(box.json("summary.json")["left_early"], [1], "left_early")
    expect_in("1, rank 1", box.run("runs").out.decode(), "the table of runs")


@case
def ranks_that_fail_alike_are_one_statement(box):
    run = box.start("run", "-n", "3", "--", "sh", "-c", f"trap '' TERM; {box.rank} tell ready gate; exec /usr/bin/python3 trian.py")
    box.expect_all("ready", 3)  # the first to fail stops the others, which ignore that by then
    box.open_gate()
    run.end(2)
    expect(re.search(r"FAILED after .*: all 3 ranks (exited with code 2|failed \(code 2\))\n\n  \S*python3\S*: can't open file", run.text), run.text)
    expect("cannot tell" not in run.text and "others" not in run.text, run.text)


@case
def a_traceback_stands_on_the_screen_once(box):
    box.write("train.py", "raise RuntimeError('no data')\n")
    shown = box.run("run", "-n", "2", "--", "sh", "-c", "test $RANK = 0 && exec sleep 1000; exec /usr/bin/python3 train.py", code=1)
    expect_equal(shown.text.count("Traceback"), 1, "tracebacks: " + shown.text)
    hidden = box.run("run", "--set", "logs.console=none", "--", "/usr/bin/python3", "train.py", code=1)
    expect_equal(hidden.text.count("Traceback"), 1, "tracebacks: " + hidden.text)


@case
def sigkill_from_outside_is_said_with_the_last_lines(box):
    run = box.run("run", "-n", "2", "--set", "logs.console=none", "--", "sh", "-c",
                  "test $RANK = 0 && exec sleep 1000; echo step 3; kill -9 $$", code=137)
    expect_in("was killed by SIGKILL", run.words, "headline")
    expect(re.search("the signal was (not sent|sent neither) by dlaunch", run.words), f"why: {run.text}")
    expect_in("last lines of rank 1 (stdout)\n    | step 3\n", run.text, "its last lines")


@case
def a_loss_that_is_no_number_is_noted(box):
    run = box.run("run", "-n", "2", "--", "echo", "step 3 loss: nan")
    expect_in('dlaunch: note: rank 0 printed "loss: nan"', run.text, "note")
    expect("note" not in box.run("run", "-n", "2", "--", "echo", "step 3 loss: 0.25").text, "a note without a reason")
    run = box.run("run", "--set", "metrics.loss=loss: (\\S+)", "--", "printf", "loss: 0.25\\nloss: nan\\n")
    expect_in("1 value of the metric loss is not a number", run.words, "note of a metric")


@case
def a_debugger_without_input_names_the_key(box):
    run = box.run("run", "-n", "2", "--", "/usr/bin/python3", "-c", "breakpoint()", code=1)
    expect_in("dlaunch run --pty ", run.text, "advice")


@case
def github_gets_an_annotation_and_a_step_summary(box):
    box.write("train.py", "raise RuntimeError('50% done')\n")
    box.write("steps.md", "before\n")
    github = {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": os.path.realpath(box.folder), "GITHUB_STEP_SUMMARY": "steps.md"}
    command = ("run", "--", "/usr/bin/python3", os.path.realpath(os.path.join(box.folder, "train.py")))
    run = box.run(*command, env=github, code=1)
    annotations = [line for line in run.text.splitlines() if line.startswith("::")]
    expect_equal(len(annotations), 1, run.text)
    expect(annotations[0].startswith("::error file=train.py,line=1,title=dlaunch%3A the run failed::RuntimeError: 50%25 done%0AFAILED after"),
           annotations[0])
    summary = box.read(box.folder, "steps.md").decode()
    expect(summary.startswith("before\n### dlaunch"), summary)
    expect_in("    dlaunch: FAILED", summary, "step summary")
    plain = box.run(*command, code=1).text
    without_times = [re.sub(r"[0-9.]+ m?s|runs/\S+", "", text) for text in (run.text.replace(annotations[0] + "\n", ""), plain)]
    expect_equal(without_times[0], without_times[1], "nothing else changes")


@case
def github_gets_an_annotation_of_each_error_of_a_job_file(box):
    box.write("bad.yaml", "nmae: x\ncommand: 'true'\nnodes: many\n")
    github = {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": os.path.realpath(box.folder)}
    lines = box.run("run", "bad.yaml", env=github, code=65).text.splitlines()
    annotations = [line for line in lines if line.startswith("::")]
    expect_equal(len(annotations), len([line for line in lines if line.startswith("bad.yaml:")]), "one for each error")
    expect(annotations[0].startswith("::error file=bad.yaml,line=1,col=1::"), annotations)
    expect("::error" not in box.run("run", "bad.yaml", code=65).text, "elsewhere there is none")


@case
def the_error_of_a_program_that_is_not_python_is_never_cut(box):
    path = "/a/" + "very/long/path/" * 15 + "shard-00003.bin"
    run = box.run("run", "--", "sh", "-c", 'echo "error: cannot open $0" >&2; exit 3', path, code=3)
    expect_in(f"    | error: cannot open\n    | {path}\n", run.text, "last lines")


@case
def on_a_terminal_failed_is_red_and_lines_are_as_wide(box):
    words = "a reason of many words that is longer than eighty columns and shorter than one hundred and fifty"
    box.write("train.py", f"raise RuntimeError('{words}')\n")
    run = box.start_on_terminal("run", "-n", "2", "--", "sh", "-c", '"$0" tell ready gate exit 0; exec /usr/bin/python3 train.py', box.rank)
    screen = Screen(run, columns=150, rows=40)
    box.expect_all("ready", 2)
    box.open_gate()
    screen.wait_for(lambda lines: f"  RuntimeError: {words}" in lines, "the cause on one line")
    run.end(1)
    expect_in(b"dlaunch: \x1b[1;31mFAILED\x1b[0m after", run.screen, "colour")
