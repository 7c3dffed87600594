"""What ends a job from outside, and what dlaunch knows about it: preemption, requested signals, short grace times."""

import json
import os
import re

from case import case
from cases_outside import start_of, summary_of, tell_signals, wait_for_output, wait_for_second_start
from expectations import expect, expect_equal, expect_in
from file_schemas import check_all
from processes import command_of, wait_until


def take_the_nodes(box, nodes):
    """Submits a job of higher priority that needs all of them; returns its number."""
    return int(box.slurm.command("sbatch", "--parsable", "-p", "urgent", f"-N{nodes}", "--exclusive", "-D", box.folder, "--wrap",
                                 f"touch {box.folder}/urgent"))


def wait_for_summary(box, count=1, patience=20):
    def summaries():
        return [name for name in box.runs() if os.path.exists(box.path("runs", name, "summary.json"))]
    wait_until(lambda: len(summaries()) >= count, "the report", patience, 0.05)
    return [json.loads(box.read("runs", name, "summary.json")) for name in sorted(summaries())]


@case(budget=150)
def a_preempted_job_has_its_grace_time(box):
    """Slurm signals the steps, and ends the job GraceTime later. The run has ended long before."""
    box.make_slurm(2, kill_wait=20, preempt="CANCEL", grace=120)
    job = box.submit("run", "--", *tell_signals(box), options=["-N2", "--exclusive", "--time=60"])
    start_of(box, 2)
    take_the_nodes(box, 2)
    box.end_of_job(job, patience=80)
    for rank in range(2):
        expect_equal(box.rank_output(rank), b"SIGTERM\n", f"signals of rank {rank}")
    summary = summary_of(box)
    expect_equal((summary["exit_code"], summary["cause"]), (143, "cancelled"), "the report")
    expect_in(f"Slurm is preempting job {job} for another job; job {job} ends in ", summary["slurm"]["said"], "why")
    expect_in(f"Slurm is preempting job {job}", box.batch_text(), "why, on the console")


@case(budget=150)
def a_preempted_job_of_one_node_has_its_grace_time(box):
    """Its only step is the one that listens for signals."""
    box.make_slurm(1, kill_wait=20, preempt="CANCEL", grace=120)
    job = box.submit("run", "-n", "2", "--", *tell_signals(box), options=["-N1", "--exclusive"])
    start_of(box, 2)
    # cat is its last command, when everything else is set up.
    wait_until(lambda: any(command_of(int(pid)).strip() == "cat" for pid in os.listdir("/proc") if pid.isdigit()), "the step that listens",
               30, 0.05)
    take_the_nodes(box, 1)
    box.end_of_job(job, patience=80)
    for rank in range(2):
        expect_equal(box.rank_output(rank), b"SIGTERM\n", f"signals of rank {rank}")
    expect_in(f"Slurm is preempting job {job}", summary_of(box)["slurm"]["said"], "why")
    check_all(box, ["cancel"])


@case(budget=400)
def a_job_that_is_preempted_and_requeued_runs_again(box):
    box.make_slurm(2, kill_wait=20, preempt="REQUEUE")
    stale = {"SLURM_JOB_END_TIME": "1795000000"}  # as in an sbatch called by a rank of another job
    job = box.submit("run", "--", "/bin/sh", "-c", f'echo $SLURM_JOB_END_TIME; : > {box.folder}/start-${{SLURM_RESTART_COUNT:-0}}-$RANK; '
                     'if [ -z "$SLURM_RESTART_COUNT" ]; then exec sleep 1000; fi', options=["-N2", "--exclusive", "--requeue", "--time=60"],
                     env=stale)
    wait_until(lambda: box.exists("start-0-0") and box.exists("start-0-1"), "the first start", 60, 0.02)
    end = box.slurm.job(job, env={"SLURM_TIME_FORMAT": "%s"})["EndTime"]
    for rank in range(2):
        wait_for_output(box, rank, b"\n")
        expect_equal(box.rank_output(rank).decode().strip(), end, f"the end of the job's time, as rank {rank} has it")
    urgent = take_the_nodes(box, 2)
    (first,) = wait_for_summary(box, patience=80)
    expect_equal(first["exit_code"], 143, "exit code of the first run")
    expect_in(f"Slurm job {job} was requeued (preemption", first["slurm"]["said"], "why")
    expect_in("DUE TO PREEMPTION", box.batch_text(), "Slurm's own word")
    box.slurm.wait_for_job(urgent, ("COMPLETED",), patience=80)
    wait_for_second_start(box, job, "start-1-1")
    box.end_of_job(job, 0, "COMPLETED")
    first, second = wait_for_summary(box, 2)
    expect_equal((second["exit_code"], second["slurm"]["said"]), (0, None), "the second run")
    expect(None not in (first["slurm"]["ends"], second["slurm"]["ends"]), f"both ends are known: {first['slurm']} {second['slurm']}")
    expect(second["slurm"]["ends"] > first["slurm"]["ends"], f"the end of its time: {first['slurm']} {second['slurm']}")


