"""MPI programs in an allocation: dlaunch itself serves PMIx and PMI-1, on nodes that it reaches by srun."""

import os

from case import case
from cases_outside import summary_of
from expectations import Skip, expect_equal, expect_in

MPICH = os.path.expanduser("~/.cache/dlaunch-test/mpich-venv/bin/mpicc")


def submit(box, *program, options):
    return box.submit("run", "--set", "framework=mpi", "--", *program, options=options)


def open_mpi(box, name="world"):
    if not box.compiles("mpicc.openmpi"):
        raise Skip("missing package: libopenmpi-dev")
    return box.program(name)


@case(budget=90)
def open_mpi_over_two_nodes(box):
    program = open_mpi(box)
    box.make_slurm(2)
    job = submit(box, program, box.path("file"), options=["-N2", "--ntasks-per-node=2"])
    box.end_of_job(job, 0, "COMPLETED", patience=60)
    box.expect_world(4)


@case(budget=90)
def open_mpi_with_uneven_tasks_and_dlaunch_outside(box):
    program = open_mpi(box)
    box.make_slurm(2)
    box.allocate("run", "--set", "framework=mpi", "--", program, options=["-N2", "-n3"]).end(0, patience=60)
    box.expect_world(3)


@case(budget=90)
def mpi_abort_is_the_jobs_exit_code(box):
    program = open_mpi(box)
    box.make_slurm(2)
    job = submit(box, program, box.path("file"), "42", options=["-N2", "--ntasks-per-node=1"])
    box.end_of_job(job, 42, "FAILED", patience=60)
    box.expect_world(2)
    expect_in("called MPI_Abort", " ".join(box.batch_text().split()), "why")
    expect_equal(summary_of(box)["exit_code"], 42, "exit code in the report")


@case(budget=90)
def mpich_over_two_nodes(box):
    if not os.path.exists(MPICH):
        raise Skip("missing: mpich in ~/.cache/dlaunch-test/mpich-venv (docs/internals/testing.md)")
    program = box.program("world", MPICH)
    box.make_slurm(2)
    job = submit(box, program, box.path("file"), options=["-N2", "--ntasks-per-node=2"])
    box.end_of_job(job, 0, "COMPLETED", patience=60)
    box.expect_world(4)
