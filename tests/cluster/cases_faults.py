"""Faults of a job on many nodes, and what must hold then: detected in time, the right exit code, the node named, and nothing left on
any reachable node, nor on the others once they have fenced themselves."""

import json
import os
import re
import signal
import time

from case import case
from expectations import expect, expect_equal, expect_in
from processes import children_of, descendants_of, wait_gone, wait_until

NODE_LOST = 69
FENCE, LOST = 1.5, 5.0  # required: fence_after + heartbeat + 2 s < lost_after
QUICK = ["--set", f"timeouts.fence_after={1000 * FENCE:g}ms", "--set", f"timeouts.lost_after={LOST:g}s", "--set", "timeouts.stop=2s"]
CUT = 3.0
SLACK = 4.0  # seconds that a busy machine may add
FAMILY = ["child", "daemon"]


def start(box, *words, nodes=3, ranks=2):
    """A run whose ranks are all up, with a child and a daemon each."""
    box.make_cluster(nodes)
    run = box.launch(box.rank, *FAMILY, "tell", "ready", *words, ranks=ranks, options=QUICK)
    box.expect_all("ready", nodes * ranks)
    return run


def expect_lost(box, run, node, since, within=LOST + SLACK):
    """It ends with 69 in time and names the node."""
    run.end(NODE_LOST, patience=within + 10, left=1000)
    seconds = time.monotonic() - since
    expect(seconds < within, f"it took {seconds:.1f} s\n{run.report()}")
    expect_in(node.name, run.text, "the node")
    summary = box.json("summary.json")
    expect_equal(summary["exit_code"], NODE_LOST, "exit code in summary.json")
    expect_equal(summary["origin"], "dlaunch", "origin in summary.json")


def expect_fenced(node):
    wait_until(lambda: not node.processes(sessions=False), f"{node.name} has fenced itself", LOST + SLACK, 0.05)


@case
def power_off(box):
    run = start(box, "gate")
    node, since = box.cluster[2], time.monotonic()
    node.power_off()
    expect_lost(box, run, node, since)
    box.expect_nodes_empty("the other nodes")


@case
def a_crash_of_a_node(box):
    run = start(box, "gate")
    node, since = box.cluster[3], time.monotonic()
    node.crash()
    expect_lost(box, run, node, since)
    box.expect_nodes_empty("the other nodes")


@case
def a_link_cut_longer_than_lost_after(box):
    run = start(box, "gate")
    node, since = box.cluster[2], time.monotonic()
    node.link_down()
    # The node fences itself before it is given up.
    expect_fenced(node)
    expect(time.monotonic() - since > FENCE - 1, "before fence_after, counted from the last beat")
    expect_lost(box, run, node, since)
    node.link_up()
    node.kill_sessions()
    box.expect_nodes_empty("all nodes")


@case
def a_cut_that_only_the_node_does_not_see(box):
    """Packets from the node arrive, packets to it do not."""
    run = start(box, "gate")
    node, since = box.cluster[2], time.monotonic()
    node.drop("in")
    expect_lost(box, run, node, since)
    expect_fenced(node)
    node.drop_nothing()
    node.kill_sessions()
    box.expect_nodes_empty("all nodes")


@case
def a_cut_that_only_the_launcher_does_not_see(box):
    run = start(box, "gate")
    node, since = box.cluster[2], time.monotonic()
    node.drop("out")
    expect_lost(box, run, node, since)
    expect_fenced(node)
    node.drop_nothing()
    node.kill_sessions()
    box.expect_nodes_empty("all nodes")


@case
def the_launchers_link_cut_for_good(box):
    run = start(box, "gate")
    since = time.monotonic()
    box.cluster.launcher_link_down()
    for node in box.cluster.nodes:
        expect_fenced(node)
    run.end(NODE_LOST, patience=LOST + SLACK + 10, left=1000)
    expect(time.monotonic() - since < LOST + SLACK, f"it took {run.seconds:.1f} s")
    for node in box.cluster.nodes:
        expect_in(node.name, run.text, "the nodes")
        node.kill_sessions()


