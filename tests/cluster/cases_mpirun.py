"""dlaunch exec under an mpirun that reaches the nodes by itself. What mpirun leaves behind is not checked."""

import json
import os
import shutil

from case import case
from expectations import Skip, expect_equal, expect_in

HERE = os.path.dirname(os.path.abspath(__file__))
WORLD = ["/usr/bin/python3", os.path.join(HERE, "ranks", "world.py"), "4"]
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
MOST_DAEMONS = 8  # of mpirun, that may end a little later than mpirun


def rows_by_rank(output):
    """What the ranks have printed, however mpirun has cut and joined their lines."""
    text, at, rows = output.decode(), 0, {}
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        row, at = json.JSONDecoder().raw_decode(text, at)
        rows[int(row["RANK"])] = row
    return rows


def own_dlaunch(box):
    """In a folder that the nodes see, too."""
    return shutil.copy(box.dlaunch, box.path("dlaunch"))


def start_open_mpi(box, *words):
    if shutil.which("mpirun.openmpi") is None:
        raise Skip("mpirun.openmpi is not installed")
    hosts = box.write("hosts", "".join(f"{name} slots=2\n" for name in box.cluster.names))
    return box.start("--hostfile", hosts, "-np", "4", "--bind-to", "none", "--mca", "plm_rsh_agent", box.cluster.ssh,
                     own_dlaunch(box), "exec", *words, program="/usr/bin/mpirun.openmpi", env=AS_ROOT)


def start_hydra(box, *words):
    if shutil.which("mpiexec.hydra") is None:
        raise Skip("mpiexec.hydra is not installed")
    hosts = box.write("hosts", "".join(f"{name}:2\n" for name in box.cluster.names))
    return box.start("-f", hosts, "-n", "4", "-launcher", "ssh", "-launcher-exec", box.cluster.ssh, "-localhost", launcher_address(box),
                     own_dlaunch(box), "exec", *words, program="/usr/bin/mpiexec.hydra")


def launcher_address(box):
    """The address at which the nodes reach the launcher."""
    words = box.ssh(box.cluster.names[0], "echo $SSH_CONNECTION").stdout.split()
    return words[0]


def check_world(box, run):
    run.end(0, left=MOST_DAEMONS)
    rows = rows_by_rank(run.out)
    expect_equal(sorted(rows), [0, 1, 2, 3], "ranks")
    for rank, row in rows.items():
        wanted = {"LOCAL_RANK": rank % 2, "WORLD_SIZE": 4, "LOCAL_WORLD_SIZE": 2, "GROUP_RANK": rank // 2, "GROUP_WORLD_SIZE": 2,
                  "MASTER_ADDR": box.cluster[1].address, "host": box.cluster.names[rank // 2]}
        for name, value in wanted.items():
            expect_equal(row[name], str(value), f"{name} of rank {rank}")


@case
def open_mpi_over_two_nodes_is_one_world(box):
    box.make_cluster(2)
    check_world(box, start_open_mpi(box, "--master-addr", box.cluster[1].address, "--", *WORLD))


@case
def hydra_over_two_nodes_is_one_world(box):
    box.make_cluster(2)
    check_world(box, start_hydra(box, "--master-addr", box.cluster[1].address, "--", *WORLD))


@case
def without_an_address_every_rank_says_what_is_missing(box):
    box.make_cluster(2)
    run = start_open_mpi(box, "--", *WORLD).end(75, left=MOST_DAEMONS)
    expect_in("--master-addr HOST, the host of rank 0", run.text, "message")


@case
def ranks_that_do_not_count_up_node_by_node_are_refused(box):
    box.make_cluster(2)
    hosts = box.write("hosts", "".join(f"{name} slots=2\n" for name in box.cluster.names))
    if shutil.which("mpirun.openmpi") is None:
        raise Skip("mpirun.openmpi is not installed")
    run = box.start("--hostfile", hosts, "-np", "4", "--map-by", "node", "--bind-to", "none", "--mca", "plm_rsh_agent", box.cluster.ssh,
                    own_dlaunch(box), "exec", "--master-addr", box.cluster[1].address, "--", *WORLD, program="/usr/bin/mpirun.openmpi",
                    env=AS_ROOT).end(75, left=MOST_DAEMONS)
    expect_in("ranks are not numbered node by node", run.text, "message")


def check_export(box, program, ranks):
    """The script of `dlaunch export mpirun`, as a user would start it."""
    if shutil.which(program) is None:
        raise Skip(f"{program} is not installed")
    folder = box.make_folder("bin")
    shutil.copy(box.dlaunch, os.path.join(folder, "dlaunch"))
    env = {"PATH": folder + ":" + box.environment["PATH"], **AS_ROOT}
    hosts = ", ".join(f"{{name: {name}, slots: {slots}}}" for name, slots in zip(box.cluster.names, ranks))
    text = box.run("export", "mpirun", "--mpirun", program, "--set", f"hosts=[{hosts}]", "--set", f"connect.ssh={box.cluster.ssh}",
                   "--set", f"processes={sum(ranks)}", "--", *WORLD, env=env).out
    return box.start(box.write("job.sh", text), program="/bin/sh", env=env)


@case
def an_exported_script_for_open_mpi_runs_over_two_nodes(box):
    box.make_cluster(2)
    check_world(box, check_export(box, "mpirun.openmpi", [2, 2]))


@case
def an_exported_script_for_hydra_runs_over_two_nodes(box):
    """Hydra's proxies connect to the address that mpiexec's host has for them."""
    box.make_cluster(2)
    run = check_export(box, "mpiexec.hydra", [2, 2])
    check_world(box, run)


@case
def an_exported_script_for_hydra_knows_uneven_nodes(box):
    box.make_cluster(2)
    rows = rows_by_rank(check_export(box, "mpiexec.hydra", [3, 1]).end(0, left=MOST_DAEMONS).out)
    expect_equal([rows[rank]["GROUP_RANK"] + rows[rank]["LOCAL_RANK"] for rank in range(4)], ["00", "01", "02", "10"], "node and local rank")


@case
def an_exported_script_knows_uneven_nodes(box):
    box.make_cluster(2)
    run = check_export(box, "mpirun.openmpi", [3, 1]).end(0, left=MOST_DAEMONS)
    rows = rows_by_rank(run.out)
    expect_equal([rows[rank]["GROUP_RANK"] + rows[rank]["LOCAL_RANK"] for rank in range(4)], ["00", "01", "02", "10"], "node and local rank")
    expect_equal(rows[3]["host"], box.cluster.names[1], "host of rank 3")
