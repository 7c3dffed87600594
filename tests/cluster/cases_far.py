"""Nodes at the other end of the world: 50 ms for a round trip, and one of a hundred packets is lost. Files are staged, synced and collected all the
same."""

import os
import socket
import time

from case import case
from cases_collect import expect_collected, results
from cases_stage import FROM, TO, expect_large, launch, sources, staged, write
from cases_sync import Job, picture
from expectations import expect, expect_equal, pseudo_random_bytes

CROSSING, LOSS = 0.0125, 0.005  # of one packet on one cable; on the way from one machine to another there are two
ROUND_TRIP = 4 * CROSSING


def make_far(box, nodes):
    """The way of dlaunch to the nodes is not the subject."""
    cluster = box.make_cluster(nodes)
    box.launch("/bin/true").end(0)
    return cluster, cluster.make_far(CROSSING, LOSS)


def stage_large(box, size):
    cluster, wires = make_far(box, 4)
    write(f"{FROM}/large", pseudo_random_bytes(size, 1))
    before = wires.passed["v0"]
    run = launch(box, f"[{{from: {FROM}/large, to: {TO}/large}}]", "--set", "framework=none")
    run.end(0, patience=30 + size / 100_000)  # TCP's window stays small with such a loss
    expect_large(cluster.nodes)
    expect_equal(sources(box), {1: None, 2: "node1", 3: "node2", 4: "node3"}, "who fed whom")
    expect_equal(staged(box)[1]["from_launcher"], size, "bytes from the launcher")
    sent = wires.passed["v0"] - before
    expect(wires.lost > 0 and sent < size * 1.25 + 2_000_000, f"{sent} bytes left the launcher for {size}, {wires.lost} packets were lost")


@case
def links_are_far(box):
    cluster, wires = make_far(box, 2)
    began = time.monotonic()
    socket.create_connection((cluster[1].address, 22), 30).close()
    expect(time.monotonic() - began >= ROUND_TRIP, "a round trip is shorter than it can be")
    expect(wires.passed["v1"] > 0, "packets of node1")


@case(budget=150)
def a_file_through_a_chain_of_far_nodes(box):
    stage_large(box, 3 << 20)


@case(budget=900, long=True)
def a_larger_file_through_a_chain_of_far_nodes(box):
    stage_large(box, 64 << 20)


@case(budget=150)
def code_and_results_of_far_nodes(box):
    cluster, _ = make_far(box, 2)
    results(cluster)
    job = Job(box)
    for number in range(40):
        job.write(f"src/{number}.py", pseudo_random_bytes(5000, number))
    job.launch(options=("--set", f"collect=[{{from: /run/out, to: '{box.path('results')}/{{node}}/'}}]")).end(0, patience=120)
    for node in cluster.nodes:
        expect_equal(picture(job.on(node)), picture(job.root), f"the code on {node.name}")
    expect_collected(cluster.nodes, os.path.join(box.path("results"), "{node}"))