@case(budget=300)
def signals_that_a_job_has_asked_for_before_its_time_ends(box):
    """slurmctld checks the time every 30 s. The case reduces the time limit once the ranks run."""
    box.make_slurm(3, kill_wait=20)
    to_script = box.submit("run", "--set", f"logs.dir={box.folder}/to-script", "--", *tell_signals(box, "a"),
                           options=["-N1", "--time=60", "--signal=B:USR1@595", "-e", box.path("a.err")])
    to_steps = box.submit("run", "--set", f"logs.dir={box.folder}/to-steps", "--", *tell_signals(box, "b"),
                          options=["-N2", "--time=60", "--signal=USR2@595", "-e", box.path("b.err")])
    wait_until(lambda: all(box.exists(f"{name}-{rank}") for name, rank in (("a", 0), ("b", 0), ("b", 1))), "all ranks are there", 60, 0.02)
    for job in (to_script, to_steps):
        box.slurm.command("scontrol", "update", f"JobId={job}", "TimeLimit=10")

    def said(folder, rank):
        (run,) = box.runs(folder)
        path = box.path(folder, run, "attempt-0", f"rank-{rank}.out")
        return box.read(path) if os.path.exists(path) else b""
    wait_until(lambda: said("to-script", 0) == b"SIGUSR1\n", "the rank has SIGUSR1", 70, 0.05)
    for rank in range(2):
        wait_until(lambda: said("to-steps", rank) == b"SIGUSR2\n", f"rank {rank} has SIGUSR2", 70, 0.05)
    for job, name in ((to_script, "a.err"), (to_steps, "b.err")):
        told = re.compile(rb"SIGUSR[12]: Slurm job %d reaches its time limit in \d+ min" % job)
        wait_until(lambda: told.search(box.read(name)), f"the deadline in {name}", 20, 0.05)
        folder = box.path(name.replace("a.err", "to-script").replace("b.err", "to-steps"))
        deadline = os.path.join(folder, box.runs(folder)[0], "attempt-0", "deadline")
        wait_until(lambda: os.path.exists(deadline), "the file that ranks can look at", 20, 0.05)
        end = int(box.slurm.job(job, env={"SLURM_TIME_FORMAT": "%s"})["EndTime"])
        expect(abs(int(box.read(deadline)) - end) < 60, f"the deadline {box.read(deadline)}, Slurm's own {end}")
        box.slurm.command("scancel", str(job))
        box.end_of_job(job, state="CANCELLED")


@case(budget=150)
def what_does_not_end_is_killed_before_slurm_does_it(box):
    """There is a report although KillWait is shorter than timeouts.stop."""
    box.make_slurm(2, kill_wait=30)
    job = box.submit("run", "--set", "timeouts.stop=10m", "--", box.rank, "ignore", "15", "tell", "ready", "pause")
    box.expect_all("ready", 2)
    box.slurm.command("scancel", str(job))
    box.end_of_job(job, state="CANCELLED", patience=60)
    (summary,) = wait_for_summary(box, patience=60)
    expect_equal([rank["how"] for rank in summary["ranks"]], ["killed", "killed"], "how the ranks have ended")
    expect_equal(summary["slurm"]["said"], f"Slurm job {job} was cancelled by scancel", "why")


def set_down(box, name):
    """Does what slurmctld does with a node that has been silent for SlurmdTimeout."""
    box.slurm.command("scontrol", "update", f"NodeName={name}", "State=DOWN", "Reason=test")


