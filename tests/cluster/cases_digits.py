"""A real training that everything happens to, in one run: it ends as if nothing had happened, and the summary explains each step."""

import json
import os
import re
import signal
import time
from collections import namedtuple

from case import case
from cases_faults import LOST, QUICK
from cases_lost_nodes import bring_back
from expectations import Skip, expect, expect_equal, expect_in
from processes import command_of

import environments

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ranks", "digits.py")
NODES = 4
PATIENCE = 240  # seconds; PyTorch takes a minute to begin where many others compile
HANG = 8 + int(os.getloadavg()[0])  # seconds; on a busy machine the beginning of a rank is silent for longer
NOTICE = "/var/tmp/notice"  # each node has its own
LOOK = 0.1  # seconds between two looks at the steps, each of which takes half of it
# What a fault does to the node at this position; the incident that the summary must tell of it, and how to undo it once the next attempt runs.
# `unnoticed`: seconds that pass at least until dlaunch can know; None: it knows at once.
Fault = namedtuple("Fault", "name position act cause unnoticed takes_the_node undo", defaults=(None, False, None))


def kill_rank(box, node):
    os.kill(rank_on(box, node), signal.SIGKILL)


def stop_rank(box, node):
    os.kill(rank_on(box, node), signal.SIGSTOP)


def rank_on(box, node):
    ranks = [pid for pid in box.people(node)[2] if SCRIPT in command_of(pid)]
    expect_equal(len(ranks), 1, f"ranks on {node.name}")
    return ranks[0]


def deadlock(box, node):
    del node
    box.write("training/deadlock", "")


def take_away(box, node):
    del box
    node.sh(f"printf 'Spot\\ndeadline: 20\\n' > {NOTICE}.new; mv {NOTICE}.new {NOTICE}")


def reconnect(node):
    node.link_up()
    node.kill_sessions()


def thaw(node):
    node.go_on()
    node.kill_sessions()


FAULTS = [
    Fault("a rank is killed", 2, kill_rank, "signal"),
    Fault("the node of rank 0 loses its power", 0, lambda box, node: node.power_off(), "node-lost", LOST - 1, True, bring_back),
    Fault("a rank is stopped", 3, stop_rank, "hang", HANG - 1),
    Fault("a link is cut", 1, lambda box, node: node.link_down(), "node-lost", LOST - 1, True, reconnect),
    Fault("ranks wait for each other", 1, deadlock, "hang", HANG - 1),
    Fault("a node freezes", 3, lambda box, node: node.hang(), "node-lost", LOST - 1, True, thaw),
    Fault("a node is taken away", 2, take_away, "preempted", None, True),
]


def training_through(box, environment, rounds):
    why = environments.why_not(environment, ["python3-torch", "python3-sklearn"] if environment == environments.DEBIAN else ["torch", "scikit-learn"])
    if why:
        raise Skip(why)
    faults = FAULTS * rounds
    # A node that has left the set does not come back to it, so each one that is lost or taken away needs a spare of its own.
    spares = sum(fault.takes_the_node for fault in faults)
    box.make_cluster(NODES + spares)
    box.make_folder("training", "ckpt")
    python = "python3" if environment == environments.DEBIAN else os.path.join(environments.folder(environment), "bin/python3")
    script = [f"/usr/bin/{python}" if "/" not in python else python, SCRIPT, box.path("training")]
    options = {"nodes": NODES, "spares": spares, "framework": "pytorch", "restart.max": len(faults), "restart.backoff": "0s..100ms", "timeouts.hang": f"{HANG}s", "checkpoint.path": box.path("training/ckpt/step-*"),
               "preemption.file": NOTICE, "metrics.step": "step=([0-9]+)", "watch.interval": f"{1000 * LOOK:g}ms", "watch.after": "3s"}
    run = box.launch(*script, options=[*QUICK, *(word for key, value in options.items() for word in ("--set", f"{key}={value}"))])
    happened = []
    for attempt, fault in enumerate(faults):
        box.expect_events([f"trains {attempt} {rank}" for rank in range(NODES)], patience=PATIENCE)
        if attempt:
            settle(happened[-1])
        happened.append(happen(box, fault, attempt))
    box.expect_events([f"trains {len(faults)} {rank}" for rank in range(NODES)], patience=PATIENCE)
    settle(happened[-1])
    box.write("training/finish", "")
    run.end(0, patience=PATIENCE)
    expect_same_weights(box, run, script)
    expect_explained(box, run, happened)


