"""Programs of MPICH and of libraries that start in the same way (Intel MPI, MPICH 5 from PyPI): by PMI-1, which the agents themselves speak."""

import os
import subprocess

from case import case
from expectations import Skip, expect, expect_equal, expect_in
from cases_world import run_in_world
from mpi_sandbox import HIDE_PMIX, summary

DEBIAN = "mpicc.mpich"
VENVS = os.path.expanduser("~/.cache/dlaunch-test")


def mpich(box, name="world"):
    if not box.compiles(DEBIAN):
        raise Skip("missing package: libmpich-dev")
    return box.program(name, DEBIAN)


def from_pypi(box, venv, package, name):
    compiler = os.path.join(VENVS, venv, "bin", "mpicc")
    if not os.path.exists(compiler):
        raise Skip(f"missing: {package} in ~/.cache/dlaunch-test/{venv} (docs/internals/testing.md)")
    return box.program(name, compiler)


def here(box, ranks):
    box.mpi_here(ranks, mpich(box), box.path("file")).end(0)
    run_in_world(box, ranks)


def over_nodes(box, shape, program, *arguments, options=()):
    box.make_cluster(len(shape))
    return box.mpi(shape, program, *arguments, options=options)


@case
def mpich_one_rank(box):
    here(box, 1)


@case
def mpich_two_ranks_on_one_machine(box):
    here(box, 2)


@case(alone=True)
def mpich_eight_ranks_on_one_machine(box):
    here(box, 8)


def mpich_over_nodes(box, shape):
    """It ends with MPI_Abort; world.c says why. The MPICH 5 cases below test MPI_Finalize over nodes."""
    run = over_nodes(box, shape, mpich(box), box.path("file"), "42").end(42, patience=60)
    run_in_world(box, sum(shape))
    expect_in("rank 0 on node1 called MPI_Abort", run.words, "summary")


@case
def mpich_two_nodes_with_two_ranks_each(box):
    mpich_over_nodes(box, [2, 2])


@case(alone=True, budget=90)
def mpich_four_nodes_with_two_ranks_each(box):
    mpich_over_nodes(box, [2, 2, 2, 2])


@case
def mpich_finalize_over_nodes(box):
    """The ranks have sent no messages, so only dlaunch serves their barriers."""
    run = over_nodes(box, [2, 1], mpich(box, "init")).end(0, patience=60)
    expect_in("3 ranks ok", run.text, "summary")
    box.expect_no_files()


@case
def mpich_three_ranks_on_one_node_and_one_on_another(box):
    mpich_over_nodes(box, [3, 1])


@case
def mpich_in_a_shell_and_a_private_pid_namespace(box):
    box.mpi_here(2, "sh", "-c", f"{mpich(box)} | cat; true", options=["--set", "isolation=pid-namespace"]).end(0)
    run_in_world(box, 2)


@case
def mpich_a_second_attempt_meets_anew(box):
    script = f'[ -e {box.path("again")} ] && exec {mpich(box)}; touch {box.path("again")}; exec {mpich(box, "endings")} fail 0'
    run = box.mpi_here(1, "sh", "-c", script, options=["--set", "restart.max=1", "--set", "restart.backoff=0s..0s"]).end(0)
    expect_in(b"world ok 1", run.out, "output of the second attempt")


@case
def mpich_needs_no_openpmix(box):
    """A note names the node without it, and the program still runs."""
    program = mpich(box)
    box.make_cluster(2)
    box.cluster[2].sh(HIDE_PMIX)
    run = box.mpi([1, 1], program, box.path("file"), "42").end(42, patience=60)
    run_in_world(box, 2)
    expect_in("node2: dlaunch-pmix cannot run: ", run.words, "note")


@case
def mpich_without_a_pmix_server(box):
    run = box.mpi_here(2, "sh", "-c", f"env | grep -c PMIX_; exec {mpich(box)}", options=["--set", "mpi.pmi=pmi-1"]).end(0)
    expect_equal(box.rank_output(1), b"0\n", "variables of PMIx")
    expect("dlaunch-pmix" not in run.text, run.text)


