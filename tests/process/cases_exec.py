"""dlaunch exec under other launchers. For launchers that are not installed here, unit tests provide the environment (tests/unit/launchers)."""

import json
import os
import shutil
import socket
import subprocess

from case import case
from cases_commands import ODD_ARGUMENTS, arguments_script, arguments_seen
from expectations import Skip, expect, expect_equal, expect_in

HERE = os.path.dirname(os.path.abspath(__file__))
# Open MPI refuses root unless two variables allow it; the cases run as root of a namespace of their own.
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
LAUNCHERS = {"openmpi": ["mpirun.openmpi", "--oversubscribe"], "hydra": ["mpiexec.hydra"]}
# The variables that srun gives one of its processes (srun(1), "OUTPUT ENVIRONMENT VARIABLES").
TASK = {"SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0", "SLURM_PROCID": "3", "SLURM_LOCALID": "0", "SLURM_NODEID": "1", "SLURM_STEP_NUM_TASKS": "4",
        "SLURM_STEP_TASKS_PER_NODE": "3,1", "SLURM_STEP_NODELIST": "node[01-02]", "SLURMD_NODENAME": "node02"}
SHOW = ('echo "$RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $NODE_RANK $MASTER_ADDR:$MASTER_PORT $TORCHELASTIC_RUN_ID'
        '${OMPI_COMM_WORLD_RANK+ OMPI}${PMI_RANK+ PMI}${PMIX_RANK+ PMIX}" >$CASE/found.$RANK')


def start(box, launcher, ranks, *words, **options):
    words = [*LAUNCHERS[launcher], "-np", str(ranks), *words]
    program = shutil.which(words[0])
    if program is None:
        raise Skip(f"{words[0]} is not installed")
    return box.start(*words[1:], program=program, env={**AS_ROOT, **options.pop("env", {})}, **options)


def check_world(box, launcher):
    start(box, launcher, 3, box.dlaunch, "exec", "--", "sh", "-c", SHOW).end(0)
    found = [box.read(f"found.{rank}").decode().split() for rank in range(3)]
    for rank, words in enumerate(found):
        expect_equal(words[:5], [str(rank), str(rank), "3", "3", "0"], f"RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, NODE_RANK of rank {rank}")
        expect_equal(words[5:], found[0][5:], f"where rank {rank} meets the others, and what is left of the launcher's variables")
        expect_equal(len(words), 7, f"nothing is left of the launcher's identity: {words}")
    address, port = found[0][5].split(":")
    expect_equal(address, "127.0.0.1", "MASTER_ADDR")
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        low, high = map(int, file.read().split())
    expect(not low <= int(port) <= high, f"MASTER_PORT {port} is one that the kernel gives to others")


@case
def ranks_of_open_mpi_are_one_world(box):
    check_world(box, "openmpi")


@case
def ranks_of_hydra_are_one_world(box):
    check_world(box, "hydra")


def check_torch(box, launcher):
    if subprocess.run(["/usr/bin/python3", "-c", "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"],
                      check=False).returncode != 0:
        raise Skip("python3-torch is not installed")
    run = start(box, launcher, 2, box.dlaunch, "exec", "--", "/usr/bin/python3", os.path.join(HERE, "ranks", "torch_sum.py"), "2").end(0, patience=90)
    for rank in range(2):
        expect_in(f"rank {rank} of 2: sum 1, LOCAL_RANK {rank}".encode(), run.out, f"rank {rank}")


@case(budget=120)
def torch_meets_under_open_mpi(box):
    check_torch(box, "openmpi")


@case(budget=120)
def torch_meets_under_hydra(box):
    check_torch(box, "hydra")


@case
def a_failing_rank_ends_mpirun_with_its_code(box):
    run = start(box, "openmpi", 2, box.dlaunch, "exec", "--", "sh", "-c", "exit $((RANK * 7))")
    run.end(7)


@case
def tensorflow_knows_all_tasks_of_one_node(box):
    start(box, "hydra", 2, box.dlaunch, "exec", "--framework", "tensorflow", "--", "sh", "-c",
          'echo "$TF_CONFIG" >$CASE/found.$DLAUNCH_RANK').end(0)
    configs = [json.loads(box.read(f"found.{rank}")) for rank in range(2)]
    expect_equal([config["task"] for config in configs], [{"type": "worker", "index": 0}, {"type": "worker", "index": 1}], "tasks")
    expect_equal(configs[0]["cluster"], configs[1]["cluster"], "clusters")
    expect_equal(len(set(configs[0]["cluster"]["worker"])), 2, "addresses")


