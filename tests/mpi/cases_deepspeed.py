"""DeepSpeed finds its ranks through PyTorch's variables or, without them, through mpi4py (deepspeed.comm.mpi_discovery)."""

import os

from case import case
from expectations import Skip, expect_equal

HERE = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.expanduser("~/.cache/dlaunch-test/torch-venv")
PROGRAM = os.path.join(HERE, "programs", "deepspeed_world.py")
PATIENCE = 140


def python():
    for package in ("deepspeed", "mpi4py"):
        if not os.path.isdir(os.path.join(VENV, "lib", "python3.11", "site-packages", package)):
            raise Skip(f"no {package} in {VENV} (tests/frameworks/setup.sh torch)")
    return os.path.join(VENV, "bin", "python")


def expect_world(box, ranks, how):
    for rank in range(ranks):
        expect_equal(box.rank_output(rank), b"world of %d, %s\n" % (ranks, how), f"output of rank {rank}")


@case(budget=150, alone=True, long=True)
def two_ranks_discover_each_other_by_mpi(box):
    """The case uses a node, because DeepSpeed needs an address that `hostname -I` prints."""
    box.make_cluster(1)
    box.mpi([2], python(), PROGRAM, "2", "2", options=["--set", "mpi.torch_variables=false"]).end(0, patience=PATIENCE)
    expect_world(box, 2, b"discovered")


@case(budget=150, alone=True)
def two_nodes_with_two_ranks_each_discover_each_other_by_mpi(box):
    box.make_cluster(2)
    box.mpi([2, 2], python(), PROGRAM, "4", "2,2", options=["--set", "mpi.torch_variables=false", "--set", "mpi.oversubscribe=true"]).end(
        0, patience=PATIENCE)
    expect_world(box, 4, b"discovered")


@case(budget=150, alone=True)
def one_step_with_zero_1(box):
    box.start("run", "-n", "2", "--set", "framework=deepspeed", "--", python(), PROGRAM, "2", "2", "step").end(0, patience=PATIENCE)
    expect_world(box, 2, b"told")
