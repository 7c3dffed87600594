"""Spares and shrinking: a lost node is left out of the next attempt while enough others are there."""

import json
import os
import re
import signal
import sys
import zipfile

from case import case
from cases_faults import kill_on
from cases_lost_nodes import RESTARTS, bring_back, expect_restarted, launch, wait_for_words
from expectations import Skip, expect, expect_equal, expect_in
from file_schemas import check_all
from processes import wait_until
from run_helpers import look

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
from html_page import report_page  # noqa: E402


def nodes_of_plan(box):
    return [node["name"] for node in box.json("plan.json")["nodes"]]


@case
def a_spare_takes_the_place_of_a_lost_node(box):
    box.make_cluster(3)
    run = launch(box, 2, "--set", "spares=1", hosts=["node1", "node2", "node3"])
    wait_until(lambda: box.read(box.run_folder(), "events.jsonl").count(b"rank-started") == 2, "both starts are recorded", pause=0.02)
    box.cluster[1].power_off()
    wait_for_words(run, "node1 is lost; a spare takes its place, with 0 spares left")
    expect_restarted(box, run, 2, [["node1"]])
    expect_equal(nodes_of_plan(box), ["node3", "node2"], "the spare has the lost node's position")
    page = report_page(box)
    expect_in("node1: no sign of life", page.texts["incidents"], "the lost node in the report")
    expect_in("was lost with its node", page.texts["timeline"], "its rank")
    for part, words in (("ranks", ["node3", "node2"]), ("plan", ["node3", "node2"]), ("nodes", ["node1", "node2", "node3"]),
                        ("attempts", ["node-lost"])):
        for word in words:
            expect_in(word, page.texts[part], f"{part} of the report")
    for rank, name in enumerate(("node3", "node2")):
        expect(re.search(rf"<tr[^>]* id=\"r{rank}\"[^>]*><td[^>]*>{rank}</td><td[^>]*>{name}</td>", page.source), f"rank {rank} on {name}")
    expect("node1" not in page.texts["ranks"], "a rank of the last attempt on the lost node")


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


def spares_in_status(box):
    return {spare["host"]: spare["state"] for spare in json.loads(look(box, "status", "--json").out)["spares"]}


@case
def a_node_that_was_replaced_becomes_a_spare(box):
    box.make_cluster(3)
    run = launch(box, 2, "--set", "spares=1", hosts=["node1", "node2", "node3"], restarts=2)
    expect_equal(spares_in_status(box), {"node3": "ready"}, "spares at the start")
    box.cluster[1].power_off()
    wait_for_words(run, "a spare takes its place, with 0 spares left")
    box.expect_all("up", 2)
    expect_equal(spares_in_status(box), {"node1": "not connected"}, "spares while it is away")
    expect_in("spare: node1 (not connected)", look(box, "status").out.decode(), "the line of status")
    bring_back(box.cluster[1])
    wait_for_words(run, "node1 answers again and is a spare", 20)
    expect_equal(spares_in_status(box), {"node1": "ready"}, "spares when it is back")
    kill_on(box, box.cluster[2], "agent")
    expect_restarted(box, run, 2, [["node1"], ["node2"]], attempt=2)
    expect_equal(nodes_of_plan(box), ["node3", "node1"], "who ran last")
    expect_equal([spare["host"] for spare in box.json("summary.json")["spares"]], ["node2"], "spares in the summary")
    check_all(box, ["node-lost"])


@case
def a_node_that_is_checked_is_not_ready_yet(box):
    """The check asks a Python for a module in a zip file, and that Python waits."""
    box.make_cluster(3)
    program = f'import os; first = os.environ["DLAUNCH_ATTEMPT"] == "0"; os.execv("{box.rank}", ["rank", "tell", *(["up", "pause"] if first else ["again", "gate"])])'
    with zipfile.ZipFile(box.path("modules.zip"), "w") as modules:
        modules.writestr("waits.py", program)
    box.write("site/sitecustomize.py", f'import os, time\nwhile os.path.exists("{box.path("hold")}"): time.sleep(0.05)\n')
    run = box.launch("/usr/bin/python3", "-m", "waits", hosts=["node1", "node2", "node3"],
                     options=[*RESTARTS, "--set", "nodes=2", "--set", "spares=1", "--set", "restart.max=2",
                              "--set", f"env.PYTHONPATH={box.path('modules.zip')}:{box.path('site')}"])
    box.expect_all("up", 2)
    box.cluster[1].power_off()
    box.expect_all("again", 2)
    box.write("hold", "")
    bring_back(box.cluster[1])
    wait_until(lambda: spares_in_status(box) == {"node1": "checking"}, "node1 is checked", 20, 0.02)
    expect_in("spare: node1 (checking)", look(box, "status").out.decode(), "the line of status")
    os.remove(box.path("hold"))
    wait_for_words(run, "node1 answers again and is a spare", 20)
    expect_equal(spares_in_status(box), {"node1": "ready"}, "when it has passed")
    box.open_gate()
    run.end(0)


