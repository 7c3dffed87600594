"""srun dlaunch exec: Slurm starts the tasks, which get the variables that dlaunch run would have set."""

import json

from case import case
from cases_inside import WORLD
from expectations import Skip, expect, expect_equal, expect_in

NODES = ("node1", "node1", "node2")  # of the tasks of srun -N2 -n3, which fills the first node
PROFILES = ("pytorch", "deepspeed", "jax", "tensorflow", "gcp", "mpi", "horovod", "none")


def script(box, *lines):
    """A script for sbatch; in each line, `dlaunch exec` replaces EXEC."""
    return "#!/bin/sh\nset -e\n" + "".join(line.replace("EXEC", f"{box.dlaunch} exec") + "\n" for line in lines)


def environment(box, name):
    return dict(entry.split("=", 1) for entry in box.read(name).decode(errors="replace").split("\0") if "=" in entry)


def keep_environment(box, name, words):
    """A line for one step, in which each task writes its environment to NAME.TASK. It sets TASK because SLURM_PROCID is gone by then."""
    return f"srun -N2 -n3 sh -c 'export TASK=$SLURM_PROCID; exec EXEC {words} -- sh -c \"env -0 >{box.folder}/{name}.$TASK\"'"


def place(rank):
    """What all profiles have in common."""
    node = NODES[rank]
    return {"node": ("node1", "node2").index(node), "local": NODES[:rank].count(node), "of": NODES.count(node)}


def torch_variables(rank):
    at = place(rank)
    return {"RANK": rank, "LOCAL_RANK": at["local"], "WORLD_SIZE": 3, "LOCAL_WORLD_SIZE": at["of"], "NODE_RANK": at["node"],
            "GROUP_RANK": at["node"], "GROUP_WORLD_SIZE": 2, "MASTER_ADDR": "node1"}


def mpi_variables(rank):
    at = place(rank)
    return {"OMPI_COMM_WORLD_RANK": rank, "OMPI_COMM_WORLD_SIZE": 3, "OMPI_COMM_WORLD_LOCAL_RANK": at["local"],
            "OMPI_COMM_WORLD_LOCAL_SIZE": at["of"], "AZ_BATCHAI_MPI_MASTER_NODE": "node1"}


def wanted(profile, rank):
    """The variables that must have these values; None: the variable must not exist. docs/reference/variables.md, docs/how-to/run-mpi-programs.md."""
    no_torch = dict.fromkeys(("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR"))
    if profile in ("pytorch", "deepspeed"):
        return torch_variables(rank)
    if profile == "jax":
        return {"OMPI_COMM_WORLD_SIZE": 3, "OMPI_COMM_WORLD_RANK": rank, "OMPI_COMM_WORLD_LOCAL_RANK": place(rank)["local"],
                "COORDINATOR_ADDRESS": "node1", "NUM_PROCESSES": 3, "PROCESS_ID": rank}
    if profile == "mpi":
        return {**mpi_variables(rank), **no_torch}
    if profile == "horovod":
        return {**mpi_variables(rank), **no_torch, "HOROVOD_CONTROLLER": "mpi"}
    if profile == "gcp":
        return {"RANK": rank, "WORLD_SIZE": 3, "MASTER_ADDR": "node1", "LOCAL_RANK": None}
    return no_torch


def check_tensorflow(text, rank):
    """Without roles, all tasks are workers, numbered from 0, at three different addresses."""
    config = json.loads(text)
    workers = config["cluster"]["worker"]
    expect_equal([address.rsplit(":", 1)[0] for address in workers], list(NODES), f"hosts in TF_CONFIG of rank {rank}")
    expect_equal(len(set(workers)), 3, f"addresses in TF_CONFIG of rank {rank}: {workers}")
    expect_equal(config["task"], {"type": "worker", "index": rank}, f"task in TF_CONFIG of rank {rank}")
    return workers


