"""dlaunch runs --prune: removes the folders of finished runs, and nothing else."""

import fcntl
import json
import os
import re
import time

from case import case
from expectations import expect, expect_equal, expect_in
from run_helpers import USAGE, listed, look, start


def of_age(box, run, days):
    """Makes the run look as if nothing had been written about it for this many days."""
    then = time.time() - days * 86400
    path = os.path.join(box.path("runs"), run)
    record = json.loads(box.read(path, "run.json"))
    record["started"] = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(then))
    box.write(os.path.join(path, "run.json"), json.dumps(record))
    for name in ("run.json", "events.jsonl", "summary.json"):
        if box.exists(path, name):
            os.utime(os.path.join(path, name), (then, then))


def three_runs(box):
    for _ in range(3):
        box.run("run", "--", "echo", "kept")
    return [run["run"] for run in listed(box)]


@case
def prune_removes_what_is_old_and_says_how_much(box):
    new, middle, old = three_runs(box)
    of_age(box, middle, 20)
    of_age(box, old, 31)
    dry = box.run("runs", "--prune", "--dry-run").out.decode()
    expect_in(f"would remove {old}", dry, "what would go")
    expect(new not in dry and middle not in dry, f"newer runs: {dry}")
    expect_equal(len(listed(box)), 3, "runs after --dry-run")
    done = box.run("runs", "--prune").out.decode()
    expect(re.search(rf"^removed {old}  echo  done  [\d.]+ kB$", done, re.M), f"what went: {done}")
    expect(re.search(r"^removed 1 run, [\d.]+ kB freed$", done, re.M), f"how much: {done}")
    expect(not box.exists("runs", old), "the folder is still there")
    expect_in(b"nothing to remove", box.run("runs", "--prune").out, "a second time")
    expect_in(f"removed {middle}".encode(), box.run("runs", "--prune", "--older", "10d").out, "--older")
    expect_equal([run["run"] for run in listed(box)], [new], "runs that are left")


@case
def prune_keeps_the_newest(box):
    new, middle, old = three_runs(box)
    seen = json.loads(box.run("runs", "--prune", "--keep", "2", "--json").out)
    expect_equal([(run["run"], run["removed"], run["kept"]) for run in seen["runs"]], [(old, True, None)], "as JSON")
    expect_equal(seen["freed_bytes"], seen["runs"][0]["bytes"], "bytes")
    expect_equal([run["run"] for run in listed(box)], [new, middle], "runs that are left")
    box.run("runs", "--prune", "--keep", "0", "--older", "1h")
    expect_equal(len(listed(box)), 2, "both conditions count")


@case
def prune_leaves_alone_what_may_still_be_needed(box):
    """It keeps runs that may be running, here or on another machine, folders of other users, links, and a run that a process uses."""
    box.run("run", "--", "true")
    three_runs(box)
    elsewhere, rebooted, in_use, foreign = [run["run"] for run in listed(box)]
    for run, changes in ((elsewhere, {"host": "gpu77", "boot_id": "another"}), (rebooted, {"boot_id": "another"})):
        path = os.path.join(box.path("runs"), run)
        record = json.loads(box.read(path, "run.json"))
        record.update(changes)
        box.write(os.path.join(path, "run.json"), json.dumps(record))
        os.unlink(os.path.join(path, "summary.json"))
    os.chown(os.path.join(box.path("runs"), foreign), 65534, 65534)
    box.write("runs/20200101-000000-aab/notes", "mine")
    box.write("runs/notes/mine", "mine")
    box.run("run", "--set", "logs.dir=other", "--", "true")
    [other] = box.runs("other")
    os.symlink(box.path("other", other), box.path("runs", other))
    lock = os.open(os.path.join(box.path("runs"), in_use), os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    run = start(box, "tell", "ready", "gate")
    seen = {one["run"]: one["kept"] for one in json.loads(look(box, "runs", "--prune", "--keep", "0", "--json").out)["runs"]}
    for name, why in ((elsewhere, "on gpu77"), (rebooted, "another machine with the same name as this one"), (in_use, "another process uses it"),
                      (foreign, "belongs to user 65534"), (other, "it is a link")):
        expect_in(why, seen[name] or "removed", name)
        expect(box.exists("runs", name, "run.json"), f"{name} was touched")
    expect_equal([why for name, why in seen.items() if name not in (elsewhere, rebooted, in_use, foreign, other)], ["it is running"], "the live run")
    expect(box.exists("runs/20200101-000000-aab/notes") and box.exists("runs/notes/mine"), "other folders were touched")
    os.close(lock)
    box.open_gate()
    run.end(0)


@case
def prune_removes_folders_without_permissions_but_follows_no_link(box):
    box.write("precious", "mine")
    box.run("run", "--", "true")
    folder = box.run_folder()
    os.makedirs(os.path.join(folder, "collected", "node", "deep"))
    os.symlink(box.path("precious"), os.path.join(folder, "collected", "link"))
    os.symlink(box.folder, os.path.join(folder, "collected", "up"))
    os.chmod(os.path.join(folder, "collected", "node"), 0o500)
    box.run("runs", "--prune", "--keep", "0")
    expect(not os.path.exists(folder), "the folder is still there")
    expect(box.exists("precious"), "a link was followed")


@case
def mistakes_in_pruning_are_said(box):
    for words, mistake in ((["--older", "30d"], "--older is for --prune"), (["--keep", "3"], "--keep is for --prune"),
                           (["--dry-run"], "--dry-run is for --prune"), (["--prune", "--older", "30x"], "--older 30x: expected a time such as 30d"),
                           (["--prune", "--older", ""], "--older got an empty argument"), (["--prune", "--keep", "-1"], "--keep"),
                           (["--prune", "--keep", "many"], "--keep"), (["--prune", "--all"], "--all")):
        expect_in(mistake, box.run("runs", *words, code=USAGE).text, f"runs {words}")
