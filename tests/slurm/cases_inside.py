"""dlaunch run inside an allocation: Slurm determines the nodes and ranks, and jobs end as they do elsewhere."""

import json
import os
import signal
import time

from case import case
from expectations import Skip, expect, expect_equal, expect_in
from processes import command_of, process_table, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
WORLD = ["/usr/bin/python3", os.path.join(os.path.dirname(HERE), "cluster", "ranks", "world.py")]


def hosts_of(box, ranks):
    """The host of each rank. world.py has asserted that the ranks form one world of this size."""
    return [json.loads(box.rank_output(rank))["host"] for rank in range(ranks)]


@case
def salloc_with_dlaunch_on_a_login_node(box):
    box.make_slurm(2)
    run = box.allocate("run", "--", *WORLD, "2").end(0)
    expect_equal(hosts_of(box, 2), ["node1", "node2"], "hosts")
    expect_in("the nodes are those of Slurm job", run.text, "where the nodes come from")


@case
def sbatch_over_three_nodes_with_two_tasks_each(box):
    box.make_slurm(3)
    job = box.submit("run", "--", *WORLD, "6", options=["-N3", "--ntasks-per-node=2"])
    box.end_of_job(job, 0, "COMPLETED")
    expect_equal(hosts_of(box, 6), ["node1", "node1", "node2", "node2", "node3", "node3"], "hosts")


@case
def uneven_tasks(box):
    box.make_slurm(2)
    box.allocate("run", "--", *WORLD, "3", options=["-N2", "-n3"]).end(0)
    expect_equal(sorted(hosts_of(box, 3)), ["node1", "node1", "node2"], "hosts")


@case(budget=150)
def bench_and_check_take_the_nodes_of_the_allocation(box):
    box.make_slurm(2)
    run = box.allocate("bench", "all_reduce", "--backend", "mpi", "-b", "8", "-e", "4K", "-f", "8", "--iters", "3", "--json").end()
    if run.code == 75 and "libmpi" in run.text:
        raise Skip(f"no MPI for the measuring ranks: {run.text}")
    expect_equal(run.code, 0, f"exit code\n{run.text}")
    found = json.loads(run.out)
    expect_equal((found["ranks"], found["hosts"]), (2, ["node1", "node2"]), "who has measured")
    expect(found["rows"] and all(row["out_of_place"]["wrong"] == 0 for row in found["rows"]), f"what was computed: {found['rows']}")
    run = box.allocate("check", "--json").end(0)
    found = json.loads(run.out)
    expect_equal([node["host"] for node in found["nodes"]], ["node1", "node2"], "who was checked")
    expect(found["good"] and found["all_reduce_busbw_gbs"] > 0, f"what was measured: {found}")


@case
def the_exit_code_of_a_rank_is_the_jobs(box):
    box.make_slurm(2)
    job = box.submit("run", "--", box.rank, "only", "1", "exit", "7")
    box.end_of_job(job, 7, "FAILED")
    expect_in("rank 1 on node2 exited with code 7", box.batch_text(), "who and where")


@case
def more_than_the_allocation_has_is_an_error_before_anything_starts(box):
    box.make_slurm(2)
    run = box.allocate("run", "--nproc-per-node", "4", "--", "/bin/true", options=["-N2", "--ntasks-per-node=2"]).end(65)
    expect_in('"processes_per_node: 4" but the Slurm allocation', run.text, "what is wrong")
    expect_in("has 2 tasks on node1", run.text, "what there is")
    run = box.allocate("run", "--nnodes", "3", "--", "/bin/true").end(65)
    expect_in('"nodes: 3" but the Slurm allocation', run.text, "what is wrong")
    expect(not box.exists("runs"), "a run was begun")


@case
def gpus_of_the_allocation_are_counted(box):
    """They are requested in three ways, one of which gives the nodes different numbers."""
    box.make_slurm(2, gpus=4)
    wrong = (("--gres=gpu:2", ("--nproc-per-node", "3"), '"processes_per_node: 3" but the Slurm allocation', "has 2 GPUs on node1"),
             ("--gpus=3", ("-n", "4"), '"processes: 4" but the Slurm allocation', "has 3 GPUs"),
             ("--gpus=3", ("--nproc-per-node", "2"), '"processes_per_node: 2" but the Slurm allocation', "has 1 GPU on node2"),
             ("--gpus-per-node=1", ("--set", "roles={worker: 3}", "--set", "framework=tensorflow", "--set", "binding.gpus=one-per-process"),
              "of which 3 need a GPU each", "has 2 GPUs"))
    for gpus, words, asked, has in wrong:
        job = box.submit("run", *words, "--", "/bin/true", options=["-N2", "-c4", gpus])
        box.end_of_job(job, 65, "FAILED")
        said = box.batch_text()
        expect_in(asked, said, f"what is wrong, {gpus}")
        expect_in(has, " ".join(said.split()), f"what there is, {gpus}")
        os.unlink(box.path("batch.err"))
    expect(not box.exists("runs"), "a run was begun")


