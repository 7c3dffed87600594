"""A notice on one of several nodes, which alone has the file."""

from case import case
from cases_lost_nodes import launch
from expectations import expect_equal, expect_in

PREEMPTED = 158
FILE = ["--set", "preemption.file=/run/home/notice"]


@case
def one_node_ends_the_run(box):
    """Also the one of rank 0. The ranks on both are told, and nothing can stand in for it."""
    box.make_cluster(2)
    run = launch(box, 2, *FILE)
    box.cluster[1].sh("printf 'Spot\\ndeadline: 20\\n' > /run/home/new && mv /run/home/new /run/home/notice")
    run.end(PREEMPTED, patience=60)
    expect_in("node1 is about to be taken away (Spot) in 20 s, stopping 2 ranks (SIGTERM, up to 18 s)", run.words, "the notice")
    expect_in("no restart: no node is left for the one that is taken away", run.words, "why")
    summary = box.json("summary.json")
    expect_equal(summary["cause"], "preempted", "cause")
    expect_equal([rank["how"] for rank in summary["ranks"]], ["stopped", "stopped"], "both ranks")
