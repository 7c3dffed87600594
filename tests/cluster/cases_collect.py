"""`collect`: what the ranks have written on their nodes gets to the launcher when they have ended. It lies below /run, of which launcher
and nodes each have their own."""

import json
import os
import re
import shutil
import signal
import subprocess

from case import case
from cases_lost_nodes import RESTARTS
from cases_stage import write
from cases_sync import last_run, picture
from expectations import Skip, expect, expect_equal, expect_in, pseudo_random_bytes
from file_schemas import check_all
from processes import children_of, command_of, wait_until

import environments

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

USAGE, NODE_LOST, NOT_COLLECTED = 64, 69, 74
OUT = "/run/out"
BLOCK = 64 * 1024


def results(cluster, size=3 * BLOCK + 17):
    """A folder with some of everything on each node, and a file beside it; different on each."""
    for number, node in enumerate(cluster.nodes, 1):
        folder = node.path(OUT)
        write(f"{folder}/log.txt", b"some text\n", 0o640)
        write(f"{folder}/deep/er/checkpoint", pseudo_random_bytes(size, number))
        write(f"{folder}/empty", b"")
        write(os.fsencode(folder) + b"/b\xff\n", b"odd name")
        os.symlink("/mnt/somewhere", f"{folder}/link")
        write(node.path("/run/model.bin"), pseudo_random_bytes(5 * BLOCK, 10 + number))


def launch(box, collect, *options, command=("/bin/true",), **more):
    return box.launch(*command, options=["--set", f"collect={collect}", *options], **more)


LONG = ("sh", "-c", "echo up $RANK; touch /run/up; sleep 60")


def wait_for_ranks(nodes):
    for node in nodes:
        wait_until(lambda: os.path.exists(node.path("/run/up")), f"the rank on {node.name}", 20)  # noqa: B023


def collected(box):
    """{number of the node: its event} of the last run."""
    with open(os.path.join(last_run(box), "events.jsonl"), encoding="utf-8") as file:
        events = [json.loads(line) for line in file]
    return {event["node"] + 1: event for event in events if event["event"] == "collected"}


def expect_collected(nodes, folder):
    for node in nodes:
        expect_equal(picture(folder.format(node=node.name)), picture(node.path(OUT)), f"the folder of {node.name}")


@case
def from_each_node_and_only_what_changes(box):
    cluster = box.make_cluster(3)
    results(cluster)
    collect = f"[{{from: {OUT}, to: 'results/{{node}}/'}}, {{from: /run/model.bin, to: 'models/{{node}}/'}}]"
    launch(box, collect).end(0)
    expect_collected(cluster.nodes, box.path("results/{node}"))
    for node in cluster.nodes:
        with open(node.path("/run/model.bin"), "rb") as file, open(box.path("models", node.name, "model.bin"), "rb") as own:
            expect(file.read() == own.read(), f"the file of {node.name}")
    size = 8 * BLOCK + 17 + len("some text\nodd name")
    expect_equal({node: (event["files"], event["bytes"]) for node, event in collected(box).items()},
                 {node: (6, size) for node in (1, 2, 3)}, "files and bytes")
    expect_equal([(one["node"], one["files"], one["problem"]) for one in box.json("summary.json")["collected"]],
                 [(f"node{number}", 6, None) for number in (1, 2, 3)], "in the summary")

    with open(cluster[2].path("/run/model.bin"), "r+b") as file:
        file.seek(2 * BLOCK + 5)
        file.write(b"changed")
    launch(box, collect).end(0)
    received = [event["received"] for event in collected(box).values()]
    expect(received[0] == received[2] == 0 and BLOCK < received[1] < BLOCK + 100, f"received again: {received}")
    check_all(box, ["collected"])


@case
def into_the_run_folder_by_default_and_what_ranks_wrote_there(box):
    cluster = box.make_cluster(2)
    run = launch(box, "[{from: /run/made}, {from: '~/home.txt'}, {from: /run/none}]", "-v",
                 command=("sh", "-c", "mkdir -p /run/made; echo $RANK >/run/made/$RANK; echo $HOSTNAME $RANK >~/home.txt")).end(0)
    for rank, node in enumerate(cluster.nodes):
        folder = os.path.join(last_run(box), "collected", node.name)
        expect_equal(sorted(os.listdir(folder)), ["home.txt", "made"], node.name)
        with open(os.path.join(folder, "made", str(rank)), encoding="ascii") as file:
            expect_equal(file.read(), f"{rank}\n", node.name)
    expect_equal(os.stat(last_run(box)).st_mode & 0o077, 0, "others may enter the run folder")
    expect_in("note: collect: node[1-2]: /run/none does not exist", run.text, "a note")
    expect_in("collected 4 files,", run.text, "what was done")


