"""Settings of MPI libraries that do not come from the job, and limits set by an administrator or a scheduler."""

import os
import resource

from case import case
from expectations import expect, expect_equal, expect_in


def limits_of(text):
    """The lines of `ulimit -a`, without values that may differ between processes."""
    return [line for line in text.splitlines() if line and "pipe size" not in line]


@case
def ranks_have_the_limits_that_dlaunch_was_started_with(box):
    """An allocation's limits on locked memory, files and core files matter for RDMA, shared memory and post-mortems."""

    def restrict():
        for name, soft, hard in (("MEMLOCK", 1 << 20, 1 << 21), ("NOFILE", 777, 888), ("CORE", 0, 1 << 20), ("STACK", 5 << 20, 6 << 20),
                                 ("NPROC", 11111, 22222), ("FSIZE", 1 << 33, 1 << 34)):
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (soft, hard))

    show = "ulimit -Sa; ulimit -Ha"
    box.mpi_here(2, "bash", "-c", f"{show}; exec {box.program('world')} >&2", before=restrict).end(0)
    wanted = box.start("-c", show, program="/bin/bash", before=restrict).end(0).out.decode()
    for rank in range(2):
        expect_equal(limits_of(box.rank_output(rank).decode()), limits_of(wanted), f"limits of rank {rank}")
    expect("(kbytes, -l) 1024" in " ".join(wanted.split()), f"they are those that were set\n{wanted}")


@case
def ranks_on_a_node_have_the_limits_of_a_login_there(box):
    box.make_cluster(1)
    show = "ulimit -Sa; ulimit -Ha"
    box.mpi([2], "bash", "-c", f"{show}; exec {box.program('world')} >&2").end(0)
    wanted = box.ssh("node1", f"bash -c '{show}'").stdout
    for rank in range(2):
        expect_equal(limits_of(box.rank_output(rank).decode()), limits_of(wanted), f"limits of rank {rank}")


def settings_of(box, rank):
    text = box.read(box.run_folder(), "attempt-0", f"rank-{rank}.err").decode()
    return dict(line.split("=", 1) for line in text.splitlines() if line.startswith("OMPI_MCA_"))


@case
def files_of_open_mpi_count_as_set(box):
    cluster = box.make_cluster(2)
    os.mkdir(cluster[2].home(".openmpi"))
    with open(cluster[2].home(".openmpi", "mca-params.conf"), "w", encoding="ascii") as file:
        file.write("# of the second node\nbtl_tcp_if_exclude = lo,docker0\npml = ob1\nbtl = ^vader  # why\n")
    script = f"env | grep ^OMPI_MCA_ >&2; exec {box.program('world')} {box.path('file')}"
    run = box.mpi([1, 1], "sh", "-c", script).end(0)
    expect_in(b"world ok 2", run.out, "output")
    first, second = settings_of(box, 0), settings_of(box, 1)
    expect_in("OMPI_MCA_btl_tcp_if_include", first, "set where there is no file")
    expect("OMPI_MCA_btl_tcp_if_include" not in second, "Open MPI takes one list or the other")
    expect_equal((first["OMPI_MCA_btl"], second["OMPI_MCA_btl"]), ("self,vader,tcp", "self,tcp"), "what the file excludes")
    hosts = ", ".join(f"{{name: {name}, slots: 1}}" for name in cluster.names)
    plan = box.start("plan", "-n", "2", "--set", f"hosts=[{hosts}]", "--set", f"connect.ssh={cluster.ssh}", "--set", "framework=mpi",
                     "--env", "1", "--", "true").end(0)
    expect_in("kept: set in an Open MPI file", " ".join(plan.out.decode().split()), "the plan")
