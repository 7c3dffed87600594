"""dlaunch report: the HTML files of real runs, as a strict parser and a browser see them."""

import json
import os
import re
import signal
import sys
import time

from case import case
from expectations import expect, expect_equal, expect_in
from processes import wait_gone, wait_until
from run_helpers import NO_PERMISSION, USAGE, listed

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import big_run  # noqa: E402
from html_page import report_page as report  # noqa: E402

SECRET = "hf_S3cretValueThatNobodyMaySee"
HOSTILE = "</pre></script><script>alert(1)</script>\"'&<img src=x onerror=alert(2)>"


@case
def a_failure_in_the_words_of_the_summary(box):
    box.write("job.yaml", "name: train\nprocesses: 3\nmetrics: {loss: 'loss ([0-9.]+)', step: 'step ([0-9]+)'}\nenv: {LR: '0.1'}\nenv_secret: [HF_TOKEN]\n"
              "command: |\n  for i in 1 2 3 4 5 6; do echo step $i loss 0.$i; sleep 0.5; done\n  [ $RANK != 1 ] || { echo boom >&2; exit 7; }; sleep 60\n")
    run = box.run("run", code=7, env={"HF_TOKEN": SECRET})
    page = report(box)
    headline = next(line for line in run.text.splitlines() if "FAILED" in line)
    expect(headline.removeprefix("dlaunch: ").startswith(page.headline[:40]), f"the headline {page.headline!r} of {headline!r}")
    for part in ("ledger", "timeline", "incidents", "metrics", "nodes", "ranks", "plan", "environment", "files"):
        expect(page.texts.get(part), f"no {part}")
    expect_in("boom", page.texts["cause"], "last lines")
    expect_in("productive", page.texts["ledger"], "ledger")
    expect_in("rank 1, attempt 0: ", page.texts["timeline"], "bars")
    expect_in("steps per second", page.texts["metrics"], "throughput")
    expect_in("exited, code 7", page.texts["ranks"], "ranks")
    expect_in("attempt-0/rank-1.err", page.links, "links to logs")
    expect_in("Secret: HF_TOKEN", page.texts["environment"], "names of secrets")
    expect_in("LR", page.texts["environment"], "variables")
    expect(SECRET not in page.source, "the secret is in the report")
    samples = box.json("samples.json")
    expect_equal([one["name"] for one in samples["metrics"]], ["loss", "step"], "metrics")
    expect(any(value for value in samples["metrics"][0]["mean"]), f"values of loss: {samples}")
    expect(any(value for value in samples["nodes"][0]["memory"]), f"memory: {samples}")
    expect_equal(os.stat(box.path(box.run_folder(), "report.html")).st_mode & 0o777, 0o600, "its mode")


@case
def hostile_output_is_text(box):
    box.write("job.yaml", f"name: {json.dumps(HOSTILE)}\nprocesses: 2\nenv: {{X: {json.dumps(HOSTILE)}}}\ncommand: 'printf \"%s\\n\" \"$X\" >&2; exit 3'\n")
    box.run("run", code=3)
    page = report(box)
    expect_in(HOSTILE[:40], page.texts["cause"], "its last line, as text")
    expect_in(HOSTILE, page.texts["environment"], "its variable, as text")


@case
def attempts_and_a_trace(box):
    box.write("job.yaml", "processes: 2\nrestart: {max: 2, backoff: 1ms..2ms}\ncommand: '[ $DLAUNCH_ATTEMPT = 1 ] || [ $RANK = 0 ] || exit 5; sleep 0.3'\n")
    box.run("run")
    page = report(box, "--trace", "trace.json")
    expect_in("attempt-0/", page.texts["attempts"], "attempts")
    expect_in("attempt 1 follows after", page.texts["incidents"], "the restart")
    expect_in("done in", page.headline, "the headline")
    events = json.loads(box.read("trace.json"))["traceEvents"]
    for one in events:
        expect(one["ph"] in "XiM" and isinstance(one["pid"], int) and isinstance(one["tid"], int) and one["name"], f"an event {one}")
        expect(one["ph"] == "M" or one["ts"] >= 0, f"a time {one}")
        expect(one["ph"] != "X" or one["dur"] >= 0, f"a duration {one}")
    ranks = {one["args"]["name"] for one in events if one["name"] == "thread_name"} - {"phases", "attempts", "incidents"}
    expect_equal(ranks, {"rank 0", "rank 1"}, "tracks")
    expect_equal(sum(one["ph"] == "X" and one.get("args", {}).get("end") == "failed" for one in events), 1, "failures")


@case
def the_tables_of_the_preflight(box):
    box.write("job.yaml", "processes: 2\npreflight: {checks: [node]}\ncommand: echo\n")
    box.run("run")
    tables = box.read(box.run_folder(), "preflight.txt").decode()
    expect(re.search(rf"^host +limits +clock +verdict\n{os.uname().nodename} +ok .* ok$", tables, re.M), f"preflight.txt: {tables}")
    expect_in(tables.strip(), report(box).texts["preflight"], "the tables in the report")


@case
def a_hang_shows_where_ranks_stood(box):
    box.run("run", "-n", "2", "--set", "watch.after=1s", "--set", "timeouts.hang=3s", "--set", "timeouts.stop=1s", "--", "sleep", "60", code=None)
    page = report(box)
    expect_in("hang", page.texts["incidents"], "incidents")
    expect_in("ranks 0, 1", page.texts["stacks"], "stacks")


