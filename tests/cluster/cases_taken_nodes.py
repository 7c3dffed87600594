"""A notice on one of several nodes: the next attempt runs without it, or the run ends."""

from case import case
from cases_lost_nodes import launch
from expectations import expect_equal, expect_in

PREEMPTED = 158
FILE = ["--set", "preemption.file=/run/home/notice", "--set", "timeouts.stop=1s"]


@case
def another_node_takes_the_place(box):
    """Only the node that has the file gives notice, also where it is that of rank 0."""
    box.make_cluster(3)
    run = launch(box, 2, *FILE, "--set", "nodes=2", hosts=box.cluster.names)
    box.cluster[0].sh("printf 'Spot\\ndeadline: 20\\n' > /run/home/notice.new && mv /run/home/notice.new /run/home/notice")
    run.end(0, patience=15)
    expect_in("node0 is about to be taken away (Spot) in 20 s, stopping 2 ranks (SIGTERM, up to 18 s)", run.words, "the notice")
    expect_in("restart 1 of 1", run.words, "the restart")
    summary = box.json("summary.json")
    expect_equal([one["cause"] for one in summary["earlier"]], ["preempted"], "earlier attempts")
    expect_equal([rank["node"] for rank in summary["ranks"]], ["node1", "node2"], "where it went on")


@case
def no_node_takes_the_place(box):
    box.make_cluster(2)
    run = launch(box, 2, *FILE)
    box.cluster[1].sh("touch /run/home/notice")
    run.end(PREEMPTED, patience=60)
    expect_in("no restart: no node is left for the one that is taken away", run.words, "why")
    expect_equal(box.json("summary.json")["cause"], "preempted", "cause")