@case
def one_path_for_several_nodes_is_split_by_their_names(box):
    cluster = box.make_cluster(2)
    results(cluster)
    launch(box, f"[{{from: {OUT}, to: '/run/here/{{run}}'}}]").end(0)
    expect_collected(cluster.nodes, f"/run/here/{os.path.basename(last_run(box))}/{{node}}")


@case
def the_launchers_machine_is_a_node_like_others(box):
    cluster = box.make_cluster(1)
    results(cluster)
    write(f"{OUT}/own", b"own")
    launch(box, f"[{{from: {OUT}, to: '/run/all/{{node}}'}}]", hosts=["localhost", "node1"]).end(0)
    expect_collected(cluster.nodes, "/run/all/{node}")
    expect_equal(picture("/run/all/localhost"), picture(OUT), "here")
    run = launch(box, f"[{{from: {OUT}, to: '{OUT}/all/{{node}}'}}]", hosts=["localhost", "node1"]).end(NOT_COLLECTED)
    expect_in(f"localhost: {OUT} cannot be copied into itself, to {OUT}/all/localhost", run.text, "why")


@case
def after_a_failure_too(box):
    cluster = box.make_cluster(2)
    results(cluster)
    launch(box, f"[{{from: {OUT}, to: 'results/{{node}}'}}]", command=("sh", "-c", "exit $((RANK * 3))")).end(3)
    expect_collected(cluster.nodes, box.path("results/{node}"))
    expect_equal(box.json("summary.json")["cause"], "exit-code", "the cause")


@case
def after_a_stop_too(box):
    cluster = box.make_cluster(2)
    results(cluster)
    run = launch(box, f"[{{from: {OUT}, to: 'results/{{node}}'}}]", command=LONG)
    wait_for_ranks(cluster.nodes)
    run.signal(signal.SIGINT)
    run.end(130)
    expect_collected(cluster.nodes, box.path("results/{node}"))


@case(long=True)
def a_lost_node_is_named_and_collected_later(box):
    cluster = box.make_cluster(2)
    results(cluster)
    limits = ("--set", "timeouts.fence_after=1s", "--set", "timeouts.lost_after=5s", "--set", "timeouts.connect=5s")
    run = launch(box, f"[{{from: {OUT}, to: 'results/{{node}}'}}]", *limits, command=LONG)
    wait_for_ranks(cluster.nodes)
    cluster[2].link_down()
    run.end(NODE_LOST, patience=30, left=1000)
    expect_collected([cluster[1]], box.path("results/{node}"))
    expect_in("collect: not all files were collected", run.text, "what is wrong")
    expect_in("node2: was lost (", run.text, "which node")
    words = run.text[run.text.index("to collect the rest: dlaunch ") + len("to collect the rest: dlaunch "):].split()[:2]
    again = box.start(*words).end(NOT_COLLECTED, patience=30, left=1000)
    expect_in("node2: ", again.text, "a node that is still down")
    cluster[2].link_up()
    box.expect_nodes_empty("the nodes", patience=20)
    again = box.run(*words)
    expect_in("collected 10 files,", again.text, "what was done")
    expect_collected(cluster.nodes, box.path("results/{node}"))


@case
def what_cannot_be_written_here_is_an_error_of_its_own(box):
    cluster = box.make_cluster(2)
    results(cluster)
    write(box.path("results"), b"a file")
    run = launch(box, f"[{{from: {OUT}, to: 'results/{{node}}'}}]").end(NOT_COLLECTED)
    expect_in("collect: not all files were collected", run.text, "what is wrong")
    expect_in(f"node1: {box.path('results')}", run.text, "where")
    summary = box.json("summary.json")
    expect_equal((summary["cause"], summary["exit_code"], summary["origin"]), ("not-collected", NOT_COLLECTED, "dlaunch"), "the summary")
    os.unlink(box.path("results"))
    box.run("collect")
    expect_collected(cluster.nodes, box.path("results/{node}"))
    box.run("collect", "-q", "--set", f"collect=[{{from: {OUT}/log.txt, to: 'logs/{{node}}.txt'}}]")
    expect_equal(sorted(os.listdir(box.path("logs"))), ["node1.txt", "node2.txt"], "something that the job did not name")


