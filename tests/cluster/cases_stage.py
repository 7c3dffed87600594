"""`stage`: files and folders get to the nodes before anything starts, from node to node. What is staged is below /run, of which launcher
and nodes each have their own."""

import json
import os
import shutil
import signal

from case import case
from cases_reach import block
from cases_sync import last_run, picture
from cluster import Cluster
from expectations import expect, expect_equal, expect_in, pseudo_random_bytes
from file_schemas import check_all
from processes import wait_until

JOB_FILE, NODE_LOST, NOT_COPIED = 65, 69, 75
FROM, TO = "/run/data", "/run/local"
BLOCK = 64 * 1024


def write(path, content, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    os.chmod(path, mode)
    return path


def tree():
    """A folder with some of everything, and a file beside it."""
    write(f"{FROM}/corpus/a.txt", b"some text\n", 0o755)
    write(f"{FROM}/corpus/deep/er/large", pseudo_random_bytes(3 * BLOCK + 17, 1))
    write(f"{FROM}/corpus/empty", b"")
    write(f"{FROM}/corpus/.gitignore", b"*\n")
    write(os.fsencode(f"{FROM}/corpus/b") + b"\xff\n", b"odd name")
    os.makedirs(f"{FROM}/corpus/folder", 0o750)
    os.symlink("/mnt/somewhere", f"{FROM}/corpus/link")
    write(f"{FROM}/weights.bin", pseudo_random_bytes(20 * BLOCK, 2))
    return f"[{{from: {FROM}/corpus/, to: {TO}/corpus}}, {{from: {FROM}/weights.bin, to: {TO}/w.bin}}]"


def launch(box, stage, *options, command=("/bin/true",), **more):
    return box.launch(*command, options=["--set", f"stage={stage}", *options], **more)


def staged(box):
    """{number of the node: the last event of it} of the last run."""
    with open(os.path.join(last_run(box), "events.jsonl"), encoding="utf-8") as file:
        events = [json.loads(line) for line in file]
    return {event["node"] + 1: event for event in events if event["event"] == "staged"}


def sources(box):
    return {node: event.get("source") for node, event in staged(box).items()}


def expect_staged(box, nodes):
    """All of tree() is on these nodes, and nothing else."""
    for node in nodes:
        there = node.path(TO)
        expect_equal(picture(os.path.join(there, "corpus")), picture(f"{FROM}/corpus"), f"the folder on {node.name}")
        expect_equal(sorted(os.listdir(there)), ["corpus", "w.bin"], f"on {node.name}")
        with open(os.path.join(there, "w.bin"), "rb") as file, open(f"{FROM}/weights.bin", "rb") as own:
            expect(file.read() == own.read(), f"the file on {node.name}")


@case
def from_node_to_node_and_only_what_changes(box):
    cluster = box.make_cluster(3)
    stage = tree()
    size = 24 * BLOCK + 17 - BLOCK + len("some text\n*\nodd name")
    launch(box, stage).end(0)
    expect_staged(box, cluster.nodes)
    expect_equal({node: (event["bytes"], event["from_launcher"]) for node, event in staged(box).items()},
                 {1: (size, size), 2: (size, 0), 3: (size, 0)}, "bytes, and of them from the launcher")
    expect_equal(sources(box), {1: None, 2: "node1", 3: "node2"}, "who fed whom")

    launch(box, stage).end(0)
    expect_equal([event["bytes"] for event in staged(box).values()], [0, 0, 0], "sent again")

    with open(f"{FROM}/weights.bin", "r+b") as file:
        file.seek(7 * BLOCK + 5)
        file.write(b"changed")
    os.utime(f"{FROM}/corpus/a.txt")  # the same content with another time
    os.unlink(cluster[2].path(f"{TO}/corpus/deep/er/large"))
    launch(box, stage).end(0)
    expect_staged(box, cluster.nodes)
    missing = BLOCK + 3 * BLOCK + 17  # node2 needs a file that the others have
    expect_equal(staged(box)[1]["from_launcher"], missing, "bytes from the launcher")
    check_all(box, ["staged"])


@case
def from_the_launcher_where_the_job_says_so(box):
    cluster = box.make_cluster(2)
    launch(box, tree(), "--set", "stage_via=launcher").end(0)
    expect_staged(box, cluster.nodes)
    expect_equal(sources(box), {1: None, 2: None}, "who fed whom")
    expect(all(event["from_launcher"] == event["bytes"] > 0 for event in staged(box).values()), staged(box))


@case
def the_launchers_machine_is_a_node_like_others(box):
    cluster = box.make_cluster(1)
    launch(box, tree(), hosts=["localhost", "node1"]).end(0)
    expect_staged(box, cluster.nodes)
    expect_equal(picture(f"{TO}/corpus"), picture(f"{FROM}/corpus"), "here")
    expect_equal(sources(box), {1: None, 2: None}, "who fed whom: the launcher's machine does not listen")


@case
def one_percent_of_a_file(box):
    cluster = box.make_cluster(2)
    size = 64 << 20
    write(f"{FROM}/large", pseudo_random_bytes(1 << 20, 1) * (size >> 20))
    stage = f"[{{from: {FROM}/large, to: {TO}/large}}]"
    launch(box, stage).end(0)
    with open(f"{FROM}/large", "r+b") as file:
        for at in (size // 7, size // 2, size - size // 400):  # in three places, one of them at the end
            file.seek(at)
            file.write(pseudo_random_bytes(size // 300, at))
        file.truncate(size)
    launch(box, stage).end(0)
    for node in cluster.nodes:
        with open(node.path(f"{TO}/large"), "rb") as file, open(f"{FROM}/large", "rb") as own:
            expect(file.read() == own.read(), f"the file on {node.name}")
    sent = staged(box)[1]["from_launcher"]
    expect(size // 100 <= sent <= size // 50, f"{sent} bytes of {size} for a change of 1 %")


V4_ONLY = ("--set", "framework=none", "--set", f"rendezvous.interface={Cluster.NETWORK}.0/24")


@case
def nodes_that_do_not_reach_each_other(box):
    cluster = box.make_cluster(3)
    block(cluster[2], cluster[3].address, "REJECT")
    block(cluster[1], cluster[2].address, "REJECT")
    run = launch(box, tree(), *V4_ONLY).end(0)
    expect_staged(box, cluster.nodes)
    expect_equal(sources(box), {1: None, 2: None, 3: "node1"}, "who fed whom")
    expect_in("stage: node2 could not feed node3 (10.77.0.2:", run.text, "a note")
    expect_in("Connection refused); node1 fed it instead", run.text, "a note")
    expect_in("; the launcher fed it instead", run.text, "a note")


def begin_a_long_one(box, nodes, *options, rate="20mbit", megabytes=10):
    """One of some seconds, of which the last node has got something."""
    cluster = box.make_cluster(nodes)
    box.launch("/bin/true").end(0)  # the way of dlaunch to the nodes is not the subject
    write(f"{FROM}/large", pseudo_random_bytes(1 << 20, 1) * megabytes)
    for node in cluster.nodes:
        node.slow_link(rate)
    stage = f"[{{from: {FROM}/large, to: {TO}/large}}]"
    run = launch(box, stage, "--set", "framework=none", *options)
    for node in cluster.nodes:
        wait_until(lambda: part_on(node) > 8 * BLOCK, f"the first blocks on {node.name}", 30, 0.01)  # noqa: B023
    return cluster, stage, run


def part_on(node, folder=TO):
    """Bytes of the part of the file on a node."""
    try:
        names = [name for name in os.listdir(node.path(folder)) if name.startswith(".dlaunch-stage-")]
        return sum(os.path.getsize(os.path.join(node.path(folder), name)) for name in names)
    except OSError:
        return 0


def expect_large(nodes):
    for node in nodes:
        expect_equal(os.listdir(node.path(TO)), ["large"], f"on {node.name}")
        with open(node.path(f"{TO}/large"), "rb") as file, open(f"{FROM}/large", "rb") as own:
            expect(file.read() == own.read(), f"the file on {node.name}")


@case
def nothing_listens_once_the_nodes_are_connected(box):
    cluster, _, run = begin_a_long_one(box, 3)
    ours = [one for one in cluster.listeners() if one.kind == "tcp" and one.program.endswith("/dlaunch")]
    expect(not ours, f"listening sockets: {ours}")
    for node in cluster.nodes:
        node.fast_link()
    run.end(0, patience=60)
    expect_large(cluster.nodes)
    expect_equal(sources(box), {1: None, 2: "node1", 3: "node2"}, "who fed whom")


@case
def a_connection_that_breaks_in_the_middle_is_bridged(box):
    cluster, _, run = begin_a_long_one(box, 3, *V4_ONLY)
    for one, other in ((2, 3), (3, 2)):
        cluster[one]._iptables("-A", "INPUT", "-i", "eth0", "-s", cluster[other].address, "-p", "tcp", "-j", "REJECT", "--reject-with", "tcp-reset")
    run.end(0, patience=60)
    expect_large(cluster.nodes)
    expect_equal(sources(box), {1: None, 2: "node1", 3: "node1"}, "who fed whom")
    expect_in("; node1 fed it instead", run.text, "a note")
    size = os.path.getsize(f"{FROM}/large")
    expect_equal(staged(box)[1]["from_launcher"], size, "bytes from the launcher: none twice")


@case
def a_large_file_goes_over_a_connection_of_its_own(box):
    """From the launcher to the first node; over ssh where the node does not get through to it."""
    cluster = box.make_cluster(1)
    node, ours = cluster[1], ["-p", "tcp", "--dport", "1024:65535"]  # sshd has 22
    stage = f"[{{from: {FROM}/large, to: {TO}/large}}]"
    for number, target in enumerate((None, "REJECT", "DROP")):
        write(f"{FROM}/large", pseudo_random_bytes(1 << 20, number + 3) * 130)
        node.drop_nothing()
        node._iptables("-A", "INPUT", "-s", cluster.launcher_address, *ours)
        if target:
            node._iptables("-A", "OUTPUT", "-d", cluster.launcher_address, *ours, "--syn", "-j", target)
        run = launch(box, stage, *V4_ONLY).end(0)
        expect_large(cluster.nodes)
        counted = int(node.sh("iptables -vxnL INPUT").splitlines()[2].split()[1])
        expect((counted > 130 << 20) == (target is None), f"{target}: {counted} bytes beside ssh")
        expect_equal(staged(box)[1]["from_launcher"], 130 << 20, f"{target}: bytes from the launcher")
        expect("stage: node1" not in run.text, run.text)


@case
def that_connection_breaks_in_the_middle(box):
    cluster = box.make_cluster(1)
    box.launch("/bin/true").end(0)
    write(f"{FROM}/large", pseudo_random_bytes(1 << 20, 1) * 130)
    cluster[1].slow_link("200mbit")
    run = launch(box, f"[{{from: {FROM}/large, to: {TO}/large}}]", *V4_ONLY)
    wait_until(lambda: part_on(cluster[1]) > 8 * BLOCK, "the first blocks", 30, 0.01)
    ours = [one for one in cluster.listeners() if one.kind == "tcp" and one.program.endswith("/dlaunch")]
    expect(not ours, f"listening sockets: {ours}")
    cluster[1]._iptables("-A", "OUTPUT", "-d", cluster.launcher_address, "-p", "tcp", "!", "--sport", "22", "-j", "REJECT", "--reject-with", "tcp-reset")
    cluster[1].fast_link()
    run.end(0, patience=60)
    expect_large(cluster.nodes)
    expect_in("stage: node1 lost its connection to the launcher (", run.text, "a note")


@case
def a_node_that_is_killed_in_the_middle(box):
    limits = ("--set", "timeouts.fence_after=3s", "--set", "timeouts.lost_after=8s", "--set", "timeouts.connect=5s")
    cluster, stage, run = begin_a_long_one(box, 3, *limits, megabytes=40)
    cluster[2].power_off()
    run.end(NODE_LOST, patience=40, left=1000)
    expect_in("node2", run.text, "the node")
    for number in (1, 3):
        cluster[number].fast_link()
        expect_equal([name[:15] for name in os.listdir(cluster[number].path(TO))], [".dlaunch-stage-"], "no file under its name")
        part = part_on(cluster[number])
    box.expect_nodes_empty("nodes 1 and 3", but=["node2"])
    launch(box, stage, "--set", "framework=none", hosts=["node1", "node3"]).end(0)
    expect_large([cluster[1], cluster[3]])
    sent = staged(box)[1]["from_launcher"]
    size = os.path.getsize(f"{FROM}/large")
    expect(0 < sent <= size - part + 2 * BLOCK, f"{sent} of {size} bytes were sent again, and {part} were there")


@case
def ctrl_c_in_the_middle_and_going_on(box):
    cluster, stage, run = begin_a_long_one(box, 2)
    run.signal(signal.SIGINT)
    run.end(130, patience=30)
    for node in cluster.nodes:
        node.fast_link()
        expect(not os.path.exists(node.path(f"{TO}/large")), f"a half file under its name on {node.name}")
    box.expect_nodes_empty("the nodes")
    part = min(part_on(node) for node in cluster.nodes)
    launch(box, stage).end(0)
    expect_large(cluster.nodes)
    size = os.path.getsize(f"{FROM}/large")
    expect(staged(box)[1]["bytes"] <= size - part + 2 * BLOCK, f"{staged(box)} of {size}, and {part} were there")


@case
def a_connection_to_the_launcher_that_is_cut_resumes(box):
    cluster, _, run = begin_a_long_one(box, 2)
    expect(cluster[1].kill_sessions() > 0, "no session")
    run.end(0, patience=60)
    expect_large(cluster.nodes)
    expect_equal(staged(box)[1]["from_launcher"], os.path.getsize(f"{FROM}/large"), "bytes from the launcher: none twice")


@case
def what_does_not_fit_is_told_of_all_nodes_before_anything_is_written(box):
    cluster = box.make_cluster(4)
    stage = tree()
    cluster[2].sh(f"mkdir -p {TO} && mount -t tmpfs -o size=1m tmpfs {TO}")
    cluster[3].sh(f"mkdir -p {TO} && mount -t tmpfs -o ro tmpfs {TO}")
    cluster[4].sh(f"mkdir -p {TO} && mount -t tmpfs -o nr_inodes=4 tmpfs {TO}")
    run = launch(box, stage).end(NOT_COPIED)
    expect_in("nothing was started", run.text, "the first line")
    expect_in(f"node2: {TO}", run.text, "the full one")
    expect_in("No space left on device: 1.5 MB are needed, 1.0 MB are free", run.text, "the full one")
    expect_in(f"node3: {TO}", run.text, "the read-only one")
    expect_in("Read-only file system", run.text, "the read-only one")
    expect_in(f"node4: {TO}/corpus: No space left on device: 10 files are needed, but there are inodes only for 2", run.words, "the one without inodes")
    expect(not os.path.exists(cluster[1].path(f"{TO}/w.bin")), "written on node1")


@case
def another_ones_folder_in_the_place_of_a_file(box):
    cluster = box.make_cluster(2)
    cluster[2].sh(f"mkdir -p {TO}/w.bin/folder")
    run = launch(box, tree()).end(NOT_COPIED)
    expect_in(f"node2: {TO}/w.bin: is a folder there but a file at the source", run.text, "why")
    cluster[2].sh(f"rm -r {TO}/w.bin && mkdir /var/tmp/precious && echo precious > /var/tmp/precious/x && ln -s /var/tmp/precious/x {TO}/w.bin")
    launch(box, tree_again()).end(0)
    expect_equal(cluster[2].sh("cat /var/tmp/precious/x"), "precious\n", "behind a link")


def tree_again():
    return f"[{{from: {FROM}/weights.bin, to: {TO}/w.bin}}]"


@case
def sources_that_are_none(box):
    box.make_cluster(1)
    run = launch(box, f"[{{from: {FROM}/nothing, to: {TO}/x}}]").end(JOB_FILE)
    expect_in(f"stage: {FROM}/nothing: No such file or directory", run.text, "what is missing")
    write(f"{FROM}/x", b"x")
    run = launch(box, f"[{{from: {FROM}/x, to: {TO}/}}]").end(JOB_FILE)
    expect_in(f"names a folder: name the file, as in {TO}/x", run.text, "what to do")


@case
def the_command_copies_to_all_hosts_and_starts_nothing(box):
    cluster = box.make_cluster(3)
    hosts = ("--hosts", "node[1-3]", "--set", f"connect.ssh={cluster.ssh}")
    content = pseudo_random_bytes(2 * BLOCK, 1)
    write(box.path("data"), content)
    run = box.run("stage", *hosts, "--from", "data", "--to", f"{TO}/data")
    expect_in("dlaunch: staged 1 file, 131 kB on 3 nodes in", run.words, "what was done")
    for node in cluster.nodes:
        with open(node.path(f"{TO}/data"), "rb") as file:
            expect(file.read() == content, node.name)
    run = box.run("stage", *hosts, "--from", "data", "--to", f"{TO}/data")
    expect_in(": 0 bytes sent from here", run.words, "sent again")
    box.write_job(f"command: 'true'\nnodes: 2\nspares: 1\nstage: [{{from: data, to: {TO}/more}}]\n")
    run = box.run("stage", "job.yaml", "-q")
    expect_equal(run.text, "", "said with -q")
    expect(all(os.path.exists(node.path(f"{TO}/more")) for node in cluster.nodes), "a spare too")
    expect_equal(box.runs(), [], "run folders")
    launch(box, f"[{{from: data, to: {TO}/more}}]").end(0)
    expect_equal([event["bytes"] for event in staged(box).values()], [0, 0, 0], "sent by a run")


@case
def the_command_says_what_is_wrong(box):
    cluster = box.make_cluster(1)
    hosts = ("--hosts", "node1", "--set", f"connect.ssh={cluster.ssh}")
    run = box.run("stage", *hosts, code=64)
    expect_in("nothing to copy: name a job file, or a file or folder with --from PATH", run.words, "without anything")
    box.write("job.yaml", "command: 'true'\n")
    box.write("data", "")
    for words, code, text in [
            (("--to", "/run/x"), 64, "--to needs exactly one --from"),
            (("job.yaml",), 64, "the job has neither `stage` nor `sync.paths`: name a file or folder with --from"),
            (("data:/run/data",), 64, "data:/run/data is not a job file; to copy it: dlaunch stage --from data --to /run/data --hosts node1"),
            (("data",), JOB_FILE, "to copy the file itself: dlaunch stage --from data --hosts node1"),
            (("data", "/run/data"), 64, "to copy a file or folder: dlaunch stage --from data --to /run/data"),
            (("--from", "missing"), JOB_FILE, f"{box.path('missing')}: No such file or directory"),
            (("--from", "/etc/passwd", "--to", "here"), JOB_FILE, "must be an absolute path, the same on all nodes"),
            (("--from", "/etc/passwd", "--to", "/proc/x"), NOT_COPIED, "node1: /proc")]:
        expect_in(text, box.run("stage", *hosts, *words, code=code).words, str(words))


@case
def more_files_than_are_announced_at_once(box):
    cluster = box.make_cluster(2)
    for number in range(10000):
        write(f"{FROM}/many/{number % 100}/{number}", b"x" if number % 1000 == 0 else b"")
    stage = f"[{{from: {FROM}/many, to: {TO}/many}}]"
    launch(box, stage).end(0)
    expect_equal(picture(cluster[2].path(f"{TO}/many")), picture(f"{FROM}/many"), "the folder on node2")
    launch(box, stage).end(0)
    expect_equal([event["bytes"] for event in staged(box).values()], [0, 0], "sent again")


@case
def what_is_gone_is_removed_where_a_staging_put_it(box):
    cluster = box.make_cluster(2)
    for name in ("a", "old/one", "old/two", "changed", "mine"):
        write(f"{FROM}/corpus/{name}", name.encode())
    stage = f"[{{from: {FROM}/corpus, to: {TO}/corpus}}]"
    there = lambda node: sorted(os.fsdecode(path) for path in picture(cluster[node].path(f"{TO}/corpus")))
    shutil.copytree(f"{FROM}/corpus", cluster[2].path(f"{TO}/corpus"))  # node2 has it already, by someone else
    launch(box, stage).end(0)
    write(cluster[1].path(f"{TO}/corpus/old/own"), b"of a user of the node")
    write(cluster[1].path(f"{TO}/corpus/changed"), b"here")
    shutil.rmtree(f"{FROM}/corpus/old")
    for name in ("changed", "mine"):
        os.unlink(f"{FROM}/corpus/{name}")
    run = launch(box, stage, "-v").end(0)
    expect_in(", 3 removed that no longer exist here", run.words, "what is said")
    expect_equal(there(1), ["a", "changed", "old", "old/own"], "on node1")
    expect_equal(there(2), ["a", "changed", "mine", "old", "old/one", "old/two"], "on node2")
    expect_equal({node: event["removed"] for node, event in staged(box).items()}, {1: 3, 2: 0}, "events.jsonl")
    launch(box, stage).end(0)
    expect_equal(there(1), ["a", "changed", "old", "old/own"], "on node1")


def whats_on(node, path):
    return sorted(os.fsdecode(name) for name in picture(node.path(path)))


@case
def what_a_line_excludes_is_not_copied(box):
    cluster = box.make_cluster(2)
    for name in ("a.py", "b.pyc", "cache/x", "deep/cache/y", "deep/z.pyc"):
        write(f"{FROM}/corpus/{name}", name.encode())
    launch(box, f"[{{from: {FROM}/corpus, to: {TO}/corpus, exclude: ['*.pyc', /cache/]}}]").end(0)
    for node in (1, 2):
        expect_equal(whats_on(cluster[node], f"{TO}/corpus"), ["a.py", "deep", "deep/cache", "deep/cache/y"], f"on node{node}")
    launch(box, f"[{{from: {FROM}/corpus, to: {TO}/corpus, exclude: [deep]}}]").end(0)
    expect_equal(whats_on(cluster[1], f"{TO}/corpus"), ["a.py", "b.pyc", "cache", "cache/x"], "what is excluded now counts as gone")


@case
def what_another_line_stages_there_is_not_removed(box):
    """And neither is anything while the source is empty."""
    cluster = box.make_cluster(1)
    write(f"{FROM}/p/code", b"code")
    write(f"{FROM}/p/data/x", b"data")
    launch(box, f"[{{from: {FROM}/p, to: {TO}/p}}]").end(0)
    os.rename(f"{FROM}/p/data", f"{FROM}/data")
    launch(box, f"[{{from: {FROM}/p, to: {TO}/p}}, {{from: {FROM}/data, to: {TO}//p/data/}}]").end(0)
    expect(os.path.exists(cluster[1].path(f"{TO}/p/data/x")), "the data is gone")
    os.rename(f"{FROM}/p", f"{FROM}/away")
    os.makedirs(f"{FROM}/p")
    launch(box, f"[{{from: {FROM}/p, to: {TO}/p}}]").end(0)
    expect(os.path.exists(cluster[1].path(f"{TO}/p/code")), "a disk that was not mounted has emptied the folder")


@case
def a_node_that_sees_the_source_itself(box):
    """The folder of the case is shared by all: nothing is written there, though other files are sent to the node."""
    cluster = box.make_cluster(2)
    source = box.path("shared")
    write(f"{source}/a", pseudo_random_bytes(3 * BLOCK, 1))
    write(f"{FROM}/b", b"b")
    before = (os.stat(f"{source}/a").st_ino, os.stat(f"{source}/a").st_ctime_ns)
    launch(box, f"[{{from: {source}}}, {{from: {FROM}/b, to: {TO}/b}}]").end(0)
    expect_equal((os.stat(f"{source}/a").st_ino, os.stat(f"{source}/a").st_ctime_ns), before, "the source")
    expect_equal([event["bytes"] for event in staged(box).values()], [1, 1], "sent")
    expect(all(os.path.exists(node.path(f"{TO}/b")) for node in cluster.nodes), "the other file")