WORK = "/run/work"  # each node has its own, and a rebooted one has none
NO_WORK = f'cannot be used: cannot enter the workdir "{WORK}": No such file or directory'


def launch_in_work(box, *options, nodes=4, lacking=(3,), restarts=1):
    """On node1 and node2, with spares; some nodes have no workdir."""
    box.make_cluster(nodes)
    for number in set(range(1, nodes + 1)) - set(lacking):
        box.cluster[number].sh(f"mkdir {WORK}")
    return launch(box, 2, "--set", f"spares={nodes - 2}", "--set", f"workdir={WORK}", *options, hosts=box.cluster.names, restarts=restarts)


@case
def a_spare_without_the_workdir_is_not_taken(box):
    run = launch_in_work(box)
    wait_for_words(run, "node3, a spare, cannot be used")
    expect_in(f"node3, a spare, {NO_WORK} (it must exist on every node); 1 spare left", run.words, "why")
    wait_until(lambda: spares_in_status(box)["node3"] == "not connected", "node3 is no spare", 20)
    expect_equal(spares_in_status(box)["node4"], "ready", "the other one")
    box.cluster[1].power_off()
    wait_for_words(run, "node1 is lost; a spare takes its place, with 0 spares left")
    expect_restarted(box, run, 2, [["node1"]], left=3)  # guardian, agent and shell of a try to connect node3 may still be ending
    expect_equal(nodes_of_plan(box), ["node4", "node2"], "who ran last")


@case
def a_spare_that_gets_its_workdir_is_one_again(box):
    run = launch_in_work(box, nodes=3)
    wait_for_words(run, "node3, a spare, cannot be used")
    box.cluster[3].sh(f"mkdir {WORK}")
    wait_for_words(run, "node3 answers again and is a spare", 30)
    kill_on(box, box.cluster[1], "agent")
    expect_restarted(box, run, 2, [["node1"]])
    expect_equal(nodes_of_plan(box), ["node3", "node2"], "it has the lost node's position")


@case
def a_spare_that_turns_out_unusable_is_replaced_by_the_next(box):
    """With `stage`, what the ranks need is known only when the files are there."""
    box.write("data", "some data")
    run = launch_in_work(box, "--set", f"stage=[{{from: {box.path('data')}, to: /run/data}}]")
    kill_on(box, box.cluster[1], "agent")
    wait_for_words(run, "node3 is lost; a spare takes its place, with 0 spares left")
    expect_in(f"node3 {NO_WORK}", run.words, "why")
    expect_restarted(box, run, 2, [["node1"]])
    expect_equal(nodes_of_plan(box), ["node4", "node2"], "who ran last")


@case
def a_node_that_answers_again_but_cannot_be_used(box):
    run = launch_in_work(box, nodes=3, lacking=(), restarts=2)
    box.cluster[1].power_off()
    wait_for_words(run, "a spare takes its place, with 0 spares left")
    box.expect_all("up", 2)
    bring_back(box.cluster[1])
    wait_for_words(run, "node1 answers again, but cannot be used", 30)
    expect_in(f"node1 answers again, but {NO_WORK}", run.words, "why")
    expect_in("node1", spares_in_status(box), "it is no node of the attempt")
    box.cluster[1].sh(f"mkdir {WORK}")
    wait_for_words(run, "node1 answers again and is a spare", 30)
    expect_equal(run.words.count("but cannot be used"), 1, "how often it is said")
    kill_on(box, box.cluster[2], "agent")
    expect_restarted(box, run, 2, [["node1"], ["node2"]], attempt=2)
    expect_equal(nodes_of_plan(box), ["node3", "node1"], "who ran last")