def kill_on(box, node, which):
    guardian, agent, _ = box.people(node)
    pid = {"guardian": guardian, "agent": agent}[which]
    expect(pid, f"no {which} on {node.name}")
    os.kill(pid, signal.SIGKILL)


@case
def the_agent_killed(box):
    run = start(box, "gate")
    node, since = box.cluster[2], time.monotonic()
    kill_on(box, node, "agent")
    wait_until(lambda: not node.processes(sessions=False), "the guardian has cleaned up", SLACK, 0.01)
    expect_lost(box, run, node, since)


@case
def the_guardian_killed(box):
    run = start(box, "gate")
    node, since = box.cluster[2], time.monotonic()
    kill_on(box, node, "guardian")
    wait_until(lambda: not node.processes(sessions=False), "the agent has cleaned up", SLACK, 0.01)
    expect_lost(box, run, node, since)


@case
def agent_and_guardian_killed_together(box):
    """Ranks die with their agent. What they have started is ended by the login that looks for the agent, if there is a cgroup for that."""
    run = start(box, "gate")
    node, since = box.cluster[2], time.monotonic()
    guardian, agent, ranks = box.people(node)
    with open(f"/proc/{ranks[0]}/cgroup", encoding="utf-8") as file:
        has_cgroup = "/dlaunch-" in file.read()
    for pid in (guardian, agent):
        os.kill(pid, signal.SIGKILL)
    expect_lost(box, run, node, since)
    if not has_cgroup:
        for pid in node.processes(sessions=False):
            os.kill(pid, signal.SIGKILL)
    box.expect_nodes_empty("all nodes")


@case
def the_agent_stopped(box):
    run = start(box, "gate")
    node, since = box.cluster[2], time.monotonic()
    _, agent, _ = box.people(node)
    os.kill(agent, signal.SIGSTOP)
    expect_lost(box, run, node, since, within=FENCE + LOST + SLACK)
    wait_until(lambda: not node.processes(sessions=False), "the guardian has cleaned up", SLACK, 0.01)


@case
def a_rank_killed_on_another_node(box):
    run = start(box, "gate")
    _, _, children = box.people(box.cluster[3])
    ranks = [pid for pid in children if os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "rank"]
    os.kill(ranks[0], signal.SIGKILL)
    run.end(137)
    expect_in("node3", run.text, "where")


@case
def a_node_that_hangs(box):
    run = start(box, "gate")
    node, since = box.cluster[2], time.monotonic()
    node.hang()
    expect_lost(box, run, node, since)
    node.go_on()
    # Only a completely frozen node cannot be fenced; it ends its processes as soon as it continues.
    wait_until(lambda: not node.processes(sessions=False), "the node cleans up when it goes on", FENCE + SLACK, 0.05)
    node.kill_sessions()


@case
def the_listening_sshd_killed_disturbs_nobody(box):
    run = start(box, "gate")
    box.cluster[2].kill_sshd()
    box.open_gate()
    run.end(0)


@case
def a_slow_link_disturbs_nobody(box):
    box.make_cluster(2)
    box.launch("/bin/true").end(0)  # staging is not the subject
    box.cluster[2].slow_link("5mbit")
    run = box.launch(box.rank, "lines", "20000", options=QUICK).end(0, patience=60)
    expect_equal(run.out.count(b"\n"), 40000, "lines on the console")


