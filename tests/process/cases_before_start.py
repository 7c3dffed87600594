"""Missing Python scripts and modules are reported before anything starts, on one machine too."""

import json
import os

from case import case
from expectations import expect, expect_equal, expect_in

PYTHON = "/usr/bin/python3"
CANNOT_EXECUTE, NOT_FOUND = 126, 127


def nothing_started(box, run):
    expect("FAILED" not in run.text, run.text)
    for one in box.runs():
        expect(not os.listdir(box.path("runs", one, "attempt-0")), "something was started")


@case
def a_script_that_is_not_there(box):
    box.write("train.py", "")
    run = box.run("run", "-n", "2", "--", PYTHON, "-u", "trian.py", code=CANNOT_EXECUTE)
    expect_in(f'dlaunch: cannot read "{box.path("trian.py")}": No such file or directory, did you mean "train.py"?', run.text, "what")
    nothing_started(box, run)


@case
def a_module_that_is_not_there(box):
    box.write("trainer/task.py", "")
    run = box.run("run", "--", PYTHON, "-m", "trainer.tsk", code=CANNOT_EXECUTE)
    expect_in('dlaunch: no module "trainer.tsk" for /usr/bin/python3, did you mean "trainer.task"?', run.text, "what")
    nothing_started(box, run)
    box.run("run", "--", PYTHON, "-m", "trainer.task")
    box.write("src/other.py", "")
    box.run("run", "--set", "env.PYTHONPATH=src", "--", PYTHON, "-m", "other")


@case
def a_plan_names_it_too(box):
    box.write("train.py", "")
    for words, what in (([PYTHON, "trian.py"], f'cannot read "{box.path("trian.py")}": No such file or directory, did you mean "train.py"?'),
                        (["no-such-program"], 'cannot execute "no-such-program"')):
        notes = json.loads(box.run("plan", "--json", "--", *words).out)["notes"]
        expect(any(note.startswith(f"a run would fail: {what}") for note in notes), f"{words}: {notes}")
    expect_in("cannot enter the workdir", " ".join(json.loads(box.run("plan", "--json", "--set", "workdir=gone", "--", "true").out)["notes"]), "workdir")
    notes = json.loads(box.run("plan", "--json", "--set", "workdir=gone", "--", "no-such-program").out)["notes"]
    expect_equal(sum(note.startswith("a run would fail: cannot ") for note in notes), 2, "a note for each")
    box.write("data/out/x.py", "")
    staged = f"stage=[{{from: {box.path('data')}, to: {box.path('copy')}}}]"
    notes = json.loads(box.run("plan", "--json", "--set", f"workdir={box.path('copy/out')}", "--set", staged, "--", PYTHON, "x.py").out)["notes"]
    expect(not any("would fail" in note for note in notes), f"a workdir that is staged: {notes}")
    for offline in ([], ["--offline"]):
        notes = json.loads(box.run("plan", "--json", *offline, "--", PYTHON, "train.py").out)["notes"]
        expect(not any("would fail" in note for note in notes), f"{offline}: {notes}")


@case
def in_a_string_only_what_is_certain(box):
    for line, code, what in (("no-such-program x", NOT_FOUND, 'cannot execute "no-such-program"'),
                             (f"{PYTHON} gone.py", CANNOT_EXECUTE, "gone.py"),
                             ("sh ./gone.sh", CANNOT_EXECUTE, "gone.sh")):
        box.write("job.yaml", f"command: {line}\n")
        run = box.run("run", code=code)
        expect_in(what, run.text, line)
        nothing_started(box, run)
    for line in (f"echo > made.py; {PYTHON} made.py", f"test -f gone.py && {PYTHON} gone.py || true"):
        box.write("job.yaml", f"command: '{line}'\n")
        box.run("run")
    box.write("job.yaml", f"command: {PYTHON} by_setup.py\nsetup: touch by_setup.py\n")
    box.run("run")


@case
def of_each_role(box):
    box.write("worker.py", "")
    box.write("job.yaml", f"""
framework: tensorflow
command: {PYTHON} worker.py
roles:
  chief: {{count: 1, command: {PYTHON} cheif.py}}
  worker: {{count: 2}}
""")
    run = box.run("run", code=CANNOT_EXECUTE)
    expect_in("cheif.py", run.text, "whose script")
    nothing_started(box, run)


@case
def a_wrapper_may_find_what_is_not_here(box):
    """For example, a wrapper may run Python in a container."""
    wrapper = box.write("bin/python3", "#!/bin/sh\necho in another place: \"$@\"\n", 0o755)
    run = box.run("run", "--", wrapper, "gone.py")
    expect_in(b"in another place: gone.py", run.out, "output")
