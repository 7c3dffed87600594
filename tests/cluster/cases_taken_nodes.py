"""A notice on one of several nodes, which alone has the file."""

from case import case
from cases_lost_nodes import launch
from expectations import expect_equal, expect_in
from run_helpers import look

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
    expect_in("no restart: no node is left to replace the one that is taken away", run.words, "why")
    summary = box.json("summary.json")
    expect_equal(summary["cause"], "preempted", "cause")
    expect_equal([rank["how"] for rank in summary["ranks"]], ["stopped", "stopped"], "both ranks")


@case
def a_spare_takes_the_place_of_the_node_that_is_taken_away(box):
    """The node still answers, but is not used again."""
    box.make_cluster(3)
    run = launch(box, 2, *FILE, "--set", "spares=1", hosts=["node1", "node2", "node3"])
    box.cluster[1].sh("printf 'Spot\\ndeadline: 20\\n' > /run/home/new && mv /run/home/new /run/home/notice")
    run.end(0, patience=60)
    expect_in("node1 is about to be taken away (Spot) in 20 s, stopping 2 ranks (SIGTERM, up to 18 s)", run.words, "the notice")
    expect_equal([node["name"] for node in box.json("plan.json")["nodes"]], ["node3", "node2"], "who ran last")
    summary = box.json("summary.json")
    expect_equal([one["cause"] for one in summary["earlier"]], ["preempted"], "earlier attempts")
    expect_equal([rank["how"] for rank in summary["ranks"]], ["exited", "exited"], "both ranks of the last attempt")
    expect_equal(summary["spares"], [{"host": "node1", "state": "not connected"}], "spares")


SAVING = ("mkdir -p /run/home/ckpt; trap ': > /run/home/asked' USR1\necho up $RANK > $EVENTS\nwhile :; do sleep 0.05\n"
          "  if [ -e /run/home/asked ]; then rm /run/home/asked; head -c 3000 /dev/zero > /run/home/ckpt/step-7-$RANK; fi\ndone\n")


@case
def stop_waits_for_the_parts_of_a_checkpoint_on_two_nodes(box):
    """Each is on a disk of its node alone."""
    box.make_cluster(2)
    run = box.launch("/bin/sh", "-c", SAVING, options=["--set", "checkpoint.path=/run/home/ckpt/*", "--set", "checkpoint.signal=USR1"])
    box.expect_all("up", 2)
    stop = look(box, "stop", "--checkpoint")
    run.end(143, patience=30)
    expect_in("a new checkpoint is complete, stopping", run.words, "the console")
    expect_in("saved /run/home/ckpt/step-7-", stop.words, "what stop says")
    saved = box.json("summary.json")["checkpoint"]
    expect_equal((saved["written"], saved["problems"]), (2, []), "summary.json")