@case
def the_command_takes_the_place_of_dlaunch(box):
    run = box.start("exec", "--", "sh", "-c", "echo $$ $NODE_RANK $MASTER_ADDR; kill -9 $$", env=TASK).end(-9)
    expect_equal(run.out.decode().split(), [str(run.pid), "1", "node01"], "pid, NODE_RANK, MASTER_ADDR")


@case
def arguments_arrive_byte_for_byte(box):
    script = arguments_script(box.folder)
    box.run("exec", "--", *script, *ODD_ARGUMENTS, env=TASK)
    expect_equal(arguments_seen(box, 3, len(script)), ODD_ARGUMENTS, "arguments")


@case
def stdin_and_other_descriptors_are_the_commands(box):
    run = box.run("exec", "--", "sh", "-c", "cat; ls /proc/$$/fd | tr '\\n' ' '", env=TASK, stdin=b"from outside\n")
    expect_equal(run.out.decode().splitlines()[0], "from outside", "stdin")
    expect_equal(run.out.decode().split()[2:5], ["0", "1", "2"], "descriptors")


@case
def what_cannot_be_executed_is_said(box):
    run = box.run("exec", "--", "no-such-program", env=TASK, code=127)
    expect_in('rank 3: cannot execute "no-such-program": No such file or directory', run.text, "message")
    box.write("plain", "text")
    run = box.run("exec", "--", box.path("plain"), env=TASK, code=126)
    expect_in("Permission denied", run.text, "message")


@case
def variables_are_shown_with_reasons_and_nothing_starts(box):
    run = box.run("exec", "--print", "--", "touch", box.path("started"), env=TASK)
    text = run.out.decode()
    for line in ("MASTER_ADDR=node01", "# first host of SLURM_STEP_NODELIST", "# computed from the job's id, slurm-77.0", "# not inherited:"):
        expect_in(line, text, "variables")
    expect(not box.exists("started"), "--print has started the command")
    shown = json.loads(box.run("exec", "--json", env=TASK).out)
    values = {row["name"]: row["value"] for row in shown["variables"]}
    expect_equal((values["RANK"], values["WORLD_SIZE"], values["NODE_RANK"]), ("3", "4", "1"), "RANK, WORLD_SIZE, NODE_RANK")
    expect(all(row["reason"] for row in shown["variables"]), "a variable has no reason")


@case
def a_port_that_is_taken_is_said_by_rank_0(box):
    first = {**TASK, "SLURM_PROCID": "0", "SLURM_NODEID": "0", "SLURMD_NODENAME": "node01"}
    shown = json.loads(box.run("exec", "--json", env=first).out)
    port = next(int(row["value"]) for row in shown["variables"] if row["name"] == "MASTER_PORT")
    with socket.create_server(("127.0.0.1", port)):
        run = box.run("exec", "--", "true", env=first, code=75)
        expect_in(f"rank 0: port {port} is taken by pid {os.getpid()}", run.text, "message")
        box.run("exec", "--", "true", env=TASK)  # concerns another rank
        box.run("exec", "--master-port", "29123", "--", "true", env=first)


@case
def worlds_that_do_not_add_up_are_refused(box):
    for env, options, code, words in [
            ({}, [], 75, "no launcher started this process"),
            ({**TASK, "SLURM_NODEID": "0"}, [], 75, "node 0 of SLURM_STEP_NODELIST is node01"),
            ({**TASK, "SLURM_STEP_NUM_TASKS": "5"}, [], 75, "SLURM_STEP_NUM_TASKS is 5"),
            (TASK, ["-n", "3"], 64, "started 4 ranks"),
            (TASK, ["--framework", "torch"], 64, "is not one of pytorch"),
            (TASK, ["--master-port", "70000"], 64, "1 to 65535")]:
        run = box.run("exec", *options, "--", "touch", box.path("started"), env=env, code=code)
        expect_in(words, run.text, "message")
        expect_equal(run.out, b"", "stdout")
    expect(not box.exists("started"), "a refused command was started")


@case
def a_command_without_dashes_is_named(box):
    run = box.run("exec", "python3", "train.py", env=TASK, code=64)
    expect_in("a command goes after --: dlaunch exec -- python3 train.py", run.text, "message")
    run = box.run("exec", env=TASK, code=64)
    expect_in("no command given", run.text, "message")
