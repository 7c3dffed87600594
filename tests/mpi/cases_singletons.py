"""Programs whose world is not the job's: every rank, or some ranks, are worlds of their own, or the world has another size. None of these is a
success, and dlaunch reports the reason. Also programs that look similar but are correct."""

import os
import shutil

from case import case
from cases_mpich import DEBIAN, from_pypi, mpich
from expectations import Skip, expect, expect_equal, expect_in
from mpi_sandbox import summary

ALONE = ["env", "PMI_SIZE=1", "PMI_RANK=0"]
WITHOUT_PMIX = ["env", "-u", "PMIX_NAMESPACE", "-u", "JSM_JSRUN_PORT", "-u", "PMIX_RANK"]


def expect_other_world(box, run, size, planned):
    run.end(65)
    expect_in(f"exited from an MPI world of {size}", run.words, "what happened")
    expect_in(f"are one world of {planned}", run.words, "what the job has")
    expect_in("PMI_SIZE", run.words, "why")
    expect_in("mpi.init: optional", run.words, "what to do")
    found = summary(box)
    expect_equal((found["cause"], found["origin"]), ("mpi", "dlaunch"), "summary.json")
    expect_in("other-world", [rank["mpi"] for rank in found["ranks"]], "summary.json")
    box.expect_no_files()


# ---- MPICH takes the size of its world from its environment


@case
def mpich_ranks_that_are_each_a_world_of_one(box):
    run = box.mpi_here(2, *ALONE, mpich(box, "init"))
    expect_other_world(box, run, "1 rank", 2)
    expect_in("starts an MPI world of 1, but the job has 2 ranks", run.words, "the note at its start")


@case
def mpich_ranks_without_their_place(box):
    box.make_cluster(2)
    expect_other_world(box, box.mpi([2, 1], "env", "-u", "PMI_SIZE", "-u", "PMI_RANK", mpich(box, "init")), "1 rank", 3)


@case
def mpich_a_program_that_cleans_its_own_environment(box):
    """This is invisible from outside; only the requests of the program show it."""
    run = box.mpi_here(2, mpich(box, "alone"))
    expect_other_world(box, run, "1 rank", 2)
    expect("starts an MPI world" not in run.words, "a note of what cannot be known")


@case
def mpich_one_rank_of_several_is_a_world_of_its_own(box):
    """On one node and on two. Any rank may fail first, because the others may connect to the one that has no data for them."""
    script = f"[ $PMI_RANK = 1 ] && exec env PMI_SIZE=1 PMI_RANK=0 {mpich(box, 'init')}; exec {mpich(box)}"
    box.make_cluster(2)
    for shape in ([2], [1, 1]):
        run = box.mpi(shape, "sh", "-c", script)
        run.end()
        expect(run.code != 0, "it failed")
        expect_in("rank 1 starts an MPI world of 1, but the job has 2 ranks", run.words, "who, and why")
    box.expect_no_files()


@case
def mpich_ranks_that_believe_in_more_than_there_are(box):
    """They would wait for the third rank forever, so they must not start, not even with mpi.init: optional."""
    expect_other_world(box, box.mpi_here(2, "env", "PMI_SIZE=3", mpich(box, "init"), options=["--set", "mpi.init=optional"]), "3 ranks", 2)


@case
def mpich_two_worlds_in_one_job(box):
    """For example, a wrapper may divide the ranks into two worlds."""
    script = f"PMI_SIZE=2; PMI_RANK=$((PMI_RANK % 2)); exec {mpich(box, 'init')}"
    box.make_cluster(2)
    expect_other_world(box, box.mpi([2, 2], "sh", "-c", script), "2 ranks", 4)


@case(budget=90)
def mpich_5_ranks_that_are_each_a_world_of_one(box):
    expect_other_world(box, box.mpi_here(2, *ALONE, from_pypi(box, "mpich-venv", "mpich", "init")), "1 rank", 2)


@case(budget=90)
def intel_mpi_ranks_that_are_each_a_world_of_one(box):
    expect_other_world(box, box.mpi_here(2, *ALONE, from_pypi(box, "impi-venv", "impi-rt and impi-devel", "init")), "1 rank", 2)


# ---- Open MPI gets it from the server, if it finds that


