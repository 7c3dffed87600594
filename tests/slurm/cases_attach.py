"""dlaunch attach, stacks and status in another terminal of the login node. They know nothing of the allocation and go through the run."""

import os
import signal

from case import case
from expectations import expect_equal, expect_in
from guests import beside, sit_down, wait_on_screen

READY = ("tell", "ready", "pause")


@case
def ranks_of_an_allocation_from_another_terminal(box):
    box.make_slurm(2)
    run = box.allocate("run", "--set", "timeouts.stop=1s", "--", box.rank, *READY, options=["-N2", "--ntasks-per-node=2"])
    box.expect_all("ready", 4)
    script = "echo $RANK $SLURM_JOB_ID; uname -n; pwd; tr '\\0' ' ' </proc/$1/cmdline"
    said = beside(box, "3", "--", "sh", "-c", script, "sh", "{pid}").out.decode().splitlines()
    job = box.slurm.command("squeue", "-h", "-o", "%i").strip()
    expect_equal(said[:3], [f"3 {job}", "node2", os.path.realpath(box.folder)], "where the command runs")
    expect_in(box.rank, said[3], "{pid} is the rank")
    guest = sit_down(box, "0")
    expect_in(b"on node1", guest.screen, "where it is")
    guest.type(b"echo r=$RANK; exit 3\r")
    wait_on_screen(guest, b"r=0\r\n", "its rank")
    guest.end(3, left=1000)
    text = box.start("stacks").end(0, left=1000).out.decode()
    expect_in("ranks 0-3 (node1, node2)", text, "where all stand")
    expect_in("node2", box.start("status").end(0, left=1000).out.decode(), "what they do")
    run.signal(signal.SIGINT)
    run.end()
    expect_equal(box.json("summary.json")["leftovers"], 0, "left over")


@case
def ranks_of_a_batch_job_from_a_step_beside_it(box):
    """The launcher of the job and the step are both on the first node of the allocation."""
    box.make_slurm(2)
    job = box.submit("run", "--set", "timeouts.stop=1s", "--", box.rank, *READY)
    box.expect_all("ready", 2)
    step = ["srun", "--quiet", f"--jobid={job}", "--overlap", "-N1", "-n1", "-w", "node1"]
    said = box.start("attach", "1", "--", "sh", "-c", "echo $RANK; uname -n", prefix=step).end(0, left=1000).out
    expect_equal(said, b"1\nnode2\n", "the rank and its node")
    expect_in("ranks 0, 1 (node1, node2)", box.start("stacks", prefix=step).end(0, left=1000).out.decode(), "where both stand")
    box.slurm.command("scancel", str(job))
    box.end_of_job(job)
