"""Roles and their clusters (tensorflow, gcp), and launch: once with its hostfiles."""

import json
import os
import re
import shutil
import stat
import subprocess

from case import case
from expectations import Skip, expect, expect_equal, expect_in

# A task of the cluster listens at its own address.
TASK = """import json, os, socket
config = json.loads(os.environ['TF_CONFIG'])
task, cluster = config['task'], config['cluster']
if task['type'] in cluster:
    host, port = cluster[task['type']][task['index']].rsplit(':', 1)
    listener = socket.socket()
    listener.bind((host, int(port)))
    listener.listen()
"""
# With success: all, every task finishes its work.
ALL_ROLES = "success: all\nroles: {chief: 1, worker: 2, ps: 2, evaluator: 1}\n"


def configs(box, count, name="TF_CONFIG"):
    """The variable of each rank, which it has written to $CASE/NAME.RANK."""
    return [json.loads(box.read(f"{name}.{rank}")) for rank in range(count)]


def environments(box, count):
    """The environments of ranks that have run `env -0 >$CASE/env.$DLAUNCH_RANK`."""
    found = []
    for rank in range(count):
        lines = box.read(f"env.{rank}").decode().split("\0")
        found.append(dict(line.split("=", 1) for line in lines if "=" in line))
    return found


@case
def every_task_has_the_same_cluster_and_its_own_place(box):
    box.write("job.yaml", "command: printf %s \"$TF_CONFIG\" >$CASE/TF_CONFIG.$DLAUNCH_RANK\nframework: tensorflow\n" + ALL_ROLES)
    box.run("run")
    told = configs(box, 6)
    expect_equal([(one["task"]["type"], one["task"]["index"]) for one in told],
                 [("chief", 0), ("worker", 0), ("worker", 1), ("ps", 0), ("ps", 1), ("evaluator", 0)], "places")
    cluster = told[0]["cluster"]
    expect(all(one["cluster"] == cluster for one in told), f"clusters differ: {told}")
    # tf.estimator.train_and_evaluate: the evaluator is not part of the training cluster
    expect_equal(sorted(cluster), ["chief", "ps", "worker"], "keys of the cluster")
    addresses = [address for tasks in cluster.values() for address in tasks]
    expect_equal(len(set(addresses)), 5, f"different addresses in {addresses}")


@case
def every_task_can_listen_at_its_address_while_all_others_do(box):
    """No address is used twice, and the agent has released each of them when its task starts."""
    box.write("task.py", TASK + f"""    listener.set_inheritable(True)  # open as long as the task lives
os.environ['RANK'] = os.environ['DLAUNCH_RANK']
os.execv({box.rank!r}, ['rank', 'tell', 'listens', 'gate'])
""")
    box.write("job.yaml", "command: [/usr/bin/python3, task.py]\nframework: tensorflow\n" + ALL_ROLES)
    run = box.start("run")
    box.expect_all("listens", 6)
    box.open_gate()
    run.end(0)


@case
def roles_run_commands_of_their_own_with_variables_of_their_own(box):
    box.write("job.yaml", """
framework: tensorflow
success: all
command: echo common $A $B
env: {A: job, B: job}
roles:
  chief: 1
  worker: {count: 2, env: {A: worker}}
  ps: {count: 1, command: [echo, serve, $A], nodes: 1}
  evaluator: {count: 1, command: "echo look; echo at $A $B", env: {B: evaluator}}
""")
    box.run("run")
    expect_equal([box.rank_output(rank) for rank in range(5)],
                 [b"common job job\n", b"common worker job\n", b"common worker job\n", b"serve $A\n", b"look\nat job evaluator\n"],
                 "what each role ran")


@case
def a_command_is_needed_only_where_a_role_has_none(box):
    box.write("job.yaml", "framework: tensorflow\nsuccess: all\nroles: {worker: {count: 1, command: echo w}, ps: {count: 1, command: echo p}}\n")
    box.run("run")
    expect_equal([box.rank_output(rank) for rank in (0, 1)], [b"w\n", b"p\n"], "commands of the roles")
    run = box.start("run", "job.yaml", "--", "echo", "x").end(65)
    expect_in("every role has its own command", run.text, "a command that no rank would run")
    box.write("job.yaml", "framework: tensorflow\nroles: {worker: {count: 1, command: echo w}, ps: 1}\n")
    run = box.start("run").end(65)
    expect_in("no command for the role ps", run.text, "who lacks one")


