"""What was staged on the nodes: `dlaunch stage --list` and `--clean`, and runs that use the same at the same time."""

import contextlib
import glob
import json
import os
import shutil
import signal

from case import case
from cases_stage import BLOCK, FROM, NOT_COPIED, TO, begin_a_long_one, expect_large, launch, staged, write
from cases_stage_unpack import content, line, packed
from cases_sync import last_run
from expectations import expect, expect_equal, expect_in, pseudo_random_bytes
from processes import wait_until

USAGE = 64
RECORDS = ".cache/dlaunch/sync"
LONG = ("/bin/sh", "-c", "echo up > /run/up; exec sleep 60")


def hosts_of(cluster, hosts=None):
    return ("--hosts", hosts or f"node[1-{len(cluster.nodes)}]", "--set", f"connect.ssh={cluster.ssh}")


def listed(box, cluster, left=0):
    """{(node, target): row}"""
    run = box.start("stage", *hosts_of(cluster), "--list", "--json").end(0, left=left)
    return {(row["node"], row["target"]): row for row in json.loads(run.out)}


def begin_to_use(box, cluster, stage):
    """A run that has staged this and works; returns it and its id."""
    run = launch(box, stage, "--set", "framework=none", command=LONG)
    for node in cluster.nodes:
        wait_until(lambda: os.path.exists(node.path("/run/up")), f"the rank on {node.name}", 30, 0.01)  # noqa: B023
    return run, os.path.basename(last_run(box))


def end(run):
    run.signal(signal.SIGINT)
    run.end(130, patience=30)


def says(run, text):
    with contextlib.suppress(FileNotFoundError):  # it has only just been started
        return text in run.words
    return False


def records(node):
    folder = node.home(RECORDS)
    return os.listdir(folder) if os.path.exists(folder) else []


def some_of_everything():
    write(f"{FROM}/corpus/deep/er/large", pseudo_random_bytes(3 * BLOCK + 17, 1))
    write(f"{FROM}/corpus/a", b"text")
    os.symlink("/var/tmp/precious", f"{FROM}/corpus/link")
    write(f"{FROM}/weights.bin", pseudo_random_bytes(2 * BLOCK, 2))
    content()
    return (f"[{{from: {FROM}/corpus, to: {TO}/corpus}}, {{from: {FROM}/weights.bin, to: {TO}/w.bin}}, "
            f"{line(packed('tar.gz'))[1:]}")


@case
def what_was_staged_is_listed_and_removed(box):
    cluster = box.make_cluster(2)
    cluster[1].sh("mkdir /var/tmp/precious && echo precious > /var/tmp/precious/x")
    stage = some_of_everything()
    expect_equal(listed(box, cluster), {}, "before anything was staged")
    launch(box, stage).end(0)
    name = "run " + os.path.basename(last_run(box))
    rows = listed(box, cluster)
    targets = [f"{TO}/corpus", f"{TO}/data", f"{TO}/w.bin"]
    expect_equal(sorted(rows), [(node.name, target) for node in cluster.nodes for target in targets], "what is listed")
    for node in cluster.nodes:
        corpus, data, weights = (rows[node.name, target] for target in targets)
        expect_equal([row["by"] for row in (corpus, data, weights)], [name] * 3, "by which run")
        expect(all(row["staged"] for row in (corpus, data, weights)), f"when: {rows}")
        expect_equal((corpus["files"], corpus["bytes"]), (3, 3 * BLOCK + 21), "the folder")
        expect_equal((weights["files"], weights["bytes"]), (1, 2 * BLOCK), "the file")
        expect(data["unpacked"] and data["bytes"] > 5 * BLOCK, f"the archive: {data}")
        expect(corpus["source"].endswith(f":{FROM}/corpus"), f"from where: {corpus}")
        expect_equal(corpus["used_by"], [], "in use")
    run = box.run("stage", *hosts_of(cluster), "--list")
    expect_in(f"node[1-2]  {TO}/corpus", run.out.decode(), "nodes that have the same share a line")

    write(cluster[2].path(f"{TO}/corpus/own"), b"of a user of the node")
    run = box.run("stage", *hosts_of(cluster), "--clean")
    expect_in(f"node[1-2]: {TO}/w.bin: removed 1 file, 131 kB", run.out.decode(), "what was removed")
    expect_in("freed ", run.out.decode(), "the sum")
    expect_equal(os.listdir(cluster[1].path(TO)), [], "left on node1")
    expect_equal(os.listdir(cluster[2].path(TO)), ["corpus"], "left on node2")
    expect_equal(os.listdir(cluster[2].path(f"{TO}/corpus")), ["own"], "left in the folder")
    expect_equal(cluster[1].sh("cat /var/tmp/precious/x"), "precious\n", "behind a link")
    expect_equal([records(node) for node in cluster.nodes], [[], []], "records")
    expect_equal(listed(box, cluster), {}, "after it")
    expect_in("nothing was staged on the nodes", box.run("stage", *hosts_of(cluster), "--clean").out.decode(), "again")
    launch(box, stage).end(0)
    expect_equal(len(listed(box, cluster)), 6, "staged again")


