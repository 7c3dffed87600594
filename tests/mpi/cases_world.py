"""Programs that succeed: the ranks form one world, with the neighbours of the plan."""

import os
import subprocess

from case import case
from expectations import Skip, expect, expect_equal, expect_in


def here(box, ranks):
    box.mpi_here(ranks, box.program("world"), box.path("file")).end(0)
    run_in_world(box, ranks)


def run_in_world(box, ranks):
    box.expect_world(ranks)
    box.expect_no_files()


@case
def one_rank(box):
    here(box, 1)


@case
def two_ranks_on_one_machine(box):
    here(box, 2)


@case(alone=True)
def eight_ranks_on_one_machine(box):
    here(box, 8)


@case
def two_nodes_with_two_ranks_each(box):
    box.make_cluster(2)
    run = box.mpi([2, 2], box.program("world"), box.path("file")).end(0)
    run_in_world(box, 4)
    expect_in("4 ranks ok", run.text, "summary")


@case(alone=True)
def four_nodes_with_two_ranks_each(box):
    box.make_cluster(4)
    box.mpi([2, 2, 2, 2], box.program("world"), box.path("file")).end(0)
    run_in_world(box, 8)


@case
def three_ranks_on_one_node_and_one_on_another(box):
    box.make_cluster(2)
    box.mpi([3, 1], box.program("world"), box.path("file")).end(0)
    run_in_world(box, 4)


@case
def the_launchers_machine_is_one_of_the_nodes(box):
    box.make_cluster(1)
    box.start("run", "-n", "4", "--set", "hosts=[{name: launcher, slots: 2}, {name: node1, slots: 2}]", "--set",
              f"connect.ssh={box.cluster.ssh}", "--set", "framework=mpi", "--", box.program("world")).end(0)
    run_in_world(box, 4)


@case
def a_shell_around_the_program(box):
    box.mpi_here(2, "sh", "-c", f"{box.program('world')} | cat; true").end(0)
    run_in_world(box, 2)


@case
def data_that_is_asked_for_when_it_is_needed(box):
    """If Open MPI does not collect all addresses in the fence of MPI_Init, it fetches each of them by PMIx's direct modex."""
    box.make_cluster(2)
    box.mpi([2, 2], box.program("world"), options=["--set", "env.OMPI_MCA_pmix_base_collect_data=0"]).end(0)
    run_in_world(box, 4)


@case
def communicators_of_some_ranks(box):
    box.make_cluster(2)
    box.mpi([2, 1], box.program("endings"), "small", "0").end(0)
    expect_equal(box.rank_output(0), b"small ok 3\n", "output")
    box.expect_no_files()


@case
def a_private_pid_namespace(box):
    box.mpi_here(2, box.program("world"), options=["--set", "isolation=pid-namespace"]).end(0)
    run_in_world(box, 2)


@case
def horovod_is_mpi(box):
    box.start("run", "-n", "2", "--set", "framework=horovod", "--", "sh", "-c",
              f"echo $HOROVOD_CONTROLLER; exec {box.program('world')}").end(0)
    expect_equal(box.rank_output(1), b"mpi\n", "what Horovod reads")


@case(budget=90)
def mpi4py_over_two_nodes(box):
    if subprocess.run(["/usr/bin/python3", "-c", "import mpi4py"], check=False, capture_output=True).returncode != 0:
        raise Skip("missing package: python3-mpi4py")
    box.make_cluster(2)
    script = box.write("sum.py", "from mpi4py import MPI\nimport os\ncomm = MPI.COMM_WORLD\n"
                       "assert comm.size == int(os.environ['WORLD_SIZE']) and comm.rank == int(os.environ['RANK'])\n"
                       "total = comm.allreduce(comm.rank + 1)\n"
                       "assert total == comm.size * (comm.size + 1) // 2\n"
                       "print(comm.gather(os.environ['LOCAL_RANK'], root=0), flush=True)\n")
    run = box.mpi([2, 1], "/usr/bin/python3", script, options=["--set", "mpi.torch_variables=true"], ).end(0, patience=80)
    expect_in(b"['0', '1', '0']", run.out, "local ranks, gathered")
    expect(os.path.exists(script), "the script")


@case
def a_second_attempt_gets_a_server_of_its_own(box):
    script = f'[ -e {box.path("again")} ] && exec {box.program("world")}; touch {box.path("again")}; exec {box.program("endings")} fail 0'
    run = box.mpi_here(1, "sh", "-c", script, options=["--set", "restart.max=1", "--set", "restart.backoff=0s..0s"]).end(0)
    expect_in("attempt 0: rank 0 exited with code 3", run.text, "summary")
    expect_in(b"world ok 1", run.out, "output of the second attempt")
    box.expect_no_files()
