"""Lost nodes and the restart policy: one that answers again takes part in the next attempt, one that does not ends the run in time."""

import json
import os
import signal
import time

from case import case
from cases_faults import LOST, NODE_LOST, QUICK, SLACK, kill_on
from expectations import expect, expect_equal, expect_in
from processes import children_of, program_of, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
WORLD = ["/usr/bin/python3", os.path.join(HERE, "ranks", "world.py")]
# This many attempts only wait for their end; the next one forms a world.
SCRIPT = 'if [ $TORCHELASTIC_RESTART_COUNT -lt $1 ]; then echo up $RANK > $EVENTS; exec sleep 600; fi; shift; exec "$@"'
RESTARTS = [*QUICK, "--set", "restart.backoff=100ms..100ms"]


def launch(box, nodes, *options, restarts=1, waits=None, hosts=None):
    """Running ranks, one on each node, that wait to be lost; `waits`: in how many attempts, by default restart.max."""
    hosts = hosts or box.cluster.names
    run = box.launch("/bin/sh", "-c", SCRIPT, "sh", str(restarts if waits is None else waits), *WORLD, str(nodes), hosts=hosts,
                     options=[*RESTARTS, "--set", f"restart.max={restarts}", *options])
    box.expect_all("up", nodes)
    return run


def bring_back(node):
    node.link_up()
    node.boot()
    node.wait_for_sshd()


def wait_for_words(run, words, patience=LOST + SLACK):
    wait_until(lambda: words in run.text, f'"{words}" is said', patience, 0.02)


def expect_restarted(box, run, nodes, lost, attempt=1, left=0):
    """After one attempt for each of `lost` (lists of names), a world of all nodes."""
    run.end(0, patience=60, left=left)
    rows = [json.loads(box.read(run.folder(), f"attempt-{attempt}", f"rank-{rank}.out")) for rank in range(nodes)]
    expect_equal([row["WORLD_SIZE"] for row in rows], [str(nodes)] * nodes, "WORLD_SIZE")
    summary = box.json("summary.json")
    expect_equal(summary["attempt"], attempt, "the last attempt")
    expect_equal([one["cause"] for one in summary["earlier"]], ["node-lost"] * attempt, "earlier attempts")
    expect_equal([sorted(one["lost_nodes"]) for one in summary["earlier"]], lost, "who was lost")


@case
def a_node_that_is_powered_on_again(box):
    box.make_cluster(3)
    run = launch(box, 3)
    box.cluster[2].power_off()
    wait_for_words(run, "waiting up to 5 min for node2 to answer again")
    expect_in("node2 was lost (no sign of life for 5 s", run.words, "why")
    bring_back(box.cluster[2])
    expect_restarted(box, run, 3, [["node2"]])
    expect_in("node2 answers again", run.text, "that it is back")


@case
def a_node_that_does_not_return(box):
    box.make_cluster(3)
    run = launch(box, 3, "--set", "timeouts.node_return=3s")
    since = time.monotonic()
    box.cluster[2].power_off()
    run.end(NODE_LOST, patience=60)
    seconds = time.monotonic() - since
    expect(seconds < LOST + 3 + SLACK, f"it took {seconds:.1f} s\n{run.report()}")
    expect_in("node2: lost (no sign of life for 5 s", run.words, "who")
    expect_in("did not answer again within 3 s (timeouts.node_return); the last try: ", run.words, "why")
    expect_in("try bring it back", run.words, "what to do")
    summary = box.json("summary.json")
    expect_equal(summary["exit_code"], NODE_LOST, "exit code in summary.json")
    expect_equal([one["node"] for one in summary["lost_nodes"]], ["node2"], "lost nodes")
    expect(summary["lost_nodes"][0]["heard_at"], "when it was last heard")
    expect_equal(len(summary["earlier"]), 1, "earlier attempts")


@case
def a_node_whose_link_is_cut_for_long(box):
    """It has fenced itself; the old agent's session is not taken for the new one's."""
    box.make_cluster(2)
    run = launch(box, 2)
    node = box.cluster[2]
    node.link_down()
    wait_for_words(run, "waiting up to")
    expect(not node.processes(sessions=False), "the old ranks still run")
    node.link_up()
    expect_restarted(box, run, 2, [["node2"]])
    node.kill_sessions()


@case
def a_killed_agent(box):
    box.make_cluster(2)
    run = launch(box, 2)
    kill_on(box, box.cluster[2], "agent")
    expect_restarted(box, run, 2, [["node2"]])
    expect_in("its agent was killed by SIGKILL", run.words, "why")


@case
def a_killed_guardian(box):
    box.make_cluster(2)
    run = launch(box, 2)
    kill_on(box, box.cluster[2], "guardian")
    expect_restarted(box, run, 2, [["node2"]], left=1)  # an abandoned reconnection may still look for its agent


@case
def the_master_node(box):
    box.make_cluster(2)
    run = launch(box, 2)
    box.cluster[1].power_off()
    wait_for_words(run, "for node1 to answer again")
    bring_back(box.cluster[1])
    expect_restarted(box, run, 2, [["node1"]])


