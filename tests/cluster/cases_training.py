"""Real training over nodes. The script asserts in the ranks that they are one world: see examples/pytorch-ddp."""

import os
import re
import subprocess

from case import case
from cluster import TOP
from expectations import Skip, expect, expect_in


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
