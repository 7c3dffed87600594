"""dlaunch rerun: the job of an earlier run, once more."""

import json
import os
import shlex

from case import case
from expectations import expect, expect_equal, expect_in
from run_helpers import USAGE, listed, look, start


def outputs(box):
    """What rank 0 of each run printed, newest first."""
    return [box.read(box.path(run["path"]), "attempt-0", "rank-0.out") for run in listed(box)]


@case
def the_same_job_in_the_same_folder(box):
    box.write("script.sh", "echo $WORLD_SIZE $A \"$@\"; pwd\n")
    box.run("run", "-n", "2", "--env", "A=b c", "--name", "odd", "--", "sh", "script.sh", "a 'b'\n\"c\"")
    first = listed(box)[0]
    again = box.run("rerun", first["path"] if first["path"].startswith("/") else box.path(first["path"]), cwd=box.make_folder("elsewhere"))
    expect("changed since that run" not in again.text, f"a difference: {again.text}")
    runs = listed(box)
    expect_equal([run["name"] for run in runs], ["odd", "odd"], "names, in one list of runs")
    expect_equal(runs[0]["ranks"], 2, "ranks")
    output = outputs(box)
    expect_equal(output[0], output[1], "what rank 0 printed")
    record = box.read(box.path(runs[0]["path"]), "job.yaml").decode()
    expect_in(f"the job of run {first['run']}", record, "where the job comes from")
    box.run("rerun")
    expect_equal(len(box.read(box.path(listed(box)[0]["path"]), "job.yaml")), len(record), "job.yaml of a rerun of a rerun")


@case
def what_the_command_line_adds_counts(box):
    box.run("run", "-n", "2", "--", "echo", "first")
    run = listed(box)[0]["run"]
    box.run("rerun", run, "--set", "processes=1", "--", "more")
    expect_equal((listed(box)[0]["ranks"], outputs(box)[0]), (1, b"first more\n"), "ranks and output")
    expect_in(f"typed in {box.folder}: dlaunch rerun {run} --set 'processes=1' -- more",
              box.read(box.path(listed(box)[0]["path"]), "job.yaml").decode(), "what was typed")
    expect_in("python_version", box.run("rerun", run, "--set", "python_version=3", code=65).text, "a key that does not exist")
    plan = box.run("rerun", run[-3:], "--dry-run").out
    expect_in(b"2 ranks", plan, "the plan of --dry-run")
    expect_equal(len(listed(box)), 2, "runs")


@case
def a_hostfile_is_found_again(box):
    """It is relative to the first job file, but the rerun reads another one, in the run folder."""
    box.write("sub/hosts", f"{os.uname().nodename} slots=2\n")
    box.write("sub/job.yaml", "hostfile: hosts\nprocesses: 2\ncommand: echo $WORLD_SIZE\n")
    box.run("run", "sub/job.yaml")
    box.run("rerun", cwd=box.folder)
    expect_equal(outputs(box), [b"2\n", b"2\n"], "output of both")
    box.run("run", "--hostfile", "sub/hosts", "-n", "2", "--", "true")
    box.run("rerun", box.path(listed(box)[0]["path"]), cwd=box.path("sub"))


@case
def options_without_a_key_are_kept(box):
    box.run("run", "--smoke", "--", "echo", "small")
    again = box.run("rerun")
    expect_in("smoke", again.text, "the line about the smoke test")


@case
def what_differs_from_then_is_named(box):
    box.run("run", "--set", "env_pass=[MINE]", "--set", "env_secret=[TOKEN]", "--", "true",
            env={"MINE": "1", "TOKEN": "2", "VIRTUAL_ENV": box.make_folder("venv")})
    path = box.path(listed(box)[0]["path"], "job.yaml")
    text = box.read(path).decode()
    version = text.splitlines()[0].rsplit(" ", 1)[1]
    box.write(path, text.replace(f" by dlaunch {version}", " by dlaunch 0.0.1").replace(f" on {os.uname().nodename} ", " on gpu77 "))
    said = box.run("rerun").text
    for what in (f"dlaunch 0.0.1, now {version}", "machine gpu77, now", f"Python environment {box.path('venv')}, now none", "MINE (env_pass) is not set now",
                 "TOKEN (env_secret) is not set now"):
        expect_in(what, said.replace("\n", " "), "the note")
    expect("differs" not in box.run("rerun", listed(box)[1]["run"], "--quiet").text, "a note with --quiet")


@case
def what_cannot_be_run_again_says_why(box):
    expect_in("no runs in runs yet", box.run("rerun", code=USAGE).text, "no run")
    expect_in('no run "abc"', box.run("rerun", "abc", code=USAGE).text, "no such run")
    box.run("run", "--", "echo", b"\xff\xfe")
    expect_in("not UTF-8", box.run("rerun", code=USAGE).text, "a command that no file can hold")
    box.run("run", "--", "true")
    newest = box.path(listed(box)[0]["path"])
    record = json.loads(box.read(newest, "run.json"))
    box.write(os.path.join(newest, "run.json"), json.dumps({**record, "folder": box.path("gone")}))
    expect_in("was started in", box.run("rerun", code=USAGE).text, "a folder that is gone")
    os.unlink(os.path.join(newest, "job.yaml"))
    expect_in("no job.yaml", box.run("rerun", code=USAGE).text, "no job.yaml")
    run = start(box, "tell", "ready", "gate")
    expect_in("has not ended; to end it: dlaunch stop", look(box, "rerun", code=USAGE).text, "a run that goes on")
    box.open_gate()
    run.end(0)


@case
def a_run_in_another_folder_is_stopped_by_what_the_error_says(box):
    run = start(box, "tell", "ready", "pause", options=["--set", "logs.dir=my runs"])
    (folder,) = [name for name in os.listdir(box.path("my runs")) if name.startswith("2")]
    message = look(box, "rerun", f"my runs/{folder}", code=USAGE).text
    line = message.split("to end it: ")[1].splitlines()[0]
    expect_equal(shlex.split(line), ["dlaunch", "stop", f"my runs/{folder}"], "what to type")
    look(box, *shlex.split(line)[1:])
    run.end(143)


@case
def a_run_of_another_user_is_not_run(box):
    """In a shared folder, the newest run may be anyone's."""
    box.run("run", "--", "echo", "theirs")
    os.chown(box.run_folder(), 65534, 65534)
    expect_in("belongs to user 65534; to run its job as yourself: dlaunch run ", " ".join(box.run("rerun", code=USAGE).text.split()), "why not")
    expect_equal(len(listed(box)), 1, "runs")
