"""Outside an allocation: dlaunch submit, export slurm and runs; and what Slurm does to a running job."""

import json
import os
import time

from case import case
from cases_inside import WORLD, hosts_of
from expectations import expect, expect_equal, expect_in
from processes import wait_until


@case
def submit_runs_the_job_and_prints_its_number(box):
    box.make_slurm(2)
    box.write("job.yaml", f"name: meet\ncommand: [{WORLD[0]}, {WORLD[1]}, '4']\nnodes: 2\nprocesses_per_node: 2\n")
    run = box.run("submit", "job.yaml", "--time", "10m", "--partition", "lab")
    job = int(run.out)
    expect_in(f"submitted meet as Slurm job {job}", run.text, "what was done")
    box.end_of_job(job, 0, "COMPLETED")
    expect_equal(hosts_of(box, 4), ["node1", "node1", "node2", "node2"], "hosts")
    found = box.slurm.job(job)
    expect_equal((found["JobName"], found["TimeLimit"], found["NumTasks"]), ("meet", "00:10:00", "4"), "the job")


@case
def submit_asks_for_the_gpus_of_the_job(box):
    """It asks for one GPU per process. Slurm distributes tasks and GPUs in the same way, and the run accepts them."""
    box.make_slurm(2, gpus=2)
    box.write("job.yaml", "command: [/bin/true]\nprocesses: 3\nbinding: {gpus: one-per-process}\n")
    run = box.run("submit", "job.yaml", "--gpus-per-node", "2")
    job = int(run.out)
    box.end_of_job(job, 0, "COMPLETED")
    found = box.slurm.job(job)
    expect_equal((found["NumNodes"], found["TresPerNode"]), ("2", "gres:gpu:2"), "nodes, and GPUs of each")
    job = int(box.run("submit", "job.yaml").out)
    box.end_of_job(job, 0, "COMPLETED")
    expect_equal(box.slurm.job(job)["TresPerTask"], "gres:gpu:1", "GPUs of a task")
    box.write("job.yaml", "command: [/bin/true]\nnodes: 2\nprocesses_per_node: 3\n")
    run = box.run("submit", "job.yaml", "--gpus-per-node", "2", code=64)
    expect_in('"processes_per_node: 3" but Slurm would be asked for 2 GPUs on each node', run.text, "why")


@case
def submit_of_a_command_with_words_that_need_quotes(box):
    box.make_slurm(1)
    nasty = ["a b", "it's", "$(touch hit)", "new\nline", "#x", "--"]
    job = int(box.run("submit", "--", "/usr/bin/printf", "[%s]", *nasty).out)
    box.end_of_job(job, 0)
    expect_equal(box.rank_output(0).decode(), "".join(f"[{word}]" for word in nasty), "arguments")
    expect(not box.exists("hit"), "a shell executed an argument")


@case
def sbatchs_own_words_when_it_refuses(box):
    box.make_slurm(1)
    run = box.run("submit", "--partition", "nowhere", "--", "/bin/true", code=69)
    expect_in("Slurm refused the job: invalid partition specified: nowhere", run.text, "why")
    run = box.run("submit", "--hosts", "a,b", "--", "/bin/true", code=64)
    expect_in("Slurm chooses the nodes", run.text, "why")
    run = box.run("submit", "--", "/bin/true", code=69, env={"PATH": box.make_folder("empty")})
    expect_in('there is no program "sbatch" on this machine', run.text, "why")


@case
def an_exported_script_is_one_that_sbatch_takes(box):
    box.make_slurm(1)
    script = box.run("export", "slurm", "-n", "2", "--time", "5m", "--", "/usr/bin/env").out
    path = box.write("exported.sh", script, 0o755)
    job = int(box.slurm.command("sbatch", "--parsable", "-D", box.folder, path, env=box.environment))
    box.end_of_job(job, 0)
    expect_in(f"SLURM_JOB_ID={job}", box.rank_output(1).decode(), "environment of rank 1")


@case
def runs_shows_the_slurm_job_and_its_state(box):
    box.make_slurm(1)
    first = int(box.run("submit", "--sbatch=--exclusive", "--", box.rank, "tell", "ready", "gate").out)
    box.expect_all("ready", 1)
    beside = lambda *words: box.start(*words).end(0, left=1000).out  # noqa: E731
    second = int(beside("submit", "--sbatch=--exclusive", "--", "/bin/true"))
    wait_until(lambda: box.slurm.job(second)["Reason"] in ("Resources", "Priority"), "the second one waits", 20, 0.05)
    listed = beside("runs").decode()
    expect_in(f"{first} running", listed, "the one that runs")
    expect_in(f"waiting in Slurm: job {second}, ", listed, "the one that waits")
    found = json.loads(beside("runs", "--json"))
    expect_equal((found[0]["slurm_job"], found[0]["slurm_state"]), (str(first), "RUNNING"), "as JSON")
    box.open_gate()
    box.end_of_job(first, 0)
    box.end_of_job(second, 0)


@case
def runs_does_not_wait_for_a_slurm_that_is_down(box):
    box.make_slurm(1)
    job = int(box.run("submit", "--", "/bin/true").out)
    box.end_of_job(job, 0)
    box.slurm.stop_controller()
    listed = box.run("runs", patience=15).out.decode()
    expect_in("done", listed, "the run")


def summary_of(box):
    return box.json("summary.json")


