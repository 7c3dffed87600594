"""Run folders that earlier versions have written (tests/data/recorded/VERSION) can still be read: docs/reference/compatibility.md.

In the files, FOLDER stands for the folder of the job. When a version is released, the folder of a run of that version is added.
"""

import json
import os
import shutil

from case import case
from expectations import expect, expect_equal, expect_in
from run_helpers import USAGE, listed

RECORDED = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "recorded")
RUN = "20261129-055839-sbr"  # a job with two ranks, one of which failed in the first attempt


def restore(box, version):
    """Restores the folder of the job as it was after that run."""
    shutil.copytree(os.path.join(RECORDED, version, RUN), box.path("runs", RUN))
    shutil.copy(os.path.join(RECORDED, version, "train.py"), box.folder)
    for folder, _, names in os.walk(box.path("runs")):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                content = file.read()
            with open(os.path.join(folder, name), "wb") as file:
                file.write(content.replace(b"FOLDER", box.folder.encode()))


def of_each_version(check):
    """A case that tries `check` with each recorded folder."""
    def tried(box):
        versions = sorted(os.listdir(RECORDED))
        expect(versions, "recorded versions")
        for version in versions:
            shutil.rmtree(box.path("runs"), ignore_errors=True)
            restore(box, version)
            check(box)
    tried.__name__, tried.__module__ = check.__name__, check.__module__
    return case(tried)


@of_each_version
def it_is_listed_with_its_outcome(box):
    run, = listed(box)
    expect_equal([run[key] for key in ("run", "name", "state", "exit_code")], [RUN, "recorded", "done", 0], "the run")
    expect_in("has already ended: done in", box.run("status", RUN, code=USAGE).text, "its end")


@of_each_version
def its_output_is_read(box):
    expect_equal(box.run("logs", RUN, "--rank", "1").out.decode().count("step 3 loss 0.333"), 1, "the last attempt's output")
    expect_in("no data", box.run("logs", RUN, "--attempt", "0").text, "the error of the first attempt")


@of_each_version
def its_report_and_trace_are_made(box):
    box.run("report", RUN, "--output", box.path("page.html"), "--trace", box.path("trace.json"))
    expect_in("rank 1 exited with code 1", box.read("page.html").decode(), "the first attempt")
    expect(json.loads(box.read("trace.json"))["traceEvents"], "events of the trace")


@of_each_version
def it_is_run_again_and_compared(box):
    box.run("rerun", RUN)
    again = next(run["run"] for run in listed(box) if run["run"] != RUN)
    seen = json.loads(box.run("compare", RUN, again, "--json").out)
    job = next(section for section in seen["sections"] if section["name"] == "job")
    expect_equal(job["differences"], [], "differences of the job")
    expect(job["equal"] > 3, f"what was compared: {job}")
