"""dlaunch compare: what differs between two runs."""

import json
import re

from case import case
from expectations import expect, expect_equal, expect_in
from run_helpers import USAGE, listed


@case
def two_runs_of_the_same_job_differ_in_what_was_changed(box):
    box.write("job.yaml", "name: train\nprocesses: 2\nenv: {LR: '0.1'}\nmetrics: {loss: 'loss ([0-9.]+)'}\ncommand: echo loss $LR; exit $CODE\n"
              "env_pass: [CODE]\n")
    box.run("run", env={"CODE": "0"})
    box.run("run", "--env", "LR=0.2", env={"CODE": "7"}, code=7)
    second, first = listed(box)
    text = box.run("compare", first["run"], second["run"]).out.decode()
    for line in (r"^job$", r"^  env\.LR +0\.1 -> 0\.2$", r"^outcome$", r"^  cause +success -> exit-code$", r"^  exit_code +0 -> 7$",
                 r"^  loss last +0\.1 -> 0\.2 \(\+100 %\)$", r"^equal: job \d+, origin \d+, plan \d+, nodes \d+"):
        expect(re.search(line, text, re.M), f"no {line} in:\n{text}")
    expect("processes" not in text and text.count("0.1 -> 0.2") == 3 and first["run"] in text.splitlines()[0], f"equal things, and the order: {text}")
    seen = json.loads(box.run("compare", first["run"], "--json").out)  # with the newest
    expect_equal((seen["first"], seen["second"]), (first["run"], second["run"]), "runs")
    job = next(section for section in seen["sections"] if section["name"] == "job")
    expect_equal(job["differences"], [{"name": "env.LR", "first": "0.1", "second": "0.2"}], "differences of the job")
    expect(job["equal"] > 3, f"equal values: {job}")
    expect_equal([section["name"] for section in seen["sections"]], ["job", "origin", "plan", "nodes", "timings", "outcome", "metrics"], "sections")


@case
def a_run_and_its_rerun_are_equal(box):
    box.run("run", "-n", "2", "--", "echo", "x")
    box.run("rerun")
    runs = listed(box)
    seen = json.loads(box.run("compare", runs[1]["run"], runs[0]["run"], "--json").out)
    for section in seen["sections"]:
        if section["name"] != "timings":
            expect_equal(section["differences"], [], section["name"])


@case
def mistakes_are_said(box):
    expect_in("which runs?", box.run("compare", code=USAGE).text, "no run")
    box.run("run", "--", "true")
    run = listed(box)[0]["run"]
    expect_in(f"both are run {run}", box.run("compare", run, code=USAGE).text, "the same run twice")
    expect_in('no run "abc"', box.run("compare", run, "abc", code=USAGE).text, "no such run")
    box.run("run", "--", "true")
    box.write(f"runs/{run}/plan.json", "{")
    expect_in("plan.json of run", box.run("compare", run, code=USAGE).text, "a damaged file")