class Happened:
    def __init__(self, fault, node):
        self.fault, self.node = fault, node
        self.at, self.over = time.monotonic(), None


def happen(box, fault, attempt):
    plan = box.json("plan.json")
    expect_equal(plan["attempt"], attempt, "attempt in plan.json")
    node = next(node for node in box.cluster.nodes if node.name == plan["nodes"][fault.position]["name"])
    done = Happened(fault, node)
    fault.act(box, node)
    return done


def settle(done):
    """The next attempt trains."""
    done.over = time.monotonic()
    if done.fault.undo:
        done.fault.undo(done.node)


def expect_same_weights(box, run, script):
    """As an undisturbed training of as many steps on this machine."""
    words = re.search(rb"equal weights on 4 ranks: True; (\d+) steps, accuracy ([0-9.]+), sha256 ([0-9a-f]{64})\n", run.out)
    expect(words, f"the end of the training\n{run.report()}")
    steps, accuracy, weights = words.groups()
    expect(float(accuracy) > 0.95, f"accuracy {accuracy}")
    box.make_folder("undisturbed", "ckpt")
    plain = box.start("run", "-n", str(NODES), "--set", "framework=pytorch", "--set", "logs.dir=plain", "--", *script[:2], box.path("undisturbed"), steps.decode())
    plain.end(0, patience=PATIENCE)
    expect_in(b"sha256 " + weights, plain.out, f"weights after {steps.decode()} undisturbed steps")


def steps_of(box, attempt):
    lines = box.read(box.run_folder(), f"attempt-{attempt}", "rank-0.out").decode().splitlines()
    return [int(line.partition("=")[2]) for line in lines if line.startswith("step=")]


def expect_explained(box, run, happened):
    summary = box.json("summary.json")
    ledger = summary["ledger"]
    total = sum(ledger.values())
    expect(abs(total - summary["elapsed_s"]) <= 0.01 * summary["elapsed_s"], f"the lines of the ledger add up to {total} of {summary['elapsed_s']} s")
    expect(summary["elapsed_s"] <= run.seconds, f"{summary['elapsed_s']} s of {run.seconds}")
    expect_equal(len(summary["earlier"]), len(happened), "incidents")
    again = [steps_done_again(box, attempt) for attempt in range(len(happened))]
    for attempt, (done, told) in enumerate(zip(happened, summary["earlier"])):
        expect_incident(done, told, attempt, again[attempt], summary["stalls"])
    # Those between two looks are not seen.
    seen = sum(told["steps_lost"] for told in summary["earlier"])
    expect(seen >= sum(again) / 2, f"{seen} of {again} steps that were done again")


def steps_done_again(box, attempt):
    before = max(step for earlier in range(attempt + 1) for step in steps_of(box, earlier))
    return before - steps_of(box, attempt + 1)[0] + 1


def expect_incident(done, told, attempt, again, stalls):
    fault, what = done.fault, f"{done.fault.name}: {json.dumps(told)}"
    expect_equal((told["attempt"], told["cause"]), (attempt, fault.cause), what)
    expect_equal(told["lost_nodes"], [done.node.name] if fault.cause == "node-lost" else [], what)
    if fault.cause == "signal":
        expect_equal((told["first"], told["exit_code"]), (fault.position, 128 + signal.SIGKILL), what)
    expect(fault.unnoticed is None or told["unnoticed_s"] >= fault.unnoticed, what)
    expect(told["again_s"] <= done.over - done.at, f"{what}, within {done.over - done.at:.1f} s")
    expect(told["checkpoint"]["written"] >= 1, what)
    # The output of a lost node may lack the last lines.
    expect(told["steps_lost"] <= again + (2 if fault.cause == "node-lost" else 0), f"{what}, where {again} steps were done again")
    if fault.act is take_away:
        expect_equal(again, 0, "steps that are done again though the ranks have saved the last one")
    if fault.act is stop_rank:
        mine = [stall for stall in stalls if stall["attempt"] == attempt]
        expect_equal([stall["ranks"] for stall in mine], [[fault.position]], f"the verdict in {mine}")
        expect_in("is stopped by a signal", mine[0]["headline"], "the verdict")


@case(budget=300, alone=True, long=True)
def a_training_that_everything_happens_to(box):
    training_through(box, environments.DEBIAN, 1)


@case(budget=1800, alone=True, long=True)
def three_times(box):
    training_through(box, "torch", 3)