@case
def limits_of_size_and_time(box):
    cluster = box.make_cluster(2)
    results(cluster)
    run = launch(box, f"[{{from: {OUT}, to: 'results/{{node}}'}}]", "--set", "collect_limit=100k").end(NOT_COLLECTED)
    expect_in("node[1-2]: the size is 197 kB, but `collect_limit` is 102 kB", run.text, "the limit of size")
    expect(not os.path.exists(box.path("results")), "something was copied")
    write(cluster[1].path(f"{OUT}/large"), pseudo_random_bytes(1 << 20, 1) * 40)
    cluster[1].slow_link("20mbit")
    run = launch(box, f"[{{from: {OUT}, to: 'results/{{node}}'}}]", "--set", "timeouts.collect=2s").end(NOT_COLLECTED, patience=40)
    expect_in("node1: did not finish within 2 s (timeouts.collect)", run.text, "the limit of time")
    expect_collected([cluster[2]], box.path("results/{node}"))
    box.expect_nodes_empty("the nodes")


@case
def ctrl_c_in_the_middle_and_going_on(box):
    cluster = box.make_cluster(2)
    results(cluster)
    size = 20 << 20
    write(cluster[1].path(f"{OUT}/large"), pseudo_random_bytes(1 << 20, 1) * (size >> 20))
    box.launch("/bin/true").end(0)  # the way of dlaunch to the nodes is not the subject
    cluster[1].slow_link("20mbit")
    run = launch(box, f"[{{from: {OUT}, to: 'results/{{node}}'}}]")
    part = lambda: sum(os.path.getsize(box.path("results/node1", name)) for name in names(box) if name.startswith(".dlaunch-stage-"))  # noqa: E731
    wait_until(lambda: part() > size // 4, "a quarter of the file", 60, 0.01)
    run.signal(signal.SIGINT)
    run.end(NOT_COLLECTED, patience=10)
    expect_in("node1: interrupted", run.text, "why")
    expect(not os.path.exists(box.path("results/node1/large")), "a half file under its name")
    there = part()
    cluster[1].fast_link()
    again = box.run("collect", os.path.basename(last_run(box)), patience=60)
    expect_collected(cluster.nodes, box.path("results/{node}"))
    sent = size_in(re.search(r": (\S+ \S+) sent", again.words)[1])
    expect(there > size // 4 and sent <= (size - there) * 1.05 + 2 * BLOCK, f"{sent} of {size} bytes were sent again, and {there} were there")


def size_in(text):
    """The bytes of "1.2 MB", which has two digits."""
    number, unit = text.split()
    return float(number) * {"bytes": 1, "byte": 1, "kB": 1e3, "MB": 1e6}[unit]


def names(box):
    try:
        return os.listdir(box.path("results/node1"))
    except OSError:
        return []


@case
def a_killed_launcher_leaves_files_and_output_for_later(box):
    cluster = box.make_cluster(2)
    results(cluster)
    run = launch(box, f"[{{from: {OUT}, to: 'results/{{node}}'}}]", "--set", "timeouts.fence_after=1s", "--set", "logs.console=none",
                 command=LONG)
    wait_for_ranks(cluster.nodes)
    for pid in (run.pid, *children_of(run.pid)):
        os.kill(pid, signal.SIGKILL)
    run.end(left=1000)
    box.expect_nodes_empty("the nodes", patience=20)
    box.run("collect", "-q")
    expect_collected(cluster.nodes, box.path("results/{node}"))
    for rank in range(2):
        expect_equal(box.rank_output(rank), f"up {rank}\n".encode(), "the output that was left on a node")


@case
def the_command_says_what_is_wrong(box):
    cluster = box.make_cluster(1)
    box.launch("/bin/true").end(0)
    run = box.run("collect", code=USAGE)
    expect_in("has no `collect`; to collect a path anyway: dlaunch collect", run.text, "nothing to collect")
    expect_in("no run", box.run("collect", "zzz", code=USAGE).text, "no such run")
    run = launch(box, "[{from: /run/x}]", command=LONG)
    wait_for_ranks(cluster.nodes)
    expect_in("has not ended and collects when it ends; to end it: dlaunch stop", box.start("collect").end(USAGE, left=1000).text, "a live run")
    run.signal(signal.SIGINT)
    run.end(130)


def example(box, hosts, *settings):
    """examples/local-disks in a folder of its own, and the arguments that train there on these nodes."""
    why = environments.why_not(environments.DEBIAN, ["python3-torch", "python3-sklearn"])
    if why:
        raise Skip(why)
    cluster, job = box.make_cluster(hosts), box.path("example")
    shutil.copytree(os.path.join(TOP, "examples/local-disks"), job)
    subprocess.run(["/usr/bin/python3", "pack.py"], cwd=job, check=True, capture_output=True)
    options = ("run", "job.yaml", "--hosts", f"node[1-{hosts}]", "--set", f"connect.ssh={cluster.ssh}", "--set", "rendezvous.interface=eth0", "--set",
               "stage=[{from: digits.tar.gz, to: /run/digits, unpack: true}]", "--set", "collect=[{from: /run/out, to: 'results/{node}/'}]",
               "--set", "checkpoint.path=/run/out/epoch-*.pt", *settings, "--", "--data", "/run/digits", "--checkpoints", "/run/out")
    return cluster, job, options


def has_epoch(node, number):
    return os.path.exists(node.path(f"/run/out/epoch-{number:03d}.pt"))


def goes_on_after(out):
    return int(out.split(b"goes on after epoch ")[1].split(b",")[0])


def expect_trained(run, job, nodes, epochs):
    """To its end; the last checkpoint was collected from these nodes."""
    accuracy = float(run.out.split(b"test accuracy ")[1].split()[0])
    expect(accuracy > 0.9, f"test accuracy {accuracy}")
    last = f"epoch-{epochs:03d}.pt"
    for node in nodes:
        with open(node.path(f"/run/out/{last}"), "rb") as file, open(os.path.join(job, "results", node.name, last), "rb") as own:
            expect(file.read() == own.read(), f"the last checkpoint of {node.name}")


@case(budget=180)
def the_example_from_packed_images_to_collected_checkpoints(box):
    """Interrupted by a killed rank, on a node that has lost its checkpoints, and by Ctrl-C, and each time gone on with."""
    cluster, job, options = example(box, 2)
    run = box.start(*options, "--epochs", "100", "--pause", "0.2", cwd=job)
    wait_until(lambda: has_epoch(cluster[2], 2), "epoch 2", 90, 0.05)
    expect_equal(len(os.listdir(cluster[2].path("/run/digits/7"))), 179, "images of a seven")
    rank = [pid for pid in box.people(cluster[2])[2] if "train.py" in command_of(pid)]
    os.kill(rank[0], signal.SIGKILL)
    wait_until(lambda: b"goes on after epoch" in run.out, "the restart", 90, 0.05)
    shutil.rmtree(cluster[1].path("/run/out"))  # as a new node has none
    wait_until(lambda: has_epoch(cluster[2], goes_on_after(run.out) + 2), "two epochs more", 90, 0.05)
    run.signal(signal.SIGINT)
    run.end(130, patience=60)
    there = sorted(os.listdir(cluster[2].path("/run/out")))
    expect_equal(sorted(os.listdir(os.path.join(job, "results/node2"))), there, "collected")
    run = box.start(*options, "--epochs", str(len(there) + 8), cwd=job).end(0, patience=90)
    expect_in(f"goes on after epoch {len(there)}", run.out.decode(), "the next run")
    expect_trained(run, job, cluster.nodes, len(there) + 8)


@case(budget=240, long=True)
def the_example_when_the_node_of_rank_0_is_lost(box):
    """A spare takes its place: it gets the images, and the newest checkpoint from the other node."""
    cluster, job, options = example(box, 3, *RESTARTS, "--set", "spares=1")
    run = box.start(*options, "--epochs", "20", "--pause", "0.3", cwd=job)
    wait_until(lambda: has_epoch(cluster[2], 3), "epoch 3", 90, 0.05)
    expect(not os.path.exists(cluster[3].path("/run/out")), "the spare has ranks")
    cluster[1].power_off()
    wait_until(lambda: b"goes on after epoch" in run.out, "the restart", 120, 0.05)
    run.end(0, patience=90, left=1000)
    expect_in("node1 is lost; a spare takes its place", run.text, "what happened")
    expect(3 <= goes_on_after(run.out) < 20, run.out)
    expect_equal(len(os.listdir(cluster[3].path("/run/digits/7"))), 179, "images of a seven on the spare")
    expect_trained(run, job, [cluster[2], cluster[3]], 20)