@case
def a_job_that_shrank_grows_at_the_next_restart(box):
    box.make_cluster(2)
    run = launch(box, 2, "--nnodes", "1:2", restarts=2)
    box.cluster[2].power_off()
    wait_for_words(run, "node2 is lost; the run goes on with 1 of 2 nodes")
    box.expect_all("up", 1)
    bring_back(box.cluster[2])
    wait_for_words(run, "node2 answers again; the next attempt has 2 of 2 nodes", 20)
    expect_equal(len(box.people(box.cluster[1])[2]), 1, "the attempt that runs goes on")
    os.kill(box.people(box.cluster[1])[2][0], signal.SIGKILL)
    run.end(0, patience=60)
    expect_equal(nodes_of_plan(box), ["node1", "node2"], "who ran last")
    expect_equal([one["cause"] for one in box.json("summary.json")["earlier"]], ["node-lost", "signal"], "earlier attempts")


@case
def a_job_that_grows_again_keeps_its_first_node(box):
    box.make_cluster(2)
    run = launch(box, 2, "--nnodes", "1:2", restarts=2)
    box.cluster[1].power_off()
    wait_for_words(run, "node1 is lost; the run goes on with 1 of 2 nodes")
    box.expect_all("up", 1)
    bring_back(box.cluster[1])
    wait_for_words(run, "node1 answers again; the next attempt has 2 of 2 nodes", 20)
    os.kill(box.people(box.cluster[2])[2][0], signal.SIGKILL)
    run.end(0, patience=60)
    expect_equal(nodes_of_plan(box), ["node2", "node1"], "who ran last")


@case(long=True)
def a_node_that_returns_when_no_restart_is_left(box):
    box.make_cluster(2)
    script = f'if [ $DLAUNCH_ATTEMPT = 0 ]; then echo up $RANK > $EVENTS; exec sleep 600; fi; exec {box.rank} tell again gate'
    run = box.launch("/bin/sh", "-c", script, hosts=box.cluster.names, options=[*RESTARTS, "--nnodes", "1:2", "--set", "restart.max=1"])
    box.expect_all("up", 2)
    box.cluster[2].power_off()
    box.expect_all("again", 1)
    bring_back(box.cluster[2])
    wait_for_words(run, "node2 answers again, but no restart would follow now", 20)
    box.open_gate()
    run.end(0)
    expect_in("node2 answers again, but no restart would follow now: restart.max of 1 is used up", run.words, "why")
    expect("the next attempt" not in run.words, run.text)


@case
def a_spare_in_the_first_position_is_the_first_in_tf_config(box):
    box.make_cluster(3)
    script = 'if [ $DLAUNCH_ATTEMPT = 0 ]; then echo up $DLAUNCH_RANK > $EVENTS; exec sleep 600; fi; printf "%s\\n" "$TF_CONFIG"'
    run = box.launch("/bin/sh", "-c", script, hosts=["node1", "node2", "node3"],
                     options=[*RESTARTS, "--set", "spares=1", "--set", "nodes=2", "--set", "framework=tensorflow", "--set", "restart.max=1"])
    box.expect_all("up", 2)
    box.cluster[1].power_off()
    run.end(0, patience=60)
    rows = [json.loads(box.read(box.run_folder(), "attempt-1", f"rank-{rank}.out")) for rank in (0, 1)]
    expect_equal([row["task"]["index"] for row in rows], [0, 1], "who is who")
    hosts = [worker.rsplit(":", 1)[0] for worker in rows[0]["cluster"]["worker"]]
    expect_equal(hosts, [box.cluster[3].address, box.cluster[2].address], "the workers")


@case
def a_spare_in_the_first_position_is_the_first_in_the_hostfile(box):
    box.make_cluster(3)
    script = 'if [ $DLAUNCH_ATTEMPT = 0 ]; then echo up 0 > $EVENTS; exec sleep 600; fi; hostname; cat $DLAUNCH_HOSTFILE'
    run = box.launch("/bin/sh", "-c", script, hosts=["node1", "node2", "node3"], ranks=2,
                     options=[*RESTARTS, "--set", "spares=1", "--set", "nodes=2", "--set", "launch=once", "--set", "restart.max=1"])
    box.expect_all("up", 1)
    box.cluster[1].power_off()
    run.end(0, patience=60)
    lines = box.read(box.run_folder(), "attempt-1", "rank-0.out").decode().splitlines()
    expect_equal(lines, ["node3", "node3 slots=2", "node2 slots=2"], "the driver's output")