@case(budget=120)
def ranks_have_the_gpus_of_their_node_however_they_were_asked_for(box):
    """A step that requests nothing has the GPU of one task with --gpus-per-task, and cannot start at all with --gpus."""
    box.make_slurm(2, gpus=4)
    ways = {"gres": ["-c2", "--gres=gpu:2"], "node": ["-c2", "--gpus-per-node=2"], "all": ["-c2", "--gpus=6"],
            "task": ["--ntasks-per-node=2", "--gpus-per-task=1"]}
    for name, options in ways.items():
        job = box.submit("run", "--nproc-per-node", "2", "--set", "binding.gpus=one-per-process", "--", "sh", "-c",
                         f"echo $CUDA_VISIBLE_DEVICES >{box.folder}/{name}.$RANK", options=["-N2", *options])
        box.end_of_job(job, 0, "COMPLETED")
        found = [box.read(f"{name}.{rank}") for rank in range(4)]
        expect_equal(found, [b"0\n", b"1\n"] * 2, f"GPUs of the ranks, {options}")
    run = box.allocate("run", "-n", "3", "--", "/bin/true", options=["-N2", "-c2", "--gpus=3"]).end(69)
    expect_in("request --gpus-per-node", run.words, "what to do where the number of a node is unknown")


@case
def limits_of_the_script_are_those_of_all_ranks(box):
    """Slurm passes the soft limits on to its steps (srun(1), --propagate), and the agent does not change them."""
    box.make_slurm(2)
    show = "ulimit -S -n; ulimit -S -l; ulimit -S -s; ulimit -S -c"
    command = f"run --set framework=none -- sh -c '{show}'"
    job = box.submit(script=f"#!/bin/sh\nulimit -S -n 777; ulimit -S -l 32; ulimit -S -s 4096; ulimit -S -c 0\nexec {box.dlaunch} {command}\n")
    box.end_of_job(job, 0)
    for rank in range(2):
        expect_equal(box.rank_output(rank), b"777\n32\n4096\n0\n", f"limits of rank {rank}")


@case
def several_dlaunches_of_one_srun_are_refused(box):
    box.make_slurm(2)
    job = box.submit(script=f"#!/bin/sh\nexec srun -N2 -n2 {box.dlaunch} run -- /bin/true\n")
    box.end_of_job(job, 64)
    expect_in("srun started 2 copies of dlaunch", box.batch_text(), "what is wrong")


@case
def a_part_of_the_nodes(box):
    box.make_slurm(3)
    box.allocate("run", "--exclude", "node2", "--", *WORLD, "2", options=["-N3"]).end(0)
    expect_equal(hosts_of(box, 2), ["node1", "node3"], "hosts")


@case
def a_host_that_is_not_part_of_the_allocation(box):
    box.make_slurm(2)
    run = box.allocate("run", "--hosts", "node[1-2]", "--set", "connect.via=slurm", "--", "/bin/true", options=["-N1", "-w", "node1"]).end(69)
    expect_in("node2: srun: Unable to create step", run.text, "one line for the node")


def variables(box, rank):
    return dict(line.split("=", 1) for line in box.rank_output(rank).decode().splitlines() if "=" in line)


@case
def ranks_know_the_job_but_no_step(box):
    box.make_slurm(2, gpus=2)
    job = box.submit("run", "--", "/usr/bin/env", options=["-N2", "--ntasks-per-node=2", "--gpus-per-node=2", "--cpus-per-task=3"],
                     env={"MY_OWN": "a b", "SLURM_JOB_START_TIME": str(int(time.time())),
                          "SLURM_JOB_END_TIME": str(int(time.time()) + 3600)})  # as Slurm 23.02 does
    box.end_of_job(job, 0)
    expect_in("Slurm's time limit ends the job in 5", box.batch_text(), "the deadline")
    for rank in range(4):
        found = variables(box, rank)
        expect_equal(found["SLURM_JOB_ID"], str(job), f"SLURM_JOB_ID of rank {rank}")
        expect_equal(found["MY_OWN"], "a b", f"the user's own variable of rank {rank}")
        for name in found:
            of_a_step = name.startswith(("SLURM_STEP", "SLURM_SRUN", "SLURM_CPU_BIND", "SLURM_NTASKS", "PMI"))
            expect(not of_a_step and name not in ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_NPROCS", "SLURM_NNODES"),
                   f"rank {rank} has {name}={found[name]}")
    slurm = [{name for name in variables(box, rank) if name.startswith("SLURM")} for rank in (1, 2)]
    expect_equal(sorted(slurm[1] - slurm[0]), [], "what only a node that srun reaches has")