@case
def mpich_where_only_pmix_is_wanted(box):
    """If the library uses a protocol other than the job's, N worlds of one do not count as success."""
    run = box.mpi_here(2, mpich(box, "init"), options=["--set", "mpi.pmi=pmix"]).end(65)
    expect_equal(summary(box)["cause"], "mpi", "summary.json")
    expect_in("PMI-1 (MPICH", run.words, "why")


@case
def the_plan_shows_what_is_set(box):
    text = box.start("plan", "-n", "2", "--set", "framework=mpi", "--set", "mpi.oversubscribe=true", "--env", "1", "--", "true").end(0).out.decode()
    for variable in ("PMI_RANK=1", "PMI_SIZE=2", "PMI_FD=29", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2", "MPIR_CVAR_PMI_VERSION=1",
                     "JSM_JSRUN_PORT=0"):
        expect(any(line.split()[:1] == [variable] for line in text.splitlines()), f"{variable} in\n{text}")


# ---- other endings


@case
def mpich_abort_ends_the_job_with_its_code(box):
    run = over_nodes(box, [2, 1], mpich(box, "endings"), "abort", "2", "7").end(7)
    expect_in("rank 2 on node2 called MPI_Abort and ended with code 7", run.words, "summary")
    expect_equal(summary(box)["ranks"][2]["mpi"], "aborted", "summary.json")
    box.expect_no_files()


@case
def mpich_abort_in_a_shell_that_goes_on(box):
    box.mpi_here(2, "sh", "-c", f"{mpich(box, 'endings')} abort 0 7; sleep 1000").end(7)


@case
def mpich_a_crash_in_a_collective_ends_the_job_at_once(box):
    program = mpich(box, "endings")
    box.make_cluster(2)
    run = box.crash_at_once(program)
    expect_in("rank 1 on node2 was killed by SIGSEGV", run.words, "summary")
    box.expect_no_files()


@case
def mpich_a_rank_that_leaves_without_finalize(box):
    run = box.mpi_here(2, mpich(box, "endings"), "leave", "1").end(65)
    expect_in("rank 1", run.text, "who left")
    expect_in("MPI_Finalize", run.text, "why")


@case
def mpich_spawning_is_refused(box):
    run = box.mpi_here(2, mpich(box, "endings"), "spawn", "0")
    run.end()
    expect(run.code not in (0, 98), f"exit code {run.code}")
    expect_in(b"MPI_Comm_spawn", run.out + run.err, "the program's own error")


@case
def mpich_without_its_descriptor(box):
    """For example, because a wrapper has closed unknown descriptors (Python's subprocess.Popen). The program is then a world of one, or fails."""
    box.mpi_here(2, "env", "-u", "PMI_FD", mpich(box, "init")).end(65)


@case
def mpich_ranks_of_two_libraries_do_not_wait_for_each_other(box):
    """Neither on one node nor on two."""
    program = f"[ $PMI_RANK = 1 ] && exec {mpich(box)}; exec {box.program('world')}"
    box.make_cluster(2)
    for shape in ([2], [1, 1]):
        run = box.mpi(shape, "sh", "-c", program)
        run.end()
        expect(run.code != 0, "it failed")
        expect_in("all ranks of a job must use the same MPI library", run.words, "note")


TRICKS = """
import os, socket, sys
rank = socket.socket(fileno=int(os.environ["PMI_FD"]))
def play(trick):
    if trick == "garbage":
        rank.sendall(os.urandom(3000) + b"\\n")
    elif trick == "endless":
        rank.sendall(b"cmd=put key=" + b"x" * 1000000)
    elif trick == "unknown":
        rank.sendall(b"cmd=fullinit pmirank=0\\n")
    elif trick == "deaf":
        while True:
            rank.sendall(b"cmd=get_my_kvsname\\n" * 1000)
    elif trick == "spawn":
        rank.sendall(b"mcmd=spawn\\ntotspawns=1\\nspawnssofar=1\\narg1=x\\nendcmd\\n")
        assert b"rc=-1" in rank.recv(4096)
        sys.exit(7)
    elif trick == "arguments":
        rank.sendall(b"mcmd=spawn\\ntotspawns=99\\n" + b"x=y\\n" * 300000)
    elif trick == "later":
        rank.sendall(b"cmd=init pmi_version=2 pmi_subversion=0\\n")
try:
    play(sys.argv[1])
    while rank.recv(4096):
        pass
except OSError:
    pass
sys.exit(7)
"""


