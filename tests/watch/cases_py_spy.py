"""py-spy is brought to nodes that have none; tests/cluster hides the launcher's from them."""

import json
import os
import shutil
import signal

from case import case
from expectations import expect, expect_equal, expect_in
from processes import wait_until
from watch_sandbox import PROGRAM, PYTHON, functions, main_thread

STOP_SOON = ["--set", "timeouts.stop=1s"]


def end(run):
    run.signal(signal.SIGTERM)
    run.end(143)


def stand(box, nodes, *options, hidden, **more):
    """Ranks in Python on each node. What is brought is told with -v."""
    box.make_cluster(nodes, hidden=hidden)
    run = box.launch(PYTHON, PROGRAM, "sleep", options=["-v", *STOP_SOON, *options], **more)
    box.expect_all("ready", nodes)
    return run


def brought(run, node):
    return run.text.count(f"py-spy was sent to {node}: ")


def all_have_frames(said):
    return all(functions(main_thread(rank)) for rank in said["ranks"])


def all_stand(said):
    return all(functions(main_thread(rank))[:1] == ["innermost"] for rank in said["ranks"])


@case
def the_first_answer_has_frames_and_the_second_costs_nothing(box):
    folder = box.py_spy()
    run = stand(box, 2, hidden=[folder])
    first = box.stacks_json(py_spy=folder)
    expect(all_have_frames(first), json.dumps(first, indent=1))
    box.until_stacks(all_stand, py_spy=folder)
    expect(all_have_frames(box.stacks_json()), "once there it is found without the asker's PATH")
    expect_equal([brought(run, node) for node in ("node1", "node2")], [1, 1], f"deliveries: {run.text}")
    for rank in first["ranks"]:
        expect_equal(rank["remarks"], [], "remarks")
    end(run)


@case
def a_node_that_has_one_is_sent_none(box):
    folder = box.py_spy()
    run = stand(box, 1, hidden=[])
    box.until_stacks(all_stand, py_spy=folder)
    expect_equal(brought(run, "node1"), 0, f"deliveries: {run.text}")
    end(run)


@case
def ranks_in_a_pid_namespace_of_a_node_without_one_have_frames(box):
    folder = box.py_spy()
    run = stand(box, 1, "--set", "isolation=pid-namespace", hidden=[folder])
    box.until_stacks(all_stand, py_spy=folder)
    expect_equal(brought(run, "node1"), 1, f"deliveries: {run.text}")
    end(run)


@case
def one_that_must_not_be_sent_is_named_with_the_reason(box):
    folder = box.py_spy()
    run = stand(box, 1, hidden=[folder])
    program = os.path.join(folder, "py-spy")

    def refused(why):
        said = box.stacks_json(py_spy=folder)
        remarks = " ".join(said["ranks"][0]["remarks"])
        expect_in(f"{program} on this machine is not sent, because {why}", remarks, "the reason")
        expect_equal(functions(main_thread(said["ranks"][0])), [], "frames")
        expect_equal(main_thread(said["ranks"][0])["doing"], "sleeping", "what is known without")
    box.until_stacks(lambda said: main_thread(said["ranks"][0])["doing"] == "sleeping")
    expect_in("this machine has no py-spy to send", box.stacks().out.decode(), "where the launcher has none either")
    os.chmod(program, 0o757)
    refused("other users may write to it (chmod go-w)")
    os.chmod(program, 0o644)
    refused("it is not executable (chmod +x)")
    os.chmod(program, 0o755)
    os.chown(program, 65534, 65534)
    refused("it belongs to another user")
    os.rename(program, program + ".kept")
    box.write(program, "#!/bin/sh\ntouch $CASE/was-run\n", mode=0o755)
    refused("it is a script, not a program")
    os.remove(program)
    os.symlink("/usr/bin/python3", program)
    refused("it needs libraries (the one from pip does not)")
    os.remove(program)
    expect(not os.path.exists(box.path("was-run")), "what is refused is not run")
    expect_equal(brought(run, "node1"), 0, f"deliveries: {run.text}")
    shutil.copy(program + ".kept", program)
    os.chmod(program, 0o755)
    box.until_stacks(all_stand, py_spy=folder)
    end(run)


@case
def a_verdict_has_frames_of_nodes_without_one(box):
    """With the PATH of the launcher, since no one asks."""
    folder = box.py_spy()
    path = box.environment["PATH"] + ":" + folder
    run = stand(box, 2, "--set", "watch.after=2s", hidden=[folder], env={"PATH": path})
    stalls = []

    def told():
        events = box.read(box.run_folder(), "events.jsonl").splitlines(keepends=True)
        stalls[:] = [one for one in map(json.loads, filter(lambda line: line.endswith(b"\n"), events)) if one["event"] == "stall"]
        return stalls
    wait_until(told, "a verdict", 60, 0.2)
    expect_equal(stalls[0]["verdict"], "hang", json.dumps(stalls, indent=1))
    expect_in("in innermost (stand.py:", json.dumps(stalls[0]), "where the ranks stand")
    expect_equal([brought(run, node) for node in ("node1", "node2")], [1, 1], f"deliveries: {run.text}")
    end(run)