@case
def a_role_on_more_nodes_than_there_are_is_an_error(box):
    box.write("job.yaml", "command: x\nframework: tensorflow\nroles: {worker: 2, ps: {count: 2, nodes: 2}}\n")
    run = box.start("run").end(65)
    expect_in('role ps: "nodes: 2" but the job has only 1 node', run.text, "which number does not fit")


@case
def parameter_servers_see_no_gpu(box):
    box.write("job.yaml", "command: echo \"[${CUDA_VISIBLE_DEVICES-unset}]\"\nframework: tensorflow\nsuccess: all\nroles: {worker: 1, ps: 1}\n")
    box.run("run", env={"CUDA_VISIBLE_DEVICES": "0,1"})
    expect_equal(box.rank_output(0), b"[0,1]\n", "a worker")
    expect_equal(box.rank_output(1), b"[-1]\n", "a parameter server")


@case
def gcp_counts_machines(box):
    """RANK and WORLD_SIZE count chief and workers, as in Google's "Distributed PyTorch training"."""
    box.write("job.yaml", "command: env -0 >$CASE/env.$DLAUNCH_RANK\nframework: gcp\nsuccess: all\nroles: {chief: 1, worker: 2, ps: 1}\n")
    box.run("run", env={"LOCAL_RANK": "5", "CLUSTER_SPEC": "{}"})
    found = environments(box, 4)
    expect_equal([env.get("RANK") for env in found], ["0", "1", "2", None], "RANK")
    expect_equal([env.get("WORLD_SIZE") for env in found], ["3", "3", "3", None], "WORLD_SIZE")
    expect(all("LOCAL_RANK" not in env for env in found), "LOCAL_RANK is not Google's")
    specs = [json.loads(env["CLUSTER_SPEC"]) for env in found]
    expect_equal([spec["task"]["type"] for spec in specs], ["master", "worker", "worker", "ps"], "types in CLUSTER_SPEC")
    expect_equal(json.loads(found[0]["TF_CONFIG"])["task"], {"type": "chief", "index": 0}, "the chief in TF_CONFIG")
    expect_equal(specs[1]["cluster"]["master"], json.loads(found[0]["TF_CONFIG"])["cluster"]["chief"], "address of the chief")


@case
def gcp_master_can_listen_on_both_of_its_ports(box):
    listen = TASK + """master = socket.socket()
master.bind((os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT'])))
master.listen()
print('both')
"""
    box.write("listen.py", listen)
    box.run("run", "-n", "2", "--set", "framework=gcp", "--", "sh", "-c", "test $RANK != 0 || exec /usr/bin/python3 listen.py")
    expect_equal(box.rank_output(0), b"both\n", "the chief")


# --- launch: once


def deepspeed_hosts(text):
    """What the DeepSpeed launcher makes of a hostfile (deepspeed/launcher/runner.py, _parse_hostfile): a word at the
    start of the line, white space, slots= and digits; comments and blank lines are skipped; a repeated host
    and any other line are errors."""
    hosts = {}
    for line in (line.strip() for line in text.splitlines()):
        if not line or line.startswith("#"):
            continue
        match = re.match(r"(?P<host>\S+)\s+slots=(?P<slots>\d+)", line)
        expect(match, f"DeepSpeed: bad entry {line!r}")
        expect(match["host"] not in hosts, f"DeepSpeed: {match['host']} comes twice")
        hosts[match["host"]] = int(match["slots"])
    expect(hosts, "DeepSpeed: an empty hostfile")
    return hosts


@case
def once_starts_one_process_with_a_hostfile(box):
    box.write("job.yaml", "command: env -0 >$CASE/env.0; cp $DLAUNCH_HOSTFILE $CASE/slots; cp $DLAUNCH_HOSTFILE_HYDRA $CASE/hydra\n"
                          "launch: once\nprocesses_per_node: 4\n")
    box.run("run", env={"RANK": "7", "WORLD_SIZE": "9", "LOCAL_RANK": "7", "TORCHELASTIC_RUN_ID": "x"})
    host = os.uname().nodename
    expect_equal(deepspeed_hosts(box.read("slots").decode()), {host: 4}, "the hostfile as DeepSpeed reads it")
    expect_equal(box.read("hydra").decode(), f"{host}:4\n", "the hostfile for Hydra")
    env = environments(box, 1)[0]
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "TORCHELASTIC_RUN_ID", "TF_CONFIG"):
        expect(name not in env, f"{name} is for the launcher's own processes")
    expect_equal((env["MASTER_ADDR"], env["DLAUNCH_NODES"], env["DLAUNCH_SLOTS"]), ("127.0.0.1", "1", "4"), "what a launcher is told")
    # In the folder of the attempt, unreadable for others.
    path = env["DLAUNCH_HOSTFILE"]
    expect_equal(os.path.dirname(path), os.path.join(box.run_folder(), "attempt-0"), "folder of the hostfile")
    for file in (path, env["DLAUNCH_HOSTFILE_HYDRA"]):
        expect_equal(stat.S_IMODE(os.stat(file).st_mode), 0o600, f"mode of {file}")


