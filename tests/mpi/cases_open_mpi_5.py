"""Programs of Open MPI 5, whose PMIx is newer than that of dlaunch's servers. docs/internals/testing.md says how to install it."""

import os

from case import case
from cases_world import run_in_world
from expectations import Skip, expect, expect_equal, expect_in

MPICC = os.path.expanduser("~/.cache/dlaunch-test/openmpi5-venv/bin/mpicc")


def program(box, name):
    if not os.access(MPICC, os.X_OK):
        raise Skip(f"no Open MPI 5 in {os.path.dirname(os.path.dirname(MPICC))} (docs/internals/testing.md, MPI)")
    return box.program(name, MPICC)


@case
def four_ranks_on_one_machine(box):
    box.mpi_here(4, program(box, "world"), box.path("file")).end(0)
    run_in_world(box, 4)


@case
def two_nodes_with_two_ranks_each(box):
    world = program(box, "world")
    box.make_cluster(2)
    box.mpi([2, 2], world, box.path("file")).end(0)
    run_in_world(box, 4)


@case
def shared_memory_is_used_inside_a_node(box):
    """Without TCP, shared memory is the only transport. Open MPI 5 calls it sm, and accepts vader."""
    box.mpi_here(2, program(box, "world"), box.path("file"), options=["--set", "env.OMPI_MCA_btl=self,vader"]).end(0)
    run_in_world(box, 2)


@case
def mpi_abort_ends_the_job_with_its_code(box):
    endings = program(box, "endings")
    box.make_cluster(2)
    run = box.mpi([2, 1], endings, "abort", "2", "7").end()
    if "cannot tell" in run.words:
        # Rank 0 has noticed that rank 2's connection closed, and has called MPI_Abort itself (14), at the same time within the error of the clocks.
        expect_in("cannot tell which of ranks 0 and 2 was first", run.words, "summary")
        expect(run.code in (7, 14), f"exit code {run.code}")
    else:
        expect_in("rank 2 on node2 called MPI_Abort and ended with code 7", run.words, "summary")
        expect_equal(run.code, 7, "exit code")
    box.expect_no_files()


@case
def a_rank_that_leaves_without_finalize(box):
    run = box.mpi_here(2, program(box, "endings"), "leave", "1").end(65)
    expect_in("MPI_Finalize", run.text, "why")
    box.expect_no_files()


@case
def a_crash_in_a_collective_ends_the_job_at_once(box):
    endings = program(box, "endings")
    box.make_cluster(2)
    box.crash_at_once(endings)
    box.expect_no_files()