@case
def a_killed_launcher_loses_its_ranks(box):
    run = box.start("run", "-n", "2", "--", box.rank, "tell", "ready", "pause")
    box.expect_all("ready", 2)
    wait_until(lambda: box.read(box.run_folder(), "events.jsonl").count(b"rank-started") == 2, "events are recorded")
    launcher = (run.pid, run.chain()[0])
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in launcher:
            os.kill(pid, number)
    wait_gone([run.pid], "the front")
    box.reap()
    run.code = -signal.SIGKILL
    box.expect_nobody("after the launcher was killed", 5)
    page = report(box)
    expect_in("lost: its launcher was killed", page.headline, "the headline")
    expect_equal(page.texts["ranks"].count("was lost with the launcher"), 2, "ranks without a summary")
    expect_equal(page.source.count('<rect class="b lost"') > 0, True, "bars")


@case
def success_and_other_places(box):
    box.run("run", "--", "echo", "fine")
    run = listed(box)[0]["run"]
    box.make_folder("shared")
    page = report(box, run, "-o", "shared/page.html")
    expect_in(f"../runs/{run}/attempt-0/rank-0.out", page.links, "links from there")
    expect_in("done in", page.headline, "the headline")
    expect(not box.exists("runs", run, "report.html"), "only there")


@case
def mistakes_are_said(box):
    expect_in("no runs", box.run("report", code=USAGE).text, "no run")
    box.run("run", "--", "true")
    run = listed(box)[0]["run"]
    expect_in('no run "abc"', box.run("report", "abc", code=USAGE).text, "no such run")
    expect_in("cannot write no/page.html: No such file or directory", box.run("report", "-o", "no/page.html", code=NO_PERMISSION).text, "no such folder")
    text = box.run("report", "--open", env={"BROWSER": "no-such-browser", "PATH": "/nowhere"}, code=127).text
    expect_in("no browser can be started here", text, "no browser")
    expect_in(f"open the report yourself: runs/{run}/report.html", text, "where it is")
    text = box.run("report", "-o", "a.html", "--trace", "./a.html", code=USAGE).text
    expect_in("report and trace are the same file: a.html", text, "one name for both")
    expect(not box.exists("a.html"), "a.html is written")


@case
def a_damaged_or_foreign_file_costs_only_its_parts(box):
    box.run("run", "--", "true")
    run = listed(box)[0]["run"]
    box.write(f"runs/{run}/samples.json", "{")
    box.write("foreign", "of another user")
    os.symlink(box.path("foreign"), box.path("runs", run, "preflight.txt"))
    box.make_folder(f"runs/{run}/stacks")
    os.mkfifo(box.path("runs", run, "stacks", "a.json"))
    page = report(box)
    expect_in("samples.json is damaged: no plots", page.texts["cause"], "a damaged file")
    expect_in(f"cannot read runs/{run}/preflight.txt: it is a link", page.texts["cause"], "a link")
    expect_in("a.json: it is not a regular file", page.texts["cause"], "a pipe")
    expect("of another user" not in page.source, "the file behind the link is in the report")
    expect_in("done in", page.headline, "the headline")
    box.write(f"runs/{run}/plan.json", '{"notes": ' + "[" * 300_000 + "]" * 300_000 + "}")
    expect_in("plan.json is damaged: no plan", report(box).texts["cause"], "a deep file")


@case
def where_it_is_written(box):
    box.run("run", "--", "true")
    box.write("target.html", "old")
    os.chmod(box.path("target.html"), 0o644)
    os.symlink("target.html", box.path("link.html"))
    expect_in("done in", report(box, "-o", "link.html").headline, "the file behind the link")
    expect(os.path.islink(box.path("link.html")), "the link is replaced")
    expect_equal(os.stat(box.path("target.html")).st_mode & 0o777, 0o600, "its mode")
    out = box.run("report", "-o", "/dev/stdout").out.decode()
    expect(out.startswith("<!DOCTYPE html>") and out.endswith("</html>\n"), "the page is all of stdout")


@case
def values_that_look_secret_are_masked(box):
    box.write("job.yaml", f"processes: 2\nenv: {{API_KEY: {SECRET}, SHORT_TOKEN: s3cr, LR: '0.1'}}\n"
              "command: 'echo key $API_KEY >&2; exit 3'\n")
    box.run("run", code=3)
    page = report(box, "--trace", "trace.json")
    expect_in("key ***", page.texts["cause"], "its last line")
    expect_in("API_KEY***", page.texts["environment"], "variables")
    expect_in("LR0.1", page.texts["environment"], "other variables")
    expect_in("***", page.texts["plan"], "job.yaml")
    for secret in (SECRET, "s3cr"):
        expect(secret not in page.source, f"{secret} is in the report")
    expect(SECRET.encode() not in box.read("trace.json"), "it is in the trace")


@case
def a_browser_is_started_without_a_shell(box):
    box.write("browser", '#!/bin/sh\nprintf "%s" "$*" > opened\n')
    os.chmod(box.path("browser"), 0o755)
    box.run("run", "--", "true")
    run = listed(box)[0]["run"]
    box.run("report", "--open", env={"BROWSER": box.path("browser")})
    expect_equal(box.read("opened").decode(), f"runs/{run}/report.html", "what it opens")


@case(budget=180.0)
def a_day_of_512_ranks_is_small(box):
    box.make_folder("runs")
    run = big_run.make(box.path("runs"))
    begun = time.monotonic()
    page = report(box, run)
    expect(time.monotonic() - begun < 20, "it takes long")
    expect(len(page.source) < 5_000_000, f"{len(page.source)} bytes")
    expect_in("gpu063", page.texts["nodes"], "the last node")
    expect_in("511", page.texts["ranks"], "the last rank")