SHORT_LEASE = ("--set", "timeouts.fence_after=2s", "--set", "timeouts.lost_after=6s")


@case(budget=120)
def a_node_that_slurm_gives_up_ends_the_job(box):
    """The ranks are stopped as after scancel. Whether the rank of that node can still report its end depends on Slurm."""
    box.make_slurm(2, kill_wait=60)
    job = box.submit("run", *SHORT_LEASE, "--", *tell_signals(box), options=["-N2", "--no-requeue"])
    start_of(box, 2)
    set_down(box, "node2")
    (summary,) = wait_for_summary(box, patience=60)
    box.end_of_job(job, state="NODE_FAIL")
    expect_equal((summary["exit_code"], summary["cause"]), (143, "cancelled"), "the report")
    expect_equal(summary["slurm"]["said"], f"a node of Slurm job {job} has failed", "why")
    expect_in(f"a node of Slurm job {job} has failed", box.batch_text(), "why, on the console")
    expect_equal(box.rank_output(0), b"SIGTERM\n", "signals of rank 0")
    expect_equal(summary["ranks"][0]["how"], "stopped", "how rank 0 has ended")
    expect(summary["ranks"][1]["how"] in ("stopped", "lost"), f"how rank 1 has ended: {summary['ranks'][1]}")


@case(budget=120)
def a_node_that_slurm_gives_up_is_a_lost_node_of_a_job_that_goes_on(box):
    """sbatch --no-kill: the job keeps its other nodes, and the run ends by its own rules."""
    box.make_slurm(2)
    job = box.submit("run", *SHORT_LEASE, "--", *tell_signals(box), options=["-N2", "--no-kill"])
    start_of(box, 2)
    set_down(box, "node2")
    box.end_of_job(job, 69, "FAILED", patience=60)
    expect_in("node2 was lost: ", box.batch_text(), "which node")
    summary = summary_of(box)
    expect_equal((summary["lost_node"], summary["exit_code"]), ("node2", 69), "the report")
    expect_equal(box.rank_output(0), b"SIGTERM\n", "signals of rank 0")


@case(budget=120)
def a_node_that_slurm_gives_up_is_replaced_by_a_spare(box):
    """The allocation has more nodes than the job uses, and the next attempt does not use the node that Slurm took away."""
    box.make_slurm(3)
    script = f"[ $DLAUNCH_ATTEMPT = 1 ] && exit; touch {box.folder}/up-$RANK; exec sleep 600"
    job = box.submit("run", *SHORT_LEASE, "--set", "nodes=2", "--set", "spares=1", "--set", "restart.max=1", "--", "/bin/sh", "-c", script,
                     options=["-N3", "--no-kill"])
    start_of(box, 2)
    set_down(box, "node2")
    box.end_of_job(job, 0, "COMPLETED", patience=60)
    expect_in("node2 is lost; a spare takes its place, with 0 spares left", box.batch_text(), "what is said")
    expect_equal([node["name"] for node in box.json("plan.json")["nodes"]], ["node1", "node3"], "who ran last")


@case(budget=120)
def the_first_node_is_like_any_other_where_the_launcher_is_on_none_of_them(box):
    """salloc --no-kill on a login node: Slurm takes node1 away, where the batch script would have run."""
    box.make_slurm(3)
    script = f"[ $DLAUNCH_ATTEMPT = 1 ] && exec echo $MASTER_ADDR; touch {box.folder}/up-$RANK; exec sleep 600"
    run = box.allocate("run", *SHORT_LEASE, "--set", "nodes=2", "--set", "spares=1", "--set", "restart.max=1", "--", "/bin/sh", "-c", script,
                       options=["-N3", "--no-kill"])
    start_of(box, 2)
    set_down(box, "node1")
    run.end(0, patience=60)
    expect_in("node1 is lost; a spare takes its place, with 0 spares left", run.words, "what is said")
    expect_equal([node["name"] for node in box.json("plan.json")["nodes"]], ["node3", "node2"], "who ran last")
    expect_in(box.read(run.folder(), "attempt-1", "rank-0.out").decode().strip(), ("node3", box.cluster[3].address), "where the ranks met")