@case(long=True)
def two_nodes_at_once(box):
    box.make_cluster(3)
    run = launch(box, 3)
    for node in (box.cluster[2], box.cluster[3]):
        node.power_off()
    wait_for_words(run, "for node2 and node3 to answer again", LOST + 2 * SLACK)
    for node in (box.cluster[3], box.cluster[2]):
        bring_back(node)
    expect_restarted(box, run, 3, [["node2", "node3"]])


@case
def all_nodes_at_once(box):
    box.make_cluster(2)
    run = launch(box, 2)
    for node in box.cluster.nodes:
        kill_on(box, node, "agent")
    expect_restarted(box, run, 2, [["node1", "node2"]])


@case
def one_that_is_lost_twice(box):
    box.make_cluster(2)
    run = launch(box, 2, restarts=2)
    for expected in (1, 2):
        kill_on(box, box.cluster[2], "agent")
        if expected == 1:
            box.expect_all("up", 2)
    expect_restarted(box, run, 2, [["node2"], ["node2"]], attempt=2)


@case
def one_that_is_lost_twice_with_one_restart(box):
    box.make_cluster(2)
    run = launch(box, 2, restarts=1, waits=2)
    kill_on(box, box.cluster[2], "agent")
    box.expect_all("up", 2)
    kill_on(box, box.cluster[2], "agent")
    run.end(NODE_LOST, patience=60)
    expect_in("restart.max of 1 is used up", run.text, "why no more")
    expect_equal(len(box.json("summary.json")["earlier"]), 1, "earlier attempts")
    expect_in("node2", run.text, "who")


@case(long=True)
def a_loss_while_another_node_is_waited_for(box):
    box.make_cluster(3)
    run = launch(box, 3)
    box.cluster[2].power_off()
    wait_for_words(run, "waiting up to")
    kill_on(box, box.cluster[3], "agent")
    wait_for_words(run, "node3 answers again")
    bring_back(box.cluster[2])
    expect_restarted(box, run, 3, [["node2"]])


def local_chain(run):
    """(guardian, agent) on the launcher's machine."""
    engine = children_of(run.pid)[0]
    guardian = next(pid for pid in children_of(engine) if os.path.basename(program_of(pid)) == "dlaunch")
    return guardian, children_of(guardian)[0]


@case
def the_agent_on_the_launchers_machine(box):
    box.make_cluster(1)
    run = launch(box, 2, hosts=["launcher", "node1"])
    os.kill(local_chain(run)[1], signal.SIGKILL)
    expect_restarted(box, run, 2, [["launcher"]])


@case
def guardian_and_agent_on_the_launchers_machine(box):
    box.make_cluster(1)
    run = launch(box, 2, hosts=["launcher", "node1"])
    for pid in local_chain(run):
        os.kill(pid, signal.SIGKILL)
    expect_restarted(box, run, 2, [["launcher"]])


@case
def a_node_that_hangs_and_goes_on(box):
    """Its old ranks cannot be ended earlier; the new ones do not meet them."""
    box.make_cluster(2)
    script = ('old=/var/tmp/old; if [ $TORCHELASTIC_RESTART_COUNT = 0 ]; then echo $$ > $old; echo up $RANK > $EVENTS; '
              'exec sleep 600; fi; if kill -0 $(cat $old); then echo both; exit 3; fi')
    run = box.launch("/bin/sh", "-c", script, options=[*RESTARTS, "--set", "restart.max=1"])
    box.expect_all("up", 2)
    node = box.cluster[2]
    node.hang()
    wait_for_words(run, "waiting up to")
    node.go_on()
    run.end(0, patience=30)
    expect_equal(len(box.json("summary.json")["earlier"]), 1, "earlier attempts")
    node.kill_sessions()


@case
def ctrl_c_while_a_node_is_waited_for(box):
    box.make_cluster(2)
    run = launch(box, 2)
    box.cluster[2].power_off()
    wait_for_words(run, "waiting up to")
    run.signal(signal.SIGINT)
    run.end(130, patience=10)
    expect_in("while waiting for restart 1 of 1", run.words, "what was interrupted")


@case
def the_time_limit_while_a_node_is_waited_for(box):
    box.make_cluster(2)
    run = launch(box, 2, "--set", f"timeouts.run={LOST + 3:g}s")
    box.cluster[2].power_off()
    wait_for_words(run, "waiting up to")
    run.end(124, patience=LOST + 3 + SLACK)


@case
def a_silence_is_told_before_it_is_a_loss(box):
    box.make_cluster(2)
    run = box.launch(box.rank, "tell", "ready", "gate", options=["--set", "timeouts.stop=2s"])
    box.expect_all("ready", 2)
    box.cluster[2].link_down()
    wait_for_words(run, "node2 has not answered for", 8)
    box.cluster[2].link_up()
    wait_for_words(run, "resumed after", 10)
    box.open_gate()
    run.end(0)
    expect_equal(run.text.count("has not answered"), 1, "how often it is told")
    expect_in("its ranks go on until 10 s have passed", run.words, "what it means")