@case
def a_plan_shows_the_hostfile(box):
    box.write("job.yaml", "command: deepspeed --hostfile $DLAUNCH_HOSTFILE train.py\nlaunch: once\nprocesses: 3\n")
    host = os.uname().nodename
    shown = box.start("plan").end(0).out.decode()
    expect_in("pytorch, once, 3 slots on 1 node", shown, "the size")
    expect(re.search(rf"^hostfile +{re.escape(host)} slots=3\b", shown, re.M), f"no hostfile in the plan:\n{shown}")
    plan = json.loads(box.start("plan", "--json").end(0).out)
    expect_equal(plan["hosts"], [{"name": host, "slots": 3}], "hosts")
    expect_equal(plan["nodes"][0]["files"][0]["text"], f"{host} slots=3\n", "text of the file")
    expect_in("DLAUNCH_SLOTS=3 ", box.start("plan", "--env", "0").end(0).out.decode(), "a variable with its reason")


def real_launcher(program, says):
    path = shutil.which(program)
    if not path:
        raise Skip(f"{program} is not installed")
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    if says not in version:
        raise Skip(f"{program} is not {says}")
    return path


@case
def open_mpi_reads_the_hostfile(box):
    mpirun = real_launcher("mpirun", "Open MPI")
    box.write("job.yaml", f"command: {mpirun} --hostfile $DLAUNCH_HOSTFILE sh -c 'echo $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE'\n"
                          "launch: once\nframework: none\nprocesses_per_node: 3\n")
    box.run("run", env={"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    expect_equal(sorted(box.rank_output(0).split()), [b"0/3", b"1/3", b"2/3"], "one process for each slot")


@case
def hydra_reads_its_hostfile(box):
    mpiexec = real_launcher("mpiexec.hydra", "HYDRA")
    box.write("job.yaml", f"command: {mpiexec} -f $DLAUNCH_HOSTFILE_HYDRA sh -c 'echo $PMI_RANK/$PMI_SIZE'\n"
                          "launch: once\nframework: none\nprocesses_per_node: 3\n")
    box.run("run")
    expect_equal(sorted(box.rank_output(0).split()), [b"0/3", b"1/3", b"2/3"], "one process for each slot")


@case
def what_once_cannot_be_is_said(box):
    for line, why in (("framework: tensorflow", "cannot form a cluster"), ("framework: gcp", "cannot form a cluster"),
                      ("binding: {gpus: one-per-process}", "need all GPUs")):
        box.write("job.yaml", f"command: x\nlaunch: once\n{line}\n")
        expect_in(why, box.start("run").end(65).text, line)


# Each task takes its port and many descriptors, and all tasks fail.
BUSY = """import json, os, socket
config = json.loads(os.environ['TF_CONFIG'])
task = config['task']
address = config['cluster'][task['type']][task['index']]
name, port = address.rsplit(':', 1)
listener = socket.socket()
listener.bind(('', int(port)))
listener.listen()
kept = [os.open('/dev/null', os.O_RDONLY) for _ in range(60)]
os.environ['RANK'] = os.environ['DLAUNCH_RANK']
os.execv({rank!r}, ['rank', 'tell', 'up', 'gate', 'exit', '3'])
"""


@case(budget=120)
def many_tasks_that_listen_and_fail_do_not_hold_up_the_agent(box):
    box.write("task.py", BUSY.replace("{rank!r}", repr(box.rank)))
    box.write("job.yaml", "command: [/usr/bin/python3, task.py]\nframework: tensorflow\nroles: {worker: 100}\n")
    run = box.start("run")
    box.expect_all("up", 100)
    box.open_gate()
    # Looking for the holders of 100 ports at every exit would take minutes. A slow rank may be stopped before its own exit.
    run.end(3, patience=40)
    expect_in("exited with code 3", run.words, "the verdict")