@case
def a_client_that_plays_tricks_harms_only_itself(box):
    script = box.write("tricks.py", TRICKS)
    for trick in ("garbage", "endless", "unknown", "deaf", "spawn", "arguments", "later"):
        run = box.mpi_here(1, "/usr/bin/python3", script, trick).end(7)
        if trick == "spawn":
            expect_in("rank 0 called MPI_Comm_spawn, which is not possible here", run.words, "note")
        elif trick != "deaf":
            expect_in("sends malformed PMI-1 messages", run.words, f"note about {trick}")


# ---- MPICH 5, Intel MPI


def world_of(box, venv, package, shape):
    program = from_pypi(box, venv, package, "world")
    over_nodes(box, shape, program, box.path("file")).end(0, patience=80)
    run_in_world(box, sum(shape))


def abort_of(box, venv, package):
    program = from_pypi(box, venv, package, "endings")
    run = over_nodes(box, [2, 1], program, "abort", "2", "7").end(7, patience=80)
    expect_in("rank 2 on node2 called MPI_Abort and ended with code 7", run.words, "summary")


@case(budget=90)
def mpich_5_over_two_nodes(box):
    world_of(box, "mpich-venv", "mpich", [2, 2])


@case(alone=True, budget=90)
def mpich_5_over_four_nodes(box):
    world_of(box, "mpich-venv", "mpich", [2, 2, 2, 2])


@case(budget=90)
def mpich_5_over_uneven_nodes(box):
    world_of(box, "mpich-venv", "mpich", [3, 1])


@case(budget=90)
def mpich_5_one_program_after_another(box):
    """This library keeps its descriptor open; MPICH 4.0 shuts the socket down."""
    program = from_pypi(box, "mpich-venv", "mpich", "world")
    box.mpi_here(2, "sh", "-c", f"{program} && exec {program}").end(0)
    expect_equal(box.rank_output(0), b"world ok 2\nworld ok 2\n", "output")


@case(budget=90)
def mpich_5_abort(box):
    abort_of(box, "mpich-venv", "mpich")


@case(budget=90)
def intel_mpi_over_two_nodes(box):
    world_of(box, "impi-venv", "impi-rt and impi-devel", [2, 2])


@case(budget=90)
def intel_mpi_abort(box):
    abort_of(box, "impi-venv", "impi-rt and impi-devel")


@case(budget=90)
def mpi4py_with_mpich(box):
    """mpi4py from PyPI uses the MPI library that MPI4PY_MPIABI or the loader selects."""
    python = os.path.join(VENVS, "mpich-venv", "bin", "python")
    if not os.path.exists(python) or subprocess.run([python, "-c", "import mpi4py"], check=False, capture_output=True).returncode:
        raise Skip("missing: mpi4py in ~/.cache/dlaunch-test/mpich-venv (docs/internals/testing.md)")
    script = box.write("sum.py", "from mpi4py import MPI\nimport os\ncomm = MPI.COMM_WORLD\n"
                       "assert comm.size == int(os.environ['DLAUNCH_WORLD_SIZE']) and comm.rank == int(os.environ['DLAUNCH_RANK'])\n"
                       "assert 'MPICH' in MPI.Get_library_version()\n"
                       "print(comm.allreduce(comm.rank + 1), flush=True)\n")
    over_nodes(box, [2, 1], python, script).end(0, patience=80)
    expect_equal([box.rank_output(rank) for rank in range(3)], [b"6\n"] * 3, "sums")
