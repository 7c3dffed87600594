"""Spares and shrinking: a lost node is left out of the next attempt while enough others are there."""

from case import case
from cases_faults import kill_on
from cases_lost_nodes import RESTARTS, expect_restarted, launch, wait_for_words
from expectations import expect_equal, expect_in


def nodes_of_plan(box):
    return [node["name"] for node in box.json("plan.json")["nodes"]]


@case
def a_spare_takes_the_place_of_a_lost_node(box):
    box.make_cluster(3)
    run = launch(box, 2, "--set", "spares=1", hosts=["node1", "node2", "node3"])
    box.cluster[1].power_off()
    wait_for_words(run, "node1 is lost; a spare takes its place, with 0 spares left")
    expect_restarted(box, run, 2, [["node1"]])
    expect_equal(nodes_of_plan(box), ["node3", "node2"], "the spare has the lost node's position")


@case
def a_job_shrinks_to_what_is_left(box):
    box.make_cluster(3)
    script = 'if [ $TORCHELASTIC_RESTART_COUNT = 0 ]; then echo up $RANK > $EVENTS; exec sleep 600; fi; [ $WORLD_SIZE = 2 ]'
    run = box.launch("/bin/sh", "-c", script, hosts=box.cluster.names, options=[*RESTARTS, "--nnodes", "2:3", "--set", "restart.max=1"])
    box.expect_all("up", 3)
    kill_on(box, box.cluster[2], "agent")
    wait_for_words(run, "node2 is lost; the run goes on with 2 of 3 nodes")
    run.end(0, patience=60)
    expect_equal(nodes_of_plan(box), ["node1", "node3"], "who is left")


@case
def a_host_that_is_down_at_the_start(box):
    box.make_cluster(3)
    box.cluster[2].power_off()
    run = box.launch("/bin/sh", "-c", "echo $RANK of $WORLD_SIZE", hosts=["node1", "node2", "node3"],
                     options=["--set", "spares=1", "--set", "timeouts.connect=12s"])
    run.end(0, patience=60)
    expect_in("node2 is lost; a spare takes its place", run.text, "who")
    expect_equal(nodes_of_plan(box), ["node1", "node3"], "who runs")


@case
def a_node_where_the_job_fails_twice_is_left_out(box):
    box.make_cluster(3)
    script = '[ $(hostname) != node1 ] || exit 3; echo $RANK'
    run = box.launch("/bin/sh", "-c", script, hosts=["node1", "node2", "node3"],
                     options=[*RESTARTS, "--set", "spares=1", "--set", "restart.max=3", "--set", "restart.exclude_bad_nodes=true"])
    run.end(0, patience=60)
    expect_in("the job failed twice on node1, which is left out (restart.exclude_bad_nodes); a spare takes its place", run.words, "why")
    expect_equal(nodes_of_plan(box), ["node3", "node2"], "who runs")