@case
def scancel_stops_the_ranks_in_order(box):
    box.make_slurm(2, kill_wait=20)
    code = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: (print('checkpoint', flush=True), sys.exit(0))); " \
           "open(sys.argv[1] + '/up-' + __import__('os').environ['RANK'], 'w'); signal.pause()"
    job = box.submit("run", "--", "/usr/bin/python3", "-c", code, box.folder)
    wait_until(lambda: box.exists("up-0") and box.exists("up-1"), "both ranks are there", 20, 0.02)
    box.slurm.command("scancel", str(job))
    box.end_of_job(job, state="CANCELLED")
    wait_until(lambda: os.path.exists(os.path.join(box.run_folder(), "summary.json")), "the report", 20, 0.05)
    for rank in range(2):
        expect_equal(box.rank_output(rank), b"checkpoint\n", f"output of rank {rank}")
    expect_equal(summary_of(box)["exit_code"], 143, "exit code in the report")


@case
def the_time_limit_of_slurm(box):
    """slurmctld checks the time every 30 s."""
    box.make_slurm(2, kill_wait=20)
    job = box.submit("run", "--", box.rank, "tell", "ready", "pause")
    box.expect_all("ready", 2)
    box.slurm.command("scontrol", "update", f"JobId={job}", "EndTime=now+1")
    box.end_of_job(job, state="TIMEOUT", patience=60)
    wait_until(lambda: os.path.exists(os.path.join(box.run_folder(), "summary.json")), "the report", 20, 0.05)
    summary = summary_of(box)
    expect_equal(summary["exit_code"], 143, "exit code in the report")
    expect_equal(summary["slurm"]["said"], f"Slurm job {job} has reached its time limit", "why")


def wait_for_second_start(box, job, name):
    """Slurm delays a requeued job by a time that cannot be configured. StartTime=now ends this delay, but has no effect until Slurm has cleaned up
    the first start, so it is repeated until the job runs."""
    deadline = time.monotonic() + 150
    while not box.exists(name):
        answer = box.slurm.command("scontrol", "update", f"JobId={job}", "StartTime=now", check=False)
        expect(time.monotonic() < deadline, f"no second start within 150 s; scontrol update: {answer}\n{box.slurm.job(job)}\n"
                                            + box.slurm.command("sinfo", "-N", "-l")
                                            + "".join(box.read(file).decode(errors="replace")[-2000:] for file in ("batch.out", "batch.err") if box.exists(file)))
        time.sleep(0.5)


@case(budget=200)
def a_requeued_job_ends_and_starts_anew(box):
    box.make_slurm(1, kill_wait=20)
    job = box.submit("run", "--", "/bin/sh", "-c", f'echo "${{SLURM_RESTART_COUNT:-0}}" > {box.folder}/start-${{SLURM_RESTART_COUNT:-0}}; '
                     'if [ -z "$SLURM_RESTART_COUNT" ]; then exec sleep 1000; fi', options=["-N1", "--requeue"])
    wait_until(lambda: box.exists("start-0"), "the first start", 20, 0.02)
    box.slurm.command("scontrol", "requeue", str(job))
    wait_for_second_start(box, job, "start-1")
    box.end_of_job(job, 0)
    codes = sorted(json.loads(box.read("runs", name, "summary.json"))["exit_code"] for name in box.runs())
    expect_equal(codes, [0, 143], "exit codes of the two runs")


def tell_signals(box, name="up"):
    """The command of a rank that creates the file NAME-RANK and then prints the signals that it gets."""
    return ["/usr/bin/python3", "-u", "-c", "import signal, sys, os\n"
            "for n in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM):\n"
            "    signal.signal(n, lambda n, _: (print(signal.Signals(n).name), n == signal.SIGTERM and sys.exit(0)))\n"
            f"open('{box.folder}/{name}-' + os.environ['RANK'], 'w')\n"
            "while True: signal.pause()\n"]



def start_of(box, ranks):
    wait_until(lambda: all(box.exists(f"up-{rank}") for rank in range(ranks)), "all ranks are there", 20, 0.02)


def wait_for_output(box, rank, text):
    wait_until(lambda: text in box.rank_output(rank), f"rank {rank} has said {text!r}", 20, 0.02)


@case
def usr1_of_scancel_reaches_all_ranks_and_ends_nothing(box):
    box.make_slurm(2, kill_wait=20)
    job = box.submit("run", "--", *tell_signals(box))
    start_of(box, 2)
    box.slurm.command("scancel", "--batch", "--signal=USR1", str(job))
    for rank in range(2):
        wait_for_output(box, rank, b"SIGUSR1\n")
    box.slurm.command("scancel", str(job))
    box.end_of_job(job, state="CANCELLED")
    for rank in range(2):
        expect_equal(box.rank_output(rank), b"SIGUSR1\nSIGTERM\n", f"signals of rank {rank}")


@case
def a_signal_to_the_steps_alone_reaches_all_ranks_once(box):
    """--signal=USR2@60 without B: sends it in this way. Here dlaunch is outside all steps."""
    box.make_slurm(2, kill_wait=20)
    run = box.allocate("run", "--", *tell_signals(box))
    start_of(box, 2)
    job = box.slurm.command("squeue", "-h", "-o", "%i").strip()
    box.slurm.command("scancel", "--signal=USR2", job)
    for rank in range(2):
        wait_for_output(box, rank, b"SIGUSR2\n")
    box.slurm.command("scancel", job)
    run.end(143, patience=40)
    for rank in range(2):
        expect_equal(box.rank_output(rank), b"SIGUSR2\nSIGTERM\n", f"signals of rank {rank}")
