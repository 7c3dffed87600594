"""The library over MPI."""

import os
import re
import shutil
import signal

from case import case
from expectations import Skip, expect, expect_equal, expect_in

# The least number of elements that rank 0 must compare, for all ten types, five operations and nine calls.
LEAST = 100_000


def said(run):
    return run.out.decode()


def reference(box, ranks, timeout_ms):
    run = box.mpi_here(ranks, box.built("reference"), "mpi", str(timeout_ms)).end(0)
    told = re.search(r"compared (\d+) on rank 0, mpi: Open MPI v", said(run))
    expect(told and int(told[1]) > LEAST, f"{LEAST} comparisons: {said(run)}")


@case
def one_rank_against_the_reference(box):
    reference(box, 1, 0)


@case
def two_ranks_against_the_reference(box):
    reference(box, 2, 0)


@case
def two_ranks_against_the_reference_with_a_time_out(box):
    reference(box, 2, 60000)


@case
def three_ranks_against_the_reference_with_a_time_out(box):
    reference(box, 3, 60000)


@case(alone=True)
def eight_ranks_against_the_reference(box):
    reference(box, 8, 0)


@case(alone=True, long=True)
def every_number_of_ranks_against_the_reference(box):
    for ranks in range(4, 8):
        reference(box, ranks, 0)
        reference(box, ranks, 120000)


@case
def two_nodes_against_the_reference(box):
    box.make_cluster(2)
    run = box.mpi([2, 1], box.built("reference"), "mpi", "60000").end(0, patience=60)
    expect_in("compared", said(run), "what rank 0 says")


@case
def a_missing_rank_is_reported_in_time(box):
    run = box.mpi_here(3, box.built("endings"), "late").end(7)
    expect_in("said in time", said(run), "the others")


@case
def a_rank_that_dies_in_a_collective_ends_the_call(box):
    box.make_cluster(2)
    run = box.mpi([1, 2], box.built("endings"), "die").end(128 + signal.SIGKILL)
    expect_in("rank 1 on node2 was killed by SIGKILL", run.words, "summary")
    box.expect_no_files()


@case
def abort_ends_all_with_its_code(box):
    run = box.mpi_here(3, box.built("endings"), "abort").end(9)
    expect_in("rank 1", run.text, "who aborted")


@case
def wrong_arguments_are_errors_without_further_effect(box):
    box.mpi_here(2, box.built("endings"), "arguments").end(0)


@case
def parts_of_a_world_and_a_second_communicator(box):
    box.mpi_here(5, box.built("endings"), "parts").end(0)


@case
def after_the_last_communicator_there_is_no_other(box):
    box.mpi_here(2, box.built("endings"), "after_the_last").end(0)


@case
def without_a_gpu_it_reports_that_and_uses_mpi(box):
    if os.path.exists("/dev/nvidiactl"):
        raise Skip("there is a GPU")
    run = box.mpi_here(2, box.built("endings"), "no_nccl").end(0)
    expect_in("nccl: ", said(run), "why there is no NCCL")


@case
def the_example_of_the_documents(box):
    """It is built in its own folder against the installed library, as its README says."""
    example = shutil.copytree(os.path.dirname(os.path.dirname(box.built("average"))), box.path("example"))
    run = box.start("run", "job.yaml", cwd=example).end(0)
    lines = set(re.findall(r"rank \d of 4: (y = [-0-9.]+ x [-+0-9.]+)", said(run)))
    expect_equal(lines, {"y = 3.00 x -1.00"}, "the model of all four ranks")


@case
def bytes_of_rank_0_reach_all_without_mpi(box):
    """NCCL's unique id is exchanged in this way."""
    box.make_cluster(2)
    run = box.mpi([2, 1], box.built("exchange")).end(0)
    expect_in("3 ranks agree", said(run), "rank 0")


def need_gpu():
    if not os.path.exists("/dev/nvidiactl"):
        raise Skip("no GPU here (/dev/nvidiactl)")


@case
def mpi_with_device_buffers_against_the_reference(box):
    """Two ranks may share a GPU, because MPI can access its memory, or the library copies through host memory."""
    need_gpu()
    run = box.mpi_here(2, box.built("reference"), "mpi", "120000", "device").end(0)
    expect_in("compared", said(run), "what rank 0 says")


@case
def nccl_against_the_reference(box):
    need_gpu()
    if "built without NCCL" in box.run("collectives", "--probe").out.decode():
        raise Skip("this dlaunch was built without NCCL")
    run = box.mpi_here(1, box.built("reference"), "nccl", "120000").end(0)
    expect_in("nccl: 2.", said(run), "the back-end")