def replaced(box, before, after, script, **more):
    """What each rank prints in the attempt after the loss of node1, for which node3 stands in: its words. `before`, `after`: how many ranks."""
    waits = 'if [ $DLAUNCH_ATTEMPT = 0 ]; then echo up $RANK > $EVENTS; exec sleep 600; fi; '
    run = box.launch("/bin/sh", "-c", waits + script, options=[*RESTARTS, "--set", "nodes=2", "--set", "spares=1", "--set", "restart.max=1"], **more)
    box.expect_all("up", before)
    kill_on(box, box.cluster[1], "agent")
    run.end(0, patience=60)
    expect_equal(nodes_of_plan(box), ["node3", "node2"], "who ran last")
    return [box.read(box.run_folder(), "attempt-1", f"rank-{rank}.out").decode().split() for rank in range(after)]


@case
def slots_are_those_of_the_hosts_that_run(box):
    """The spare has fewer slots than the node that it replaces: the world is smaller."""
    box.make_cluster(3)
    hosts = ["{name: node1, slots: 2}", "{name: node2, slots: 2}", "{name: node3, slots: 1}"]
    rows = replaced(box, 4, 3, "echo $(hostname) $RANK $LOCAL_RANK $LOCAL_WORLD_SIZE $WORLD_SIZE", hosts=hosts, ranks="auto")
    expect_equal(rows, [["node3", "0", "0", "1", "3"], ["node2", "1", "0", "2", "3"], ["node2", "2", "1", "2", "3"]], "the ranks")


@case
def roles_keep_their_counts_and_their_nodes(box):
    """`nodes` of a role counts from the first node: the spare there gets the chief, and one of the two workers."""
    box.make_cluster(3)
    script = "if [ $DLAUNCH_ATTEMPT = 0 ]; then echo up $DLAUNCH_RANK > $EVENTS; exec sleep 600; fi; echo $(hostname) $OWN $TF_CONFIG"
    roles = "".join(f"  {name}: {{count: {count}, nodes: {count}, env: {{OWN: own-{name}}}, command: [/bin/sh, -c, \"{script}\"]}}\n"
                    for name, count in (("chief", 1), ("worker", 2)))
    box.write("job.yaml", "framework: tensorflow\nnodes: 2\nspares: 1\nhosts: [node1, node2, node3]\nrestart: {max: 1}\n"
                          f"connect: {{ssh: {box.cluster.ssh}}}\nenv_pass: [EVENTS, GATE, CASE]\nroles:\n{roles}")
    run = box.start("run", *RESTARTS, "job.yaml")
    box.expect_all("up", 3)
    kill_on(box, box.cluster[1], "agent")
    run.end(0, patience=60)
    rows = [box.read(box.run_folder(), "attempt-1", f"rank-{rank}.out").decode().split(maxsplit=2) for rank in range(3)]
    expect_equal([row[:2] for row in rows], [["node3", "own-chief"], ["node3", "own-worker"], ["node2", "own-worker"]], "where each role runs")
    tasks = [json.loads(row[2])["task"] for row in rows]
    expect_equal([(task["type"], task["index"]) for task in tasks], [("chief", 0), ("worker", 0), ("worker", 1)], "who is who")


@case
def ranks_are_bound_to_the_cores_of_the_spare(box):
    """It has one core, and the node that it replaces has more."""
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        raise Skip("this machine has one CPU")
    box.make_cluster(3)
    only = max(allowed)
    os.sched_setaffinity(box.cluster[3].sshd(), {only})
    rows = replaced(box, 2, 2, "sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status; echo $RANK $LOCAL_RANK", hosts=box.cluster.names)
    plan = box.json("plan.json")
    expect_equal([rank["cpus"] for rank in plan["ranks"]], [[only], sorted(allowed)], "the plan")
    expect_equal(rows[0], [str(only), "0", "0"], "the rank on the spare")
    expect_equal(rows[1][1:], ["1", "0"], "the other one")
    expect(rows[1][0] != str(only), f"it keeps all its CPUs: {rows[1]}")


@case
def spares_are_in_the_plan_and_fewer_hosts_are_an_error(box):
    box.make_cluster(3)
    job = ["--set", "nodes=2", "--set", "spares=1", "--nproc-per-node", "1", "--set", f"connect.ssh={box.cluster.ssh}", "--", "true"]
    hosts = ["--set", "hosts=[node1, node2, node3]"]
    expect_in("spares         node3", box.run("plan", *hosts, *job).out.decode(), "the text")
    expect_equal(json.loads(box.run("plan", *hosts, "--json", *job).out)["spares"], ["node3"], "plan --json")
    refused = box.run("run", "--set", "hosts=[node1, node2]", *job, code=65)
    expect_in("only 2 hosts are given", refused.words, "why")
    expect_in("try --set spares=0", refused.words, "what to do")