def check_profile(profile, rank, found):
    expected = {name: None if value is None else str(value) for name, value in wanted(profile, rank).items()}
    expect_equal({name: found.get(name) for name in expected}, expected, f"variables of rank {rank}, {profile}")
    of_step = [name for name in found if name.startswith(("SLURM_STEP", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID"))]
    expect(bool(of_step) == (profile in ("mpi", "horovod")), f"rank {rank}, {profile}: what tells of the step: {of_step}")
    expect("SLURM_JOB_ID" in found, f"rank {rank}, {profile}: no SLURM_JOB_ID")


@case(budget=120)
def every_profile_has_its_variables_on_every_node(box):
    box.make_slurm(2)
    job = box.submit(script=script(box, *(keep_environment(box, name, f"--framework {name}") for name in PROFILES)),
                     options=["-N2", "-n3"])
    box.end_of_job(job, 0, "COMPLETED", patience=90)
    for profile in PROFILES:
        tasks = [environment(box, f"{profile}.{rank}") for rank in range(3)]
        for rank, found in enumerate(tasks):
            check_profile(profile, rank, found)
        if profile == "pytorch":
            ports = {found["MASTER_PORT"] for found in tasks}
            expect(len(ports) == 1 and 1024 <= int(min(ports)) < 65536, f"MASTER_PORT: {ports}")
        if profile == "tensorflow":
            seen = {tuple(check_tensorflow(found["TF_CONFIG"], rank)) for rank, found in enumerate(tasks)}
            expect_equal(len(seen), 1, f"clusters in TF_CONFIG: {seen}")


@case
def the_tasks_of_srun_are_one_world(box):
    """They meet at the address in the variables, even if srun distributes them cyclically."""
    box.make_slurm(2)
    words = " ".join(WORLD)
    job = box.submit(script=script(box, f"srun -N2 -n3 EXEC -- {words} 3", f"srun -N2 -n3 --distribution=cyclic EXEC -- {words} 3"),
                     options=["-N2", "-n3"])
    box.end_of_job(job, 0, "COMPLETED")
    found = [json.loads(line) for line in box.read("batch.out").splitlines()]
    blocks, dealt = found[:3], found[3:]
    hosts = lambda step: [one["host"] for one in sorted(step, key=lambda one: int(one["RANK"]))]  # noqa: E731
    expect_equal((hosts(blocks), hosts(dealt)), (list(NODES), ["node1", "node2", "node1"]), "hosts by rank")


@case
def exec_refuses_a_world_that_does_not_add_up(box):
    """Every task prints the reason, and none executes the command."""
    box.make_slurm(2)
    touch = f"-- touch {box.folder}/started"
    told = {"SLURM_STEP_NUM_TASKS=5": "SLURM_STEP_TASKS_PER_NODE (2,1) adds up to 3 tasks, but SLURM_STEP_NUM_TASKS is 5",
            "SLURM_STEP_NODELIST=node1": "SLURM_STEP_NODELIST names 1 node, but SLURM_STEP_TASKS_PER_NODE (2,1) is for 2",
            "SLURM_STEP_NODELIST=node[2-3]": "is node1, but node 0 of SLURM_STEP_NODELIST is node2"}
    lines = [f"srun -N2 -n3 env '{setting}' EXEC {touch} || echo code $?" for setting in told]
    lines += [f"srun -N2 -n3 EXEC -n 4 {touch} || echo code $?",
              f"srun -N2 -n3 --distribution=cyclic EXEC --framework tensorflow {touch} || echo code $?",
              f"EXEC {touch} || echo code $?"]
    job = box.submit(script=script(box, *lines), options=["-N2", "-n3"])
    box.end_of_job(job, 0)
    said = " ".join(box.batch_text().split())
    expect_equal(box.read("batch.out").split(b"\n")[:-1], [b"code 75"] * 3 + [b"code 64"] + [b"code 75"] * 2, "exit codes")
    for reason in told.values():
        expect_in(reason, said, "why")
    expect_in("does not number the ranks node by node", said, "why tensorflow cannot be told")
    expect_in("this process is in a Slurm job, but srun did not start it try: srun dlaunch exec", said, "why, outside of a step")
    expect(not box.exists("started"), "a command was started")


@case
def a_program_of_open_mpi_under_srun(box):
    """srun serves PMIx; exec leaves it to the program."""
    if not box.compiles("mpicc.openmpi"):
        raise Skip("missing package: libopenmpi-dev")
    box.make_slurm(2)
    world = box.program("world")
    job = box.submit(script=script(box, "export OMPI_MCA_btl_tcp_if_include=eth0 OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader,tcp OMPI_MCA_mtl=^ofi",
                                   "export OMPI_MCA_osc=^ucx OMPI_MCA_mpi_yield_when_idle=1",
                                   f"srun --mpi=pmix -N2 -n3 EXEC --framework mpi -- {world}"), options=["-N2", "-n3"])
    box.end_of_job(job, 0, "COMPLETED", patience=50)
    expect_equal(box.read("batch.out"), b"world ok 3\n", "output of the program")