@case
def one_rank_of_several_that_does_not_find_the_server(box):
    """The other rank waits for it in MPI_Init, and is ended. The case does not check the files in /tmp, where a world of one leaves some."""
    script = f"[ $OMPI_COMM_WORLD_RANK = 1 ] && exec {' '.join(WITHOUT_PMIX)} {box.program('init')}; exec {box.program('world')}"
    box.make_cluster(2)
    for shape in ([2], [1, 1]):
        run = box.mpi(shape, "sh", "-c", script).end(65)
        expect_in("rank 1 on", run.words, "who")
        expect_in("exited without having called MPI_Init", run.words, "what happened")


@case
def ranks_with_an_empty_environment(box):
    """With env -i or sudo, the program has none of the variables that identify its rank."""
    path = f"PATH={os.environ['PATH']}"
    programs = [box.program("init")] + ([box.program("init", DEBIAN)] if box.compiles(DEBIAN) else [])
    for program in programs:
        run = box.mpi_here(2, "env", "-i", path, program).end(65)
        expect_in("exited without having called MPI_Init", run.words, "what happened")


@case
def two_ranks_that_take_the_same_place(box):
    run = box.mpi_here(2, "env", "PMIX_RANK=0", box.program("init"), options=["--set", "timeouts.run=20s"])
    run.end()
    expect(run.code != 0, "it failed")


@case
def open_mpi_where_only_pmi_1_is_wanted(box):
    run = box.mpi_here(2, box.program("init"), options=["--set", "mpi.pmi=pmi-1"]).end(65)
    expect_in("exited without having called MPI_Init", run.words, "what happened")


# ---- correct programs


@case
def a_world_of_its_own_where_that_is_meant(box):
    box.mpi_here(2, *ALONE, mpich(box, "init"), options=["--set", "mpi.init=optional"]).end(0)


@case
def a_single_rank_is_a_world_of_one(box):
    box.mpi_here(1, *ALONE, mpich(box, "init")).end(0)


@case
def sessions_of_mpi_without_a_world(box):
    """The variables of each rank still describe the whole job, which it joins."""
    box.mpi_here(2, mpich(box, "session")).end(0)
    expect_equal([box.rank_output(rank) for rank in range(2)], [b"session of 1\n"] * 2, "output")


@case(budget=90)
def sessions_of_mpich_5_without_a_world(box):
    box.mpi_here(2, from_pypi(box, "mpich-venv", "mpich", "session")).end(0)
    expect_equal([box.rank_output(rank) for rank in range(2)], [b"session of 1\n"] * 2, "output")


@case(budget=90)
def mpich_5_something_of_its_own_before_the_job(box):
    """A script in which each rank first runs a program alone, and then the program of the job."""
    box.mpi_here(2, "sh", "-c", f"env PMI_SIZE=1 PMI_RANK=0 {from_pypi(box, 'mpich-venv', 'mpich', 'init')} && "
                 f"exec {from_pypi(box, 'mpich-venv', 'mpich', 'world')}").end(0)
    expect_equal(box.rank_output(0), b"world ok 2\n", "output")


@case(budget=90)
def mpich_5_that_does_not_ask_who_is_a_neighbour(box):
    box.mpi_here(2, from_pypi(box, "mpich-venv", "mpich", "init"), options=["--set", "env.MPIR_CVAR_NOLOCAL=1"]).end(0)


@case
def a_rank_that_ends_early_with_an_error_of_its_own(box):
    run = box.mpi_here(2, "sh", "-c", f"[ $PMI_RANK = 1 ] && exit 3; exec {mpich(box)}").end(3)
    expect_in("exited with code 3", run.words, "what happened")


# ---- mpirun as the starter of the ranks


def by_mpirun(box, program, text):
    if shutil.which(program) is None:
        raise Skip(f"{program} is not installed")
    wrapper = box.write("mpirun-of-the-site", text)
    os.chmod(wrapper, 0o755)
    return ["--set", "mpi.launcher=mpirun", "--set", f"mpi.program={wrapper}"]


def another_number(program, option):
    """A site's wrapper that changes the number of ranks."""
    return (f'#!/bin/sh\n[ "$1" = --version ] && exec {program} --version\nbefore=\nfor word; do\n  [ "$before" = {option} ] && word=3\n'
            f'  case $word in ppr:*) word=slot ;; esac\n  before=$word\n  set -- "$@" "$word"\n  shift\ndone\nexec {program} "$@"\n')


