"""Real training over nodes. The script asserts in the ranks that they are one world: see examples/pytorch-ddp."""

import os
import re
import subprocess

from case import case
from cluster import TOP
from expectations import Skip, expect, expect_equal, expect_in


@case(budget=150, alone=True)
def digits_on_four_nodes_with_two_ranks_each(box):
    find = "import importlib.util, sys; sys.exit(any(importlib.util.find_spec(name) is None for name in ('torch', 'sklearn')))"
    if subprocess.run(["/usr/bin/python3", "-c", find], check=False).returncode != 0:
        raise Skip("missing packages: python3-torch, python3-sklearn")
    box.make_cluster(4)
    job = os.path.join(TOP, "examples", "pytorch-ddp", "job.yaml")
    hosts = ", ".join(f"{{name: {name}, slots: 2}}" for name in box.cluster.names)
    run = box.start("run", job, "-n", "8", "--set", f"hosts=[{hosts}]", "--set", f"connect.ssh={box.cluster.ssh}",
                    "--set", f"workdir={TOP}/examples/pytorch-ddp", "--", "--world", "8", "--batch", "16")
    run.end(0, patience=140)
    expect_in(b"world of 8 ranks, sum of ranks 28", run.out, "the ranks formed one world")
    expect(re.search(rb"equal weights on all 8 ranks, sha256 [0-9a-f]{12}", run.out), f"hash of the weights\n{run.report()}")
    expect_in("8 ranks ok", run.text, "summary")


@case
def one_process_on_each_node(box):
    box.make_cluster(3)
    run = box.launch("/bin/sh", "-c", "echo $NODE_RANK of $GROUP_WORLD_SIZE on $(hostname), RANK ${RANK-is not set}",
                     options=["--set", "launch=per-node"]).end(0)
    for node in range(3):
        expect_in(f"{node} of 3 on node{node + 1}, RANK is not set".encode(), run.out, f"process of node {node}")


@case
def a_driver_finds_the_other_nodes_in_its_hostfile(box):
    """`launch: once`; the driver also reaches these nodes by ssh."""
    box.make_cluster(3)
    script = (f"hostname; cat $DLAUNCH_HOSTFILE; cut -d ' ' -f 1 $DLAUNCH_HOSTFILE > $CASE/hosts; "
              f"while read host; do {box.cluster.ssh} -n $host 'echo worker on $(hostname)'; done < $CASE/hosts")
    box.launch("/bin/sh", "-c", script, ranks=2, options=["--set", "launch=once"]).end(0)
    lines = box.rank_output(0).decode().splitlines()
    names = box.cluster.names
    expect_equal(lines, ["node1", *(f"{name} slots=2" for name in names), *(f"worker on {name}" for name in names)], "the driver's output")
