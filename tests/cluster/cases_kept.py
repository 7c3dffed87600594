"""Kept nodes: `dlaunch up` leaves connections that runs use, `dlaunch down` ends them (docs/how-to/keep-nodes-connected.md)."""

import contextlib
import json
import os
import signal

from case import case
from expectations import expect, expect_equal, expect_in
from processes import PATIENCE, command_of, wait_gone, wait_until


def logins(box):
    """How often sshd has let someone in, on each node."""
    counts = []
    for node in box.cluster.nodes:
        with open(os.path.join(node.folder, "sshd.log"), encoding="utf-8", errors="replace") as file:
            counts.append(file.read().count("Accepted publickey"))
    return counts


def keepers(box):
    return [pid for pid in box.survivors() if command_of(pid).startswith("dlaunch: keeper")]


def up(box, *options, hosts=None, code=0):
    words = ["up", "--set", f"hosts=[{', '.join(hosts or box.cluster.names)}]", "--set", f"connect.ssh={box.cluster.ssh}", *options]
    return box.start(*words).end(code, left=1000)


def down(box, *options):
    run = box.start("down", *options).end(0, left=1000)
    wait_until(lambda: not keepers(box), "the keeper is gone", PATIENCE, 0.01)
    return run


def listed(box):
    return {row["host"]: row for row in json.loads(box.start("up", "--list", "--json").end(0, left=1000).out)}


def wait_for_state(box, host, state):
    wait_until(lambda: listed(box).get(host, {}).get("state") == state, f"{host} is {state}", 20, 0.05)


@contextlib.contextmanager
def kept(box, count, *options, **more):
    box.make_cluster(count)
    up(box, *options, **more)
    try:
        yield
    finally:
        down(box)


@case
def a_run_uses_kept_nodes_and_gives_them_back(box):
    with kept(box, 2):
        before = logins(box)
        for number in range(3):
            run = box.launch(box.rank, "print", f"{number}\n", ranks=2, options=["--set", f"logs.dir=runs{number}"]).end(0, left=1000)
            expect_in("uses 2 kept nodes", run.text, "what it says")
            expect_equal([box.rank_output(rank, runs=f"runs{number}") for rank in range(4)], [f"{number}\n".encode()] * 4, "output")
        expect_equal(logins(box), before, "no further login")
        expect_equal([row["state"] for row in listed(box).values()], ["idle", "idle"], "states")
    box.expect_nodes_empty("down leaves nothing")
