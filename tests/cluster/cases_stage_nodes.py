"""`stage` with files of a node: from: node2:/data."""

import os
import shutil
import subprocess

from case import case
from cases_reach import block
from cases_stage import BLOCK, FROM, JOB_FILE, NODE_LOST, TO, V4_ONLY, expect_staged, launch, part_on, sources, staged, tree, write
from cases_sync import picture
from expectations import expect, expect_equal, expect_in, pseudo_random_bytes
from processes import wait_until


def tree_on(node, name=None):
    """tree(), whose files only the node has; the copies here are what they are compared with."""
    stage = tree()
    shutil.copytree(FROM, node.path(FROM), symlinks=True, dirs_exist_ok=True)
    os.rename(FROM, FROM + ".here")
    return stage.replace("{from: ", "{from: " + (name or node.name) + ":")


def expect_staged_from_node(box, nodes):
    os.rename(FROM + ".here", FROM)
    expect_staged(box, nodes)
    os.rename(FROM, FROM + ".here")


@case
def files_of_a_node(box):
    cluster = box.make_cluster(3)
    stage = tree_on(cluster[2])
    launch(box, stage).end(0)
    expect_staged_from_node(box, cluster.nodes)
    expect_equal(sources(box), {2: "node2", 1: "node2", 3: "node1"}, "who fed whom")
    expect_equal({event["from_launcher"] for event in staged(box).values()}, {0}, "bytes that passed through the launcher")
    with open(cluster[2].path(f"{FROM}/weights.bin"), "r+b") as file:
        file.seek(7 * BLOCK + 5)
        file.write(b"changed")
    shutil.copyfile(cluster[2].path(f"{FROM}/weights.bin"), f"{FROM}.here/weights.bin")
    launch(box, stage).end(0)
    expect_staged_from_node(box, cluster.nodes)
    expect_equal({event["bytes"] for event in staged(box).values()}, {BLOCK}, "what had changed")
    run = box.run("stage", "--hosts", "node[1-3]", "--set", f"connect.ssh={cluster.ssh}", "--from", f"node2:{FROM}/weights.bin", "--to", f"{TO}/more")
    expect_in("on 3 nodes", run.words, "by the command")
    expect(all(os.path.exists(node.path(f"{TO}/more")) for node in cluster.nodes), "by the command")


@case
def files_of_a_node_to_the_path_that_they_have(box):
    """And others from here; in one job, archives of a node too."""
    cluster = box.make_cluster(2)
    tree_on(cluster[1])
    subprocess.run(["tar", "-C", cluster[1].path(FROM), "--format=posix", "-cf", cluster[1].path("/run/corpus.tar"), "corpus"], check=True)
    write(box.path("here"), b"here")
    before = picture(cluster[1].path(FROM))
    stage = f"[{{from: node1:{FROM}/corpus}}, {{from: here, to: {TO}/here}}, {{from: node1:/run/corpus.tar, to: {TO}/unpacked, unpack: true}}]"
    launch(box, stage).end(0)
    expect_equal(picture(cluster[1].path(FROM)), before, "nothing is written where the files are")
    expect_equal(picture(cluster[2].path(f"{FROM}/corpus")), picture(f"{FROM}.here/corpus"), "the folder on node2")
    for node in cluster.nodes:
        expect_equal(picture(node.path(f"{TO}/unpacked/corpus")), picture(f"{FROM}.here/corpus"), f"the archive's content on {node.name}")
        with open(node.path(f"{TO}/here"), "rb") as file:
            expect_equal(file.read(), b"here", node.name)


@case
def files_of_a_node_that_others_do_not_reach(box):
    cluster = box.make_cluster(3)
    stage = tree_on(cluster[2])
    block(cluster[2], cluster[1].address, "REJECT")
    run = launch(box, stage, *V4_ONLY).end(0)
    expect_staged_from_node(box, cluster.nodes)
    expect_equal(sources(box), {2: "node2", 1: "node2", 3: "node1"}, "who fed whom")
    passed = {node: event["from_launcher"] > 0 for node, event in staged(box).items()}
    expect_equal(passed, {1: True, 2: False, 3: False}, "whose bytes passed through the launcher")
    expect_in("stage: node2 could not feed node1 (10.77.0.2:", run.text, "a note")
    expect_in("; the launcher fed it instead", run.text, "a note")


@case
def files_of_a_node_without_a_connection_between_nodes(box):
    cluster = box.make_cluster(2)
    launch(box, tree_on(cluster[1]), "--set", "stage_via=launcher").end(0)
    expect_staged_from_node(box, cluster.nodes)
    expect(all(event["from_launcher"] == event["bytes"] > 0 for event in staged(box).values()), staged(box))


@case
def sources_on_nodes_that_are_none(box):
    box.make_cluster(2)
    for source, code, text in [
            ("node1:/run/missing", JOB_FILE, "stage: from node1: /run/missing: No such file or directory"),
            ("node9:/run/x", JOB_FILE, "stage: node9:/run/x: node9 is not a node of this job (node1, node2); for a path on this machine: ./node9:/run/x"),
            ("./node1:/run/x", JOB_FILE, "node1:/run/x: No such file or directory")]:
        run = launch(box, f"[{{from: {source}, to: {TO}/x}}]").end(code)
        expect_in(text, run.words, source)
    run = launch(box, f"[{{from: node1:/etc/hostname, to: {TO}/x}}, {{from: /etc/hostname, to: {TO}/x/y}}]").end(JOB_FILE)
    expect_in(f"stage: {TO}/x and {TO}/x/y are the same, or one lies inside the other; a line that stages from a node needs a separate target", run.words, "targets")
    expect_equal([name for name in os.listdir("/run") if name == "local"], [], "what was made")


@case(long=True)
def a_node_whose_files_are_staged_is_killed(box):
    cluster = box.make_cluster(3)
    box.launch("/bin/true").end(0)
    tree_on(cluster[2])
    write(cluster[2].path(f"{FROM}/large"), pseudo_random_bytes(1 << 20, 1) * 40)
    for node in cluster.nodes:
        node.slow_link("20mbit")
    limits = ("--set", "timeouts.fence_after=3s", "--set", "timeouts.lost_after=8s", "--set", "timeouts.connect=5s")
    run = launch(box, f"[{{from: node2:{FROM}/large, to: {TO}/large}}]", "--set", "framework=none", *limits)
    wait_until(lambda: part_on(cluster[3]) > 8 * BLOCK, "the first blocks on node3", 30, 0.01)
    cluster[2].power_off()
    run.end(NODE_LOST, patience=40, left=1000)
    expect_in("node2", run.text, "the node")
    for number in (1, 3):
        expect_equal([name[:15] for name in os.listdir(cluster[number].path(TO))], [".dlaunch-stage-"], "no file under its name")
    box.expect_nodes_empty("nodes 1 and 3", but=["node2"])