def kill_launcher(run, pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    wait_gone([run.pid], "the front")


def launcher_of(box, run):
    """Front and engine, and what they have started on their own machine (ssh)."""
    own = {pid for node in box.cluster.nodes for pid in node.processes()} | box.cluster.base()
    return [pid for pid in [run.pid, *descendants_of(run.pid)] if pid not in own]


def expect_all_fenced(box, run):
    for node in box.cluster.nodes:
        wait_until(lambda: not node.processes(), f"{node.name} is empty", FENCE + 3 + SLACK, 0.05)  # noqa: B023
    box.reap()
    run.code = -signal.SIGKILL


@case
def the_front_killed(box):
    run = start(box, "gate")
    kill_launcher(run, [run.pid])
    expect_all_fenced(box, run)
    box.expect_nodes_empty("all nodes")


@case
def the_whole_launcher_killed(box):
    run = start(box, "gate")
    kill_launcher(run, launcher_of(box, run))
    expect_all_fenced(box, run)


@case
def after_a_killed_launcher_it_is_told_where_the_output_is(box):
    """It is still on the nodes, because it could not be fetched."""
    run = start(box, "lines", "3", "gate", nodes=2, ranks=1)
    kill_launcher(run, launcher_of(box, run))
    expect_all_fenced(box, run)
    told = box.run("logs")
    for rank, node in enumerate(box.cluster.nodes):
        found = re.search(rf"^  {node.name}:(/\S+)  rank {rank}$", told.text, re.MULTILINE)
        expect(found, f"{node.name} is not told of\n{told.report()}")
        with open(os.path.join(node.path(found[1]), f"rank-{rank}.out"), "rb") as file:
            expect_equal(file.read().count(b"\n"), 3, f"lines of rank {rank}")
    expect_in(b"where its output is: dlaunch logs", box.run("runs").out, "the list")
    expect_equal([one["node"] for one in json.loads(box.run("runs", "--json").out)[0]["output_on_nodes"]], box.cluster.names, "nodes in JSON")


@case
def the_engine_killed(box):
    run = start(box, "gate")
    engine = children_of(run.pid)[0]
    os.kill(engine, signal.SIGKILL)
    run.end(70, left=1000)
    expect_all_fenced(box, run)


@case
def ctrl_c(box):
    run = start(box, "gate")
    run.signal(signal.SIGINT)
    run.end(130)


@case
def ctrl_c_twice(box):
    box.make_cluster(2)
    run = box.launch(box.rank, *FAMILY, "ignore", str(int(signal.SIGTERM)), "tell", "ready", "pause", ranks=2)
    box.expect_all("ready", 4)
    run.signal(signal.SIGINT)
    time.sleep(0.3)  # two signals of one kind that are pending at once are one (signal(7))
    run.signal(signal.SIGINT)
    run.end(130, patience=10)


@case
def a_failure_with_deaf_ranks_on_other_nodes(box):
    box.make_cluster(3)
    run = box.launch(box.rank, *FAMILY, "ignore", str(int(signal.SIGTERM)), "tell", "ready", "only", "2", "gate", "exit", "9", options=QUICK)
    box.expect_all("ready", 3)
    box.open_gate()
    run.end(9)


@case
def a_lost_node_and_a_restart(box):
    """It does not come back; without spares the job cannot go on without it, and says so."""
    box.make_cluster(3)
    run = box.launch(box.rank, *FAMILY, "tell", "ready", "gate", options=[
        *QUICK, "--set", "restart.max=1", "--set", "restart.backoff=100ms..100ms", "--set", "timeouts.node_return=3s"])
    box.expect_all("ready", 3)
    node, since = box.cluster[2], time.monotonic()
    node.power_off()
    run.end(NODE_LOST, patience=60, left=1000)
    expect(time.monotonic() - since < LOST + 30 + SLACK, "it took too long")
    expect_in("node2", run.text, "the node")


@case
def a_lost_node_without_ranks_disturbs_nobody(box):
    """One that is kept for a restart."""
    box.make_cluster(3)
    words = ["--set", f"hosts=[{', '.join(box.cluster.names)}]", "--set", f"connect.ssh={box.cluster.ssh}",
             "--set", "env_pass=[EVENTS, GATE, CASE]", "--set", "processes=2", "--set", "restart.max=1"]
    run = box.start("run", *words, *QUICK, "--", box.rank, *FAMILY, "tell", "ready", "gate")
    box.expect_all("ready", 2)
    box.cluster[3].power_off()
    time.sleep(LOST + 1)  # it is lost then, without any visible effect
    box.open_gate()
    run.end(0, left=1000)


@case
def a_failure_and_a_restart_on_the_same_nodes(box):
    box.make_cluster(2)
    script = 'echo attempt $TORCHELASTIC_RESTART_COUNT on $(hostname); test $TORCHELASTIC_RESTART_COUNT = 1 || test $RANK = 0'
    run = box.launch("/bin/sh", "-c", script, options=["--set", "restart.max=1", "--set", "restart.backoff=100ms..100ms"]).end(0)
    expect_in(b"attempt 1 on node2", run.out, "the second attempt")


# --- connections that break temporarily

def chatter(box, nodes=2):
    """Ranks that print a line each few milliseconds until they are allowed to end, then a last one."""
    box.make_cluster(nodes)
    script = 'i=0; echo ready $RANK > $EVENTS; until [ -e $CASE/enough ]; do echo line $i; i=$((i+1)); sleep 0.01; done; echo end $i'
    run = box.launch("/bin/sh", "-c", script)  # with fence_after 10 s: TCP's own pauses after a cut of 3 s may last as long again
    box.expect_all("ready", nodes)
    return run


def expect_whole_output(box, nodes):
    for rank in range(nodes):
        lines = box.rank_output(rank).decode().splitlines()
        wanted = [f"line {i}" for i in range(len(lines) - 1)] + [f"end {len(lines) - 1}"]
        expect(lines == wanted, f"output of rank {rank}: {len(lines)} lines, the last {lines[-3:]}")


def expect_resumed(box, run, nodes=2):
    size = {rank: len(box.rank_output(rank)) for rank in range(nodes)}
    wait_until(lambda: all(len(box.rank_output(rank)) > size[rank] + 200 for rank in range(nodes)), "output comes again", LOST + SLACK, 0.02)
    box.write("enough", "")
    run.end(0)
    expect_whole_output(box, nodes)


@case
def a_killed_ssh_session_resumes(box):
    run = chatter(box)
    expect(box.cluster[2].kill_sessions() > 0, "no session")
    expect_resumed(box, run)


@case
def an_agent_is_found_by_a_login_that_sees_other_folders(box):
    """As with pam_namespace(8) or PrivateTmp=, where each login may have a /tmp of its own."""
    run = chatter(box)
    node = box.cluster[2]
    node.sh("mount -t tmpfs -o mode=700 tmpfs /tmp/dlaunch-0")
    expect(node.kill_sessions() > 0, "no session")
    expect_resumed(box, run)


@case
def a_killed_ssh_client_resumes(box):
    run = chatter(box)
    for pid in launcher_of(box, run):
        if os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "ssh":
            os.kill(pid, signal.SIGKILL)
    expect_resumed(box, run)


@case
def a_link_cut_shorter_than_fence_after_is_nothing(box):
    run = chatter(box)
    box.cluster[2].link_down()
    time.sleep(CUT)  # the length of the cut is the subject
    box.cluster[2].link_up()
    expect_resumed(box, run)


@case
def the_launchers_link_cut_for_a_moment(box):
    run = chatter(box)
    box.cluster.launcher_link_down()
    time.sleep(CUT)
    box.cluster.launcher_link_up()
    expect_resumed(box, run)


@case
def a_killed_session_and_a_failing_rank(box):
    """The failure is reported although the connection broke just before."""
    box.make_cluster(2)
    run = box.launch(box.rank, *FAMILY, "tell", "ready", "only", "1", "gate", "exit", "7", options=QUICK)
    box.expect_all("ready", 2)
    box.cluster[2].kill_sessions()
    box.open_gate()
    run.end(7)