@case
def only_some_of_it_is_removed(box):
    cluster = box.make_cluster(1)
    write(f"{FROM}/a", b"a")
    write(f"{FROM}/b/x", b"x")
    launch(box, f"[{{from: {FROM}/a, to: {TO}/a}}, {{from: {FROM}/b, to: {TO}/b}}, {{from: {FROM}/b, to: {TO}/c}}]").end(0)
    there = lambda: sorted(os.listdir(cluster[1].path(TO)))
    run = box.run("stage", *hosts_of(cluster), "--clean", "job.yaml", code=USAGE)
    expect_in("to name a job file, put it first: dlaunch stage job.yaml --clean", run.words, "a job file behind it")
    run = box.run("stage", *hosts_of(cluster), "--clean", f"{TO}/b/x", "/none")
    expect_in("the same command with --list instead of --clean shows what is staged", run.out.decode(), "a path within")
    expect_equal(there(), ["a", "b", "c"], "so far")
    box.run("stage", *hosts_of(cluster), "--clean", f"{TO}/c/", "/none")
    expect_equal(there(), ["a", "b"], "by its path")
    box.write_job(f"command: 'true'\nstage: [{{from: {FROM}/a, to: {TO}/a}}]\n")
    box.run("stage", "job.yaml", "--clean")
    expect_equal(there(), ["b"], "what the job stages")
    for words, text in [(("--list", "--clean"), "give --list or --clean, not both"),
                        (("--json",), "--json needs --list or --clean"),
                        (("--clean", ""), "--clean got an empty argument"),
                        (("--clean=",), "--clean got an empty argument"),
                        (("--list", "--from", "/etc/passwd"), "leave out --from, --to and --unpack")]:
        expect_in(text, box.run("stage", *hosts_of(cluster), *words, code=USAGE).words, str(words))


@case
def what_is_left_of_a_staging_that_was_interrupted(box):
    cluster, _, run = begin_a_long_one(box, 2)
    run.signal(signal.SIGINT)
    run.end(130, patience=30)
    for node in cluster.nodes:
        node.fast_link()
    rows = listed(box, cluster)
    expect_equal(sorted(rows), [(node.name, f"{TO}/large") for node in cluster.nodes], "what is listed")
    expect(all(row["files"] == 0 and row["incomplete_bytes"] > 8 * BLOCK for row in rows.values()), f"rows: {rows}")
    box.run("stage", *hosts_of(cluster), "--clean")
    expect_equal([os.listdir(node.path(TO)) for node in cluster.nodes], [[], []], "left")


@case
def a_node_that_cannot_be_asked_does_not_hold_up_the_others(box):
    cluster = box.make_cluster(2)
    write(f"{FROM}/a", b"a")
    launch(box, f"[{{from: {FROM}/a, to: {TO}/a}}]").end(0)
    cluster[2].power_off()
    run = box.run("stage", *hosts_of(cluster), "--list", "--set", "timeouts.connect=3s", code=69)
    expect_in(f"{TO}/a", run.out.decode(), "of node1")
    expect_in("node2: ", run.words, "the other one")