def mpirun_starts_another_number(box, program, option, extra=()):
    run = box.mpi_here(2, box.program("world"), options=[*by_mpirun(box, program, another_number(program, option)), *extra])
    run.end()
    expect(run.code != 0, "it failed")
    expect_in("mpirun started 3 ranks, but the job has 2", run.words, "why")
    expect_equal(summary(box)["cause"], "mpirun", "summary.json")


@case
def an_open_mpi_that_starts_another_number_of_ranks(box):
    mpirun_starts_another_number(box, "mpirun.openmpi", "-np", ["--set", "env.OMPI_MCA_rmaps_base_oversubscribe=1", "--set", "binding.cpus=none"])


@case
def a_hydra_that_starts_another_number_of_ranks(box):
    mpirun_starts_another_number(box, "mpiexec.hydra", "-n")


@case
def ranks_of_hydra_that_are_each_a_world_of_one(box):
    if shutil.which("mpiexec.hydra") is None:
        raise Skip("mpiexec.hydra is not installed")
    run = box.mpi_here(2, *ALONE, mpich(box, "init"), options=["--set", "mpi.launcher=mpirun", "--set", "mpi.program=mpiexec.hydra"]).end(65)
    expect_in("exited from an MPI world of 1 rank", run.words, "what happened")
    expect_equal(summary(box)["cause"], "mpi", "summary.json")


# ---- variables of an outer launcher


OUTER = {"JSM_JSRUN_PORT": "40123", "JSM_NAMESPACE_RANK": "3", "JSM_NAMESPACE_SIZE": "7", "PMIX_NAMESPACE": "4711.0", "PMIX_RANK": "3",
         "PMIX_SERVER_URI2": "4711.0;tcp4://127.0.0.1:9", "PMIX_SERVER_URI41": "4711.0;tcp4://127.0.0.1:9", "PMI_RANK": "3", "PMI_SIZE": "7",
         "PMI_FD": "63", "OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "7", "OMPI_MCA_ess": "^singleton", "OMPI_MCA_pmix": "^isolated",
         "OMPI_MCA_orte_ess_num_procs": "7", "HYDI_CONTROL_FD": "62", "SLURM_PROCID": "3", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "7",
         "PALS_RANKID": "3", "PRTE_LAUNCHED": "1"}


def misleads_no_rank(box, program):
    """Its variables are in dlaunch's own environment, which ranks on this machine inherit."""
    box.mpi_here(2, program, env=OUTER).end(0)
    expect_equal(box.rank_output(0) + box.rank_output(1), b"world ok 2\n", "output")


@case
def what_an_outer_launcher_has_left_misleads_no_rank_of_open_mpi(box):
    misleads_no_rank(box, box.program("world"))


@case
def what_an_outer_launcher_has_left_misleads_no_rank_of_mpich(box):
    misleads_no_rank(box, mpich(box))


@case
def a_program_of_mpi_in_a_job_that_is_none_is_a_world_of_one(box):
    """It starts as it does without a launcher. Variables of a launcher would make it look for the servers of that launcher."""
    programs = [box.program("init")] + ([box.program("init", DEBIAN)] if box.compiles(DEBIAN) else [])
    for program in programs:
        box.start("run", "-n", "2", "--set", "framework=none", "--", program, env=OUTER).end(0)


@case
def dlaunch_inside_of_another_launcher(box):
    """For example, in a script that was started with mpirun -np 1."""
    found = 0
    for launcher in ("mpirun.openmpi", "mpiexec.hydra"):
        if shutil.which(launcher) is None:
            continue
        found += 1
        run = box.start("-np", "1", box.dlaunch, "run", "-n", "2", "--set", "framework=mpi", "--set", "mpi.oversubscribe=true", "--", box.program("world"),
                        program=shutil.which(launcher),
                        env={"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **box.own_files_of_mpirun()}).end(0)
        expect_in("2 ranks ok", run.text, f"summary under {launcher}")
        expect_in(b"world ok 2", run.out, f"output under {launcher}")
    if not found:
        raise Skip("neither mpirun.openmpi nor mpiexec.hydra is installed")
