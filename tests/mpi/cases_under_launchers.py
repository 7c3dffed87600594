"""dlaunch exec --framework mpi under a real mpirun and a real Hydra: the program's MPI_COMM_WORLD is whole, and it has the variables that the guides
name."""

import json
import shutil

from case import case
from expectations import Skip, expect_equal

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
LAUNCHERS = {"openmpi": ("mpirun.openmpi", ["--oversubscribe"], "mpicc.openmpi"), "hydra": ("mpiexec.hydra", [], "mpicc.mpich")}


def start(box, name, ranks, *words):
    launcher, options, compiler = LAUNCHERS[name]
    program = shutil.which(launcher)
    if program is None:
        raise Skip(f"{launcher} is not installed")
    if not box.compiles(compiler):
        raise Skip(f"{compiler} has no headers")
    return box.start(*options, "-np", str(ranks), box.dlaunch, "exec", *words, "--", "sh", "-c",
                     f"env -0 >$CASE/env.$OMPI_COMM_WORLD_RANK; exec {box.program('world', compiler)}", program=program,
                     env={**AS_ROOT, **box.own_files_of_mpirun()})


def environment(box, rank):
    return dict(entry.split("=", 1) for entry in box.read(f"env.{rank}").decode(errors="replace").split("\0") if entry)


def check_world(box, name):
    run = start(box, name, 3, "--framework", "mpi", "--torch-variables").end(0)
    expect_equal(run.out, b"world ok 3\n", "output of the program")
    for rank in range(3):
        env = environment(box, rank)
        wanted = {"OMPI_COMM_WORLD_SIZE": "3", "OMPI_COMM_WORLD_LOCAL_RANK": str(rank), "OMPI_COMM_WORLD_LOCAL_SIZE": "3",
                  "AZ_BATCHAI_MPI_MASTER_NODE": "127.0.0.1", "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "3",
                  "MASTER_ADDR": "127.0.0.1"}
        expect_equal({key: env.get(key) for key in wanted}, wanted, f"variables of rank {rank}")
        expect_equal(env.get("JSM_JSRUN_PORT"), None, "the sign by which Open MPI looks for another server")


@case
def a_program_of_open_mpi_under_mpirun(box):
    check_world(box, "openmpi")


@case
def a_program_of_mpich_under_hydra(box):
    check_world(box, "hydra")


@case
def horovod_is_told_to_meet_by_mpi(box):
    start(box, "openmpi", 2, "--framework", "horovod").end(0)
    env = environment(box, 1)
    expect_equal((env.get("HOROVOD_CONTROLLER"), env.get("RANK")), ("mpi", None), "what Horovod reads, and no torch variables")


@case
def what_would_be_set_is_shown(box):
    found = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}
    shown = json.loads(box.run("exec", "--framework", "mpi", "--json", env=found).out)
    names = {row["name"] for row in shown["variables"]}
    expect_equal(("AZ_BATCHAI_MPI_MASTER_NODE" in names, "JSM_JSRUN_PORT" in names, "OMPI_UNIVERSE_SIZE" in names), (True, False, False), "names")
