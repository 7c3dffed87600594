"""Nodes that are lost, or slow, while files are staged: the others go on from node to node."""

import json
import os
import shutil

from case import case
from cases_faults import kill_on
from cases_stage import BLOCK, FROM, NODE_LOST, TO, expect_large, launch, part_on, sources, staged, write
from cases_stage_list import hosts_of
from cases_sync import last_run
from expectations import expect, expect_equal, expect_in, pseudo_random_bytes
from processes import wait_until

MEGABYTES = 24
STAGE = f"[{{from: {FROM}/large, to: {TO}/large}}]"
LIMITS = ("--set", "framework=none", "--set", "timeouts.fence_after=3s", "--set", "timeouts.lost_after=8s", "--set", "timeouts.connect=5s")


def prepare(box, nodes, slow=None, rate="20mbit"):
    """A cluster, the file, and links that make its staging take some seconds."""
    cluster = box.make_cluster(nodes)
    box.launch("/bin/true").end(0)  # the way of dlaunch to the nodes is not the subject
    write(f"{FROM}/large", pseudo_random_bytes(1 << 20, 1) * MEGABYTES)
    for number in slow or range(1, nodes + 1):
        cluster[number].slow_link(rate)
    return cluster


def wait_for_blocks(cluster, numbers):
    for number in numbers:
        wait_until(lambda: part_on(cluster[number]) > 8 * BLOCK, f"the first blocks on node{number}", 30, 0.01)  # noqa: B023


def sent_by_the_launcher(box):
    """In all stagings of the last run."""
    with open(os.path.join(last_run(box), "events.jsonl"), encoding="utf-8") as file:
        events = [json.loads(line) for line in file]
    return sum(event["from_launcher"] for event in events if event["event"] == "staged")


@case
def the_others_get_the_files(box):
    cluster = prepare(box, 4)
    run = box.start("stage", *hosts_of(cluster), *LIMITS, "--from", f"{FROM}/large", "--to", f"{TO}/large")
    wait_for_blocks(cluster, (1, 2, 3, 4))
    cluster[2].power_off()
    run.end(NODE_LOST, patience=60, left=1000)
    expect_large([cluster[number] for number in (1, 3, 4)])
    expect_in("stage: node2 could not feed node3 (", run.text, "a note")
    expect_in("; node1 fed it instead", run.text, "a note")
    expect_in("on 3 nodes", run.words, "what it did")
    expect_in("25 MB sent from here", run.words, "what it did")
    expect_in("dlaunch: node2: ", run.words, "what went wrong")
    expect_in("the other nodes have the files", run.words, "what went wrong")
    box.expect_nodes_empty("nodes 1, 3 and 4", but=["node2"])


@case
def a_spare_gets_them_from_a_neighbour(box):
    cluster = prepare(box, 4)
    run = launch(box, STAGE, *LIMITS, "--set", "spares=1")
    wait_for_blocks(cluster, (1, 2, 3))
    cluster[2].power_off()
    run.end(0, patience=90, left=1000)
    expect_in("node2 is lost; a spare takes its place", run.words, "who")
    expect_large([cluster[number] for number in (1, 3, 4)])
    sent, size = sent_by_the_launcher(box), MEGABYTES << 20
    expect(size <= sent <= size * 1.05, f"{sent} bytes left the launcher for {size}")


@case
def a_node_whose_files_are_staged(box):
    """The others keep what has arrived, and the next staging goes on from it."""
    cluster = prepare(box, 3)
    os.makedirs(cluster[2].path(FROM))
    shutil.move(f"{FROM}/large", cluster[2].path(f"{FROM}/large"))
    write(f"{FROM}/other", b"of the launcher")
    stage = f"[{{from: node2:{FROM}/large, to: {TO}/large}}, {{from: {FROM}/other, to: {TO}/other}}]"
    run = box.start("stage", *hosts_of(cluster), *LIMITS, "--set", f"stage={stage}")
    wait_for_blocks(cluster, (1, 3))
    kill_on(box, cluster[2], "agent")
    run.end(NODE_LOST, patience=60, left=1000)
    expect_in("stage: from node2: that node is lost; what has arrived stays, and the next staging goes on from it", run.words, "what went wrong")
    for number in (1, 3):
        expect_equal(sorted(name[:15] for name in os.listdir(cluster[number].path(TO))), [".dlaunch-stage-", "other"], f"on node{number}")
    part = min(part_on(cluster[number]) for number in (1, 3))

    for node in cluster.nodes:
        node.fast_link()
    shutil.copyfile(cluster[2].path(f"{FROM}/large"), f"{FROM}/large")  # to compare with
    launch(box, f"[{{from: node2:{FROM}/large, to: {TO}/large}}]").end(0)
    for node in cluster.nodes:
        with open(node.path(f"{TO}/large"), "rb") as file, open(f"{FROM}/large", "rb") as own:
            expect(file.read() == own.read(), f"the file on {node.name}")
    got = {node: event["bytes"] for node, event in staged(box).items()}
    expect(0 < got[1] <= (MEGABYTES << 20) - part + 2 * BLOCK, f"{got} of {MEGABYTES} MiB were sent again, and {part} were there")


@case
def a_slow_node_slows_only_itself(box):
    cluster = prepare(box, 4, slow=(1, 3, 4), rate="40mbit")
    cluster[2].slow_link("4mbit")
    run = launch(box, STAGE, "--set", "framework=none")
    wait_until(lambda: all(os.path.exists(cluster[number].path(f"{TO}/large")) for number in (3, 4)), "nodes 3 and 4 have the file", 60, 0.01)
    part = part_on(cluster[2])
    expect(0 < part < (MEGABYTES << 20) // 2, f"node2 had {part} bytes by then")
    cluster[2].fast_link()
    run.end(0, patience=60)
    expect_large(cluster.nodes)
    expect_equal(sources(box), {1: None, 2: "node4", 3: "node1", 4: "node3"}, "who fed whom")
    expect_in("stage: node2 is slow and comes last now, so that it holds up no other: node2 got only", run.words, "a note")
    expect_equal(sent_by_the_launcher(box), MEGABYTES << 20, "bytes from the launcher: none twice")