@case
def two_runs_that_stage_the_same_share_one_copy(box):
    cluster, stage, first = begin_a_long_one(box, 2, rate="4mbit")
    name = os.path.basename(last_run(box))
    second = launch(box, stage, "--set", "framework=none", "--set", "logs.dir=other")
    waits = f"stage: waiting for run {name}, which stages {TO}/large on node"
    wait_until(lambda: says(second, waits), "the second waits", 30, 0.01)
    for node in cluster.nodes:
        node.fast_link()
    first.end(0, patience=60, left=1000)
    second.end(0, patience=60)
    expect_large(cluster.nodes)
    (events,) = glob.glob(box.path("other", "*", "events.jsonl"))
    with open(events, encoding="utf-8") as file:
        sent = [event["bytes"] for event in map(json.loads, file) if event["event"] == "staged"]
    expect_equal(sent, [0, 0], "sent for the second")
    expect_equal(sum(event["from_launcher"] for event in staged(box).values()), os.path.getsize(f"{FROM}/large"), "for the first")


@case
def what_a_run_uses_is_neither_changed_nor_removed(box):
    cluster = box.make_cluster(2)
    write(f"{FROM}/data/a", b"a")
    write(f"{FROM}/data/b", b"b")
    stage = f"[{{from: {FROM}/data, to: {TO}/data}}]"
    run, name = begin_to_use(box, cluster, stage)
    again = launch(box, stage, "--set", "logs.dir=same")
    again.end(0, left=1000)

    os.unlink(f"{FROM}/data/b")
    refused = launch(box, stage, "--set", "logs.dir=other").end(NOT_COPIED, left=1000)
    expect_in(f"node[1-2]: {TO}/data: is in use by run {name}, and this staging would change it", refused.words, "the refusal")
    expect(all(os.path.exists(node.path(f"{TO}/data/b")) for node in cluster.nodes), "removed under a run")

    expect_equal(listed(box, cluster, left=1000)["node2", f"{TO}/data"]["used_by"], [f"run {name}"], "who uses it")
    cleaned = box.start("stage", *hosts_of(cluster), "--clean").end(0, left=1000)
    expect_in(f"node[1-2]: {TO}/data: is in use by run {name}", cleaned.out.decode(), "what is said of it")
    expect(os.path.exists(cluster[1].path(f"{TO}/data/a")), "removed under a run")

    end(run)
    launch(box, stage).end(0)
    expect_equal([os.listdir(node.path(f"{TO}/data")) for node in cluster.nodes], [["a"], ["a"]], "after the run has ended")


@case
def an_agent_that_is_killed_uses_nothing_any_more(box):
    cluster = box.make_cluster(1)
    write(f"{FROM}/a", b"old")
    stage = f"[{{from: {FROM}/a, to: {TO}/a}}]"
    run, _ = begin_to_use(box, cluster, stage)
    for pid in cluster[1].processes():
        with contextlib.suppress(ProcessLookupError):  # it has ended with the one before
            os.kill(pid, signal.SIGKILL)
    run.end(69, patience=40, left=1000)
    write(f"{FROM}/a", b"changed")
    launch(box, stage).end(0)
    with open(cluster[1].path(f"{TO}/a"), encoding="utf-8") as file:
        expect_equal(file.read(), "changed", "the file")
    shutil.rmtree(cluster[1].path(TO))


@case
def what_is_mounted_over_a_staged_folder_stays(box):
    """The source itself, by a bind mount: its files have the recorded sizes and times."""
    cluster = box.make_cluster(1)
    write(f"{FROM}/sub/x", b"precious")
    write(f"{FROM}/y", b"y")
    launch(box, f"[{{from: {FROM}, to: {TO}/c}}]").end(0)
    cluster[1].sh(f"cp -a {TO}/c/sub /precious && mount --bind /precious {TO}/c/sub")
    run = box.run("stage", *hosts_of(cluster), "--clean", code=NOT_COPIED)
    expect_in("sub", run.words, "what it says")
    expect_equal(cluster[1].sh("cat /precious/x"), "precious", "what is mounted")
    cluster[1].sh(f"umount {TO}/c/sub")
    box.run("stage", *hosts_of(cluster), "--clean")
    expect_equal(os.path.exists(cluster[1].path(f"{TO}/c")), False, "without the mount")