@case
def cores_are_those_of_the_mask(box):
    box.make_slurm(2, masks={"node2": "0"})
    code = "import os; print(sorted(os.sched_getaffinity(0)))"
    box.allocate("run", "--set", "framework=none", "--", "/usr/bin/python3", "-c", code).end(0)
    expect_equal(box.rank_output(1), b"[0]\n", "cores of rank 1")
    plan = box.allocate("plan", "--", "/bin/true").end(0)
    expect_in("node2", plan.out.decode(), "the plan's nodes")


@case
def output_of_all_nodes_arrives(box):
    box.make_slurm(2)
    run = box.allocate("run", "--", box.rank, "lines", "20000").end(0)
    for rank in range(2):
        expect_equal(len(box.rank_output(rank).splitlines()), 20000, f"lines of rank {rank}")
    expect_equal(len(run.out.splitlines()), 40000, "lines on the console")


@case
def an_interrupt_ends_all_and_leaves_nothing(box):
    box.make_slurm(2)
    run = box.allocate("run", "--", box.rank, "tell", "ready", "pause")
    box.expect_all("ready", 2)
    os.kill(launcher(), signal.SIGINT)
    run.end(130)


def launcher():
    """The pid of the front: the first `dlaunch run` on any node."""
    found = sorted(int(name) for name in os.listdir("/proc") if name.isdigit() and "/dlaunch run " in command_of(int(name)) and
                   not command_of(int(name)).startswith(("/usr/bin/salloc", "salloc")))
    expect(found, "no dlaunch runs")
    return found[0]


def sruns(node):
    """dlaunch's processes that hold the connection to a node."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and command_of(int(name)).startswith("srun --overlap")
            and f"-w {node} " in command_of(int(name))]


@case(budget=120)
def a_killed_srun_is_taken_up_again_by_another_step(box):
    box.make_slurm(2)
    # A busy Slurm may need more time for a step than the usual limits allow a node.
    run = box.allocate("run", "-v", "--set", "timeouts.fence_after=60s", "--set", "timeouts.lost_after=70s", "--", box.rank, "tell", "ready",
                       "gate", "print", "later\n")
    box.expect_all("ready", 2)
    before = sruns("node2")
    expect(before, "no srun to node2")
    # srun has a child that ends the step when srun is gone. It must not notice that, so all are stopped first.
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in before:
            os.kill(pid, number)
    try:
        wait_until(lambda: "resumed after" in run.text, "the connection is resumed", 60, 0.02)
    except AssertionError as error:
        raise AssertionError(f"{error}; killed {before}\n{process_table()}\n{run.report()}\n{box.slurm.logs()}") from None
    box.open_gate()
    run.end(0)
    expect_equal(box.rank_output(1), b"later\n", "output of rank 1")


@case
def a_cancelled_step_is_a_lost_node(box):
    box.make_slurm(2)
    run = box.allocate("run", "--set", "timeouts.stop=2s", "--", box.rank, "tell", "ready", "pause")
    box.expect_all("ready", 2)
    steps = [line.split() for line in box.slurm.command("squeue", "-h", "-s", "-o", "%i %N").splitlines()]
    last = max((step for step, node in steps if node == "node2" and step.split(".")[1].isdigit()), key=lambda step: int(step.split(".")[1]))
    box.slurm.command("scancel", last)
    run.end(69, patience=40)
    expect_in("node2 was lost: ", run.text, "which node")


@case
def a_node_that_loses_power(box):
    box.make_slurm(2)
    run = box.allocate("run", "--set", "timeouts.fence_after=2s", "--set", "timeouts.lost_after=6s", "--", box.rank, "tell", "ready", "pause")
    box.expect_all("ready", 2)
    box.cluster[2].power_off()
    run.end(69, patience=40)
    expect_in("node2", run.text, "which node")


@case
def a_slurmd_that_ends_takes_no_rank_with_it(box):
    """slurmstepd holds the step; only new connections would fail."""
    box.make_slurm(2)
    run = box.allocate("run", "--", box.rank, "tell", "ready", "gate")
    box.expect_all("ready", 2)
    os.kill(box.slurm.slurmd(box.cluster[2]), signal.SIGKILL)
    box.open_gate()
    run.end(0)
