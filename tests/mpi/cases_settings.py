"""Settings of MPI libraries that people have made elsewhere than in the job."""

import os

from case import case
from expectations import expect, expect_equal, expect_in


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
    expect_in("kept: set in a file of Open MPI's", " ".join(plan.out.decode().split()), "the plan")
