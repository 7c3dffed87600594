"""`dlaunch schema events|summary|plan`: the files of real runs conform to their schemas, and the schemas lack none of their members."""

import json
import os
import signal

import jsonschema

from case import case
from expectations import expect, expect_equal, expect_in
from file_schemas import check_all, mistakes, schemas
from run_helpers import INTERNAL, TERM, USAGE, start


@case
def a_run_that_succeeds(box):
    box.write("job.yaml", "name: all\nframework: tensorflow\nroles: {chief: 1, worker: 2}\nenv: {A: b}\nenv_pass: [HOME]\nmetrics: {loss: 'loss ([0-9.]+)'}\n"
              "checkpoint: {path: 'ckpt/*'}\ncommand: mkdir -p ckpt; echo loss 0.5; echo > ckpt/$DLAUNCH_RANK\n")
    box.run("run")
    check_all(box, ["node-ready", "plan-made", "rank-started", "rank-exited", "node-empty", "checkpoint"])
    expect_equal(box.json("summary.json")["metrics"][0]["name"], "loss", "metrics, which the schema has")


@case
def runs_that_fail(box):
    box.run("run", "-n", "2", "--", box.rank, "exit", "7", code=7)
    box.run("run", "--", "no-such-program", code=127)
    box.run("run", "--restarts", "1", "--", "sh", "-c", "kill -9 $$", code=137)
    box.run("run", "--set", "binding.cpus=core", "--set", "resources.cpus=100000", "--", "true", code=None)
    check_all(box, ["rank-not-started", "restart", "rank-exited"])


@case
def runs_that_are_stopped(box):
    run = start(box, "notice", TERM, "term", "tell", "ready", "pause")
    run.signal(signal.SIGTERM)
    box.expect_all("term", 2)
    run.signal(signal.SIGTERM)
    run.end(143)
    check_all(box, ["cancel"])


@case
def a_summary_that_the_front_has_written(box):
    run = start(box, "tell", "ready", "pause")
    os.kill(run.chain()[0], signal.SIGKILL)
    run.end(INTERNAL)
    check_all(box)


@case
def a_hang(box):
    box.run("run", "-n", "2", "--set", "watch.after=1s", "--set", "timeouts.hang=3s", "--set", "timeouts.stop=1s", "--", "sleep", "60",
            code=124)
    check_all(box, ["hang"])
    expect(box.json("summary.json")["cause"] == "hang", "cause")


@case
def the_plan_that_is_printed(box):
    box.write("job.yaml", "command: echo\nprocesses: 2\n")
    found = schemas(box)
    for words in ([], ["--offline"]):
        expect_equal(mistakes(found["plan"], json.loads(box.run("plan", "--json", *words).out)), [], f"dlaunch plan --json {words}")


@case
def what_is_wrong_is_noticed(box):
    """The schemas accept unknown members and events but no other mistakes. The strict checks above notice those, too."""
    box.run("run", "--", "true")
    found = schemas(box)
    summary = box.json("summary.json")
    plain = jsonschema.Draft202012Validator(found["summary"])
    expect(plain.is_valid({**summary, "new": 1}), "an unknown member")
    expect(mistakes(found["summary"], {**summary, "new": 1}), "an unknown member is not noticed")
    expect(not plain.is_valid({**summary, "cause": "bad luck"}), "an unknown cause")
    expect(not plain.is_valid({key: value for key, value in summary.items() if key != "ranks"}), "a missing member")
    events = jsonschema.Draft202012Validator(found["events"])
    line = {"time": "2026-11-20T21:01:42.123456Z", "event": "rank-started", "attempt": 0, "rank": 0, "pid": 1, "at": "2026-11-20T21:01:42.123456Z"}
    expect(events.is_valid(line) and not mistakes(found["events"], line), "a line")
    expect(events.is_valid({**line, "event": "of-a-later-version"}), "an unknown event")
    expect(mistakes(found["events"], {**line, "event": "of-a-later-version"}), "an unknown event is not noticed")
    expect(not events.is_valid({**line, "rank": -1}), "a negative rank")
    expect_in('no schema "run", only job, events, summary and plan', box.run("schema", "run", code=USAGE).text, "another name")
