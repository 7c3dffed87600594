"""`dlaunch check` and `preflight`: they name bad nodes and no others, and say what cannot be measured."""

import json
import math
import os
import re
import shutil
import sys

from case import case
from expectations import Skip, expect, expect_equal, expect_in
from processes import command_of, wait_until

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
from html_page import report_page  # noqa: E402

GOAL = 60  # seconds for 16 nodes on two idle cores: reported, but no failure
CLUSTER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cluster")
LIBRARY = "/usr/lib/x86_64-linux-gnu/libmpi.so.40"


def text(output):
    return output.decode()


def check(box, *options, hosts=None, code=0, patience=180.0, **more):
    names = hosts or box.cluster.names
    return box.run("check", "--hosts", ",".join(names), "--ssh", box.cluster.ssh, *options, code=code, patience=patience, **more)


def report(box, *options, **more):
    return json.loads(check(box, "--json", *options, **more).out)


def bad(found):
    """[(code, [host])] of each bad finding."""
    return [(one["code"], one["hosts"]) for one in found["findings"] if one["severity"] == "bad"]


def expect_measured(found):
    why = found["not_measured"]
    if "built without MPI" in why or ("libmpi.so" in why and "is not on this node" in why):
        raise Skip(f"no MPI for the measuring ranks: {why}")
    expect_equal(why, "", "why nothing was measured")


def expect_no_bad_node(box, runs):
    slowest = 0.0
    for number in range(runs):
        found = report(box)
        expect_measured(found)
        expect_equal((bad(found), found["good"]), ([], True), f"run {number}: what is bad")
        expect(found["all_reduce_busbw_gbs"] > 0, "all_reduce was measured")
        slowest = max(slowest, found["took_ms"] / 1000)
    print(f"{runs} runs on {len(box.cluster.names)} nodes, the slowest took {slowest:.1f} s")


def expect_named(box, hosts, codes, runs):
    for number in range(runs):
        found = report(box, code=None)
        expect_measured(found)
        named = bad(found)
        expect(named and all(one[1] == hosts for one in named), f"run {number}: {named}, expected only {hosts}")
        expect({one[0] for one in named} <= set(codes), f"run {number}: {named}, expected of {codes}")
        expect_equal(found["good"], False, "good")


@case(alone=True, budget=300)
def sixteen_good_nodes_are_good_in_a_logarithmic_number_of_rounds(box):
    """The time depends on the machine; the check itself decides the number of rounds."""
    nodes = 16
    box.make_cluster(nodes)
    found = report(box)
    expect_measured(found)
    expect_equal(bad(found), [], "what is bad")
    rounds = math.ceil(math.log2(nodes)) + 1
    expect(0 < found["exchanges"] <= rounds * nodes // 2, f"{found['exchanges']} exchanges: rounds of {nodes // 2} pairs, at most {rounds}")
    print(f"{nodes} nodes took {found['took_ms'] / 1000:.1f} s (goal: {GOAL} s on two idle cores), {found['exchanges']} exchanges")


@case(alone=True, budget=200)
def no_node_is_named_where_all_are_good(box):
    box.make_cluster(4)
    expect_no_bad_node(box, 3)


@case(alone=True, budget=200)
def no_node_of_three_good_ones_is_named(box):
    box.make_cluster(3)
    expect_no_bad_node(box, 3)


@case(alone=True, budget=1200, long=True)
def in_fifty_runs_no_node_of_three_is_named(box):
    box.make_cluster(3)
    expect_no_bad_node(box, 50)


@case(alone=True, budget=3600, long=True)
def in_two_hundred_runs_no_node_is_named(box):
    box.make_cluster(4)
    expect_no_bad_node(box, 200)


@case(alone=True)
def a_slow_link_is_named(box):
    cluster = box.make_cluster(4)
    cluster[3].slow_link("200mbit")
    expect_named(box, ["node3"], ["slow-network"], 2)


@case(alone=True, budget=600, long=True)
def in_twenty_runs_a_slow_link_is_named(box):
    cluster = box.make_cluster(5)
    cluster[2].slow_link("200mbit")
    expect_named(box, ["node2"], ["slow-network"], 20)


@case(alone=True, budget=90)
def a_slow_node_is_named(box):
    cluster = box.make_cluster(4)
    cluster[2].limit_cpu(20)
    expect_named(box, ["node2"], ["slow-compute", "slow-memory", "slow-network"], 2)


@case(alone=True, budget=900, long=True)
def in_twenty_runs_a_slow_node_is_named(box):
    cluster = box.make_cluster(5)
    cluster[4].limit_cpu(20)
    expect_named(box, ["node4"], ["slow-compute", "slow-memory", "slow-network"], 20)


@case(alone=True)
def the_link_of_two_nodes_is_named(box):
    """Compared with the expected bandwidth, since there is no other link to compare it with."""
    cluster = box.make_cluster(2)
    expect_measured(report(box))
    cluster[2].slow_link("100mbit")
    found = report(box, "--min-busbw", "0.1", code=75)
    expect_equal(bad(found), [("busbw", ["node1", "node2"])], "what is bad")


@case
def the_table_names_an_unreachable_node(box):
    box.make_cluster(2)
    run = check(box, hosts=["node1", "refused", "node2"], code=75)
    expect_in("refused  ", text(run.out), "the row")
    expect_in("BAD", text(run.out), "its verdict")
    expect_in("Connection refused", text(run.out), "ssh's own words")
    expect_in("dlaunch: 1 of 3 nodes is bad (exit 75)", text(run.err), "the last line")
    found = report(box, "--no-fabric", hosts=["node1", "refused"], code=75)
    expect_equal(bad(found), [("connect", ["refused"])], "what is bad")
    expect_equal([one["reached"] for one in found["nodes"]], [True, False], "who was reached")


@case
def the_needs_of_a_job_are_checked_on_every_node(box):
    cluster = box.make_cluster(2)
    box.write("job.yaml", f"command: [/opt/only-here, x]\nhosts: [node1, node2]\nconnect: {{ssh: {cluster.ssh}}}\nworkdir: /tmp\n")
    cluster[1].sh("mkdir -p /run/opt && cp /bin/true /run/opt/only-here && mkdir -p /opt && mount --bind /run/opt /opt")
    found = json.loads(box.run("check", "job.yaml", "--no-fabric", "--json", code=75).out)
    expect_equal(bad(found), [("missing", ["node2"])], "what is bad")
    expect_in("/opt/only-here", found["findings"][0]["text"], "what is missing")


@case
def files_of_a_network_file_system_are_slow(box):
    """sshfs, over a connection on which each way takes 2 ms."""
    if not shutil.which("sshfs") or not os.path.exists("/dev/fuse"):
        raise Skip("no sshfs or no /dev/fuse")
    cluster = box.make_cluster(2)
    code = "/run/code"
    for node in cluster.nodes:
        node.sh(f"mkdir -p {code}/package && for i in $(seq 40); do echo $i > {code}/package/$i.py; done")
    relay = os.path.join(CLUSTER, "relay.py")
    slow = box.write("slow-ssh", f"#!/bin/sh\nexec {cluster.ssh} -o ProxyCommand='{sys.executable} {relay} %h %p 0.002' \"$@\"\n", 0o755)
    said = cluster[1].sh(f"sshfs -o ssh_command={slow} -o sftp_server=/usr/lib/openssh/sftp-server node2:{code} {code} 2>&1", check=False)
    if "not permitted" in said:
        raise Skip(f"this machine allows no FUSE mount: {said.strip()}")
    expect_equal(said, "", "what sshfs says")
    for node in cluster.nodes:
        node.base |= set(node.processes())  # of the file system
    try:
        box.write("job.yaml", f"command: true\nhosts: [node1, node2]\nconnect: {{ssh: {cluster.ssh}}}\nworkdir: {code}\n")
        found = json.loads(box.run("check", "job.yaml", "--no-fabric", "--json", code=None).out)
    finally:
        cluster[1].sh(f"umount {code}")
    rows = {node["host"]: node["folders"] for node in found["nodes"]}
    expect_equal({host: [(one["path"], one["network"], one["files"]) for one in row] for host, row in rows.items()},
                 {"node1": [(code, True, 40)], "node2": [(code, False, 40)]}, "what was read")
    expect(rows["node1"][0]["files_per_s"] * 5 < rows["node2"][0]["files_per_s"], f"sshfs is not slower: {rows}")
    slow = [one for one in found["findings"] if one["code"] == "slow-files"]
    expect_equal([one["hosts"] for one in slow], [["node1"]], "where files are slow to read")
    expect_in(f"files in {code} take", slow[0]["text"], "what is slow")
    expect_in("from fuse.sshfs", slow[0]["text"], "what it is")
    expect_in("a folder on a local disk, with sync: true", slow[0]["remedy"], "what to do")


@case
def without_mpi_the_nodes_are_checked(box):
    cluster = box.make_cluster(2)
    if not os.path.exists(LIBRARY):
        raise Skip(f"no {LIBRARY}")
    cluster[2].sh(f"mount --bind /dev/null {LIBRARY}")
    run = check(box)
    expect_in("not measured: node2: ", text(run.out), "why")
    expect_in("libmpi.so", text(run.out), "the library")
    expect_in("all 2 nodes are good", text(run.err), "the last line")


def move_mpi(box):
    """Moves it to a folder that the dynamic linker of the nodes does not search, as with environment modules. Returns the folder, which all nodes see."""
    if not os.path.exists(LIBRARY):
        raise Skip(f"no {LIBRARY}")
    folder = box.make_folder("mpi")
    shutil.copy(LIBRARY, folder)
    for node in box.cluster.nodes:
        node.sh(f"mount --bind /dev/null {LIBRARY}")
    return folder


@case(alone=True)
def mpi_that_only_this_shells_library_path_names_is_found_on_the_nodes(box):
    box.make_cluster(2)
    folder = move_mpi(box)
    expect_in("not measured: node1: ", text(check(box).out), "without it")
    found = report(box, env={"LD_LIBRARY_PATH": folder})
    expect_measured(found)
    expect_equal((bad(found), found["good"]), ([], True), "what is bad")
    expect(found["all_reduce_busbw_gbs"] > 0, "all_reduce was measured")


@case(alone=True)
def mpi_that_the_env_of_a_job_names_is_found_by_its_preflight(box):
    cluster = box.make_cluster(2)
    folder = move_mpi(box)
    fabric = ["--set", "preflight.checks=[node, reach, fabric]"]
    job(box, "hosts: [node1, node2]\n")
    run = box.run("run", "job.yaml", *fabric, patience=180.0)
    expect_in("note: preflight: not measured: node1: ", " ".join(text(run.err).split()), "without it")
    job(box, f"hosts: [node1, node2]\nenv: {{LD_LIBRARY_PATH: {folder}}}\n")
    expect_measured(json.loads(box.run("check", "job.yaml", "--json", patience=180.0).out))
    run = box.run("run", "job.yaml", *fabric, patience=180.0)
    expect("not measured" not in text(run.err), text(run.err))
    for name in cluster.names:
        expect_in(name, text(run.out), "who has run it")


# A GPU as the driver would list it.
ONE_GPU = """
set -e
mkdir /run/dev
mount -t tmpfs -o mode=755 tmpfs /run/dev
for file in null zero full random urandom tty; do touch /run/dev/$file; mount --bind /dev/$file /run/dev/$file; done
mkdir /run/dev/shm
mount --bind /dev/shm /run/dev/shm
ln -s /proc/self/fd /run/dev/fd
touch /run/dev/nvidia0
mount --rbind /run/dev /dev
mount -t tmpfs tmpfs /proc/driver
mkdir -p /proc/driver/nvidia/gpus/0000:18:00.0
printf 'Model: \t NVIDIA H100 80GB HBM3\nDevice Minor: \t 0\n' >/proc/driver/nvidia/gpus/0000:18:00.0/information
"""


@case(alone=True)
def a_note_says_why_nccl_was_not_measured_on_gpus(box):
    """Figures of MPI with one rank per node say nothing about NCCL."""
    cluster = box.make_cluster(2)
    for node in cluster.nodes:
        node.sh(ONE_GPU)
    found = report(box)
    expect_equal([node["gpus"] for node in found["nodes"]], [1, 1], "GPUs")
    notes = [one for one in found["findings"] if one["code"] == "nccl"]
    expect_equal([(one["severity"], one["hosts"]) for one in notes], [("note", [])], "one note for both")
    words = "NCCL was not measured: node[1-2]: "
    expect(notes[0]["text"].startswith(words) and len(notes[0]["text"]) > len(words), f"which nodes, and why: {notes[0]}")
    expect_measured(found)
    expect_equal((bad(found), found["good"]), ([], True), "a note makes nothing bad")
    job(box, "hosts: [node1, node2]\n")
    run = box.run("run", "job.yaml", "--set", "preflight.checks=[node, reach, fabric]", patience=180.0)
    expect_in("note: preflight: " + words, " ".join(text(run.err).split()), "a job's preflight")
    expect(any(words in one for one in box.json("summary.json")["preflight"]), "in summary.json")


@case
def an_azure_size_is_compared_with_the_nodes(box):
    box.make_cluster(2)
    notes = lambda *options: [(one["code"], one["hosts"]) for one in report(box, "--no-fabric", *options)["findings"]]  # noqa: E731
    expect_equal([one for one in notes() if one[0] == "azure-size"], [], "without a name")
    if any(node["rdma"] for node in [json.loads(box.run("info", "--json").out)["facts"]["fabric"]]):
        raise Skip("there is RDMA hardware here")
    found = notes("--azure-size", "Standard_ND96asr_v4")
    expect_equal([one for one in found if one[0] == "azure-size"], [("azure-size", ["node1"]), ("azure-size", ["node2"])], "no port on either")
    found = notes("--azure-size", "nc24r")
    expect_equal([one for one in found if one[0] == "azure-size"], [("azure-size", [])], "without SR-IOV")
    run = check(box, "--no-fabric", "--azure-size", "large", code=64)
    expect_in("is not the name of an Azure VM size", text(run.err), "what is wrong")
    box.write("azure.yaml", "$schema: https://azuremlschemas.azureedge.net/latest/commandJob.schema.json\ntype: command\ncommand: 'true'\n"
                            "resources: {instance_count: 2, instance_type: Standard_HB120rs_v3}\n")
    run = box.run("check", "azure.yaml", "--no-fabric", "--hosts", "node1,node2", "--ssh", box.cluster.ssh)
    expect_in("Standard_HB120rs_v3 has InfiniBand", " ".join(text(run.out).split()), "the size that the job file names")


# --- preflight

def job(box, more):
    return box.write("job.yaml", f"command: [sh, -c, 'hostname']\nprocesses_per_node: 1\nworkdir: /tmp\n"
                                 f"connect: {{ssh: {box.cluster.ssh}}}\npreflight: {{checks: [node, reach]}}\n{more}")


@case
def a_bad_node_is_replaced_by_a_spare(box):
    box.make_cluster(2)
    job(box, "hosts: [node1, refused, node2]\nnodes: 2\nspares: 1\n")
    run = box.run("run", "job.yaml")
    expect_in("node2", text(run.out), "the spare has run it")
    expect_in("refused: ", text(run.err), "who is bad")
    expect_in("replaced by node2", text(run.err), "by whom")
    expect_in("replaced by node2", box.json("summary.json")["preflight"][0], "in summary.json")
    expect(any("replaced by node2" in one for one in box.json("plan.json")["notes"]), "in plan.json")
    page = report_page(box)
    for part in (box.json("summary.json")["preflight"][0], box.read(box.run_folder(), "preflight.txt").decode().strip()):
        expect_in(part, page.texts["preflight"], "the report")
    expect(re.search(r"^refused\s.*BAD", page.texts["preflight"], re.M), f"the bad node: {page.texts['preflight']}")


@case
def a_job_shrinks_to_its_minimum(box):
    box.make_cluster(2)
    job(box, "hosts: [node1, refused, node2]\nnodes: {min: 2, max: 3}\n")
    run = box.run("run", "job.yaml")
    expect_in("left out", text(run.err), "what has become of it")
    expect_in("node2", text(run.out), "who has run it")


@case
def without_spare_and_minimum_the_job_does_not_start(box):
    box.make_cluster(2)
    job(box, "hosts: [node1, refused, node2]\n")
    run = box.run("run", "job.yaml", code=75)
    expect_in("BAD", text(run.err), "the table")
    expect_in("preflight failed: 2 good nodes, the job needs 3", text(run.err), "why")
    expect_equal(box.runs(), [], "run folders")
    run = box.run("run", "job.yaml", "--no-preflight", code=69)
    expect_in("refused", text(run.err), "it is tried")


def wait_for_ranks_on(box, node):
    """Waits until measuring ranks run there."""
    def measures():
        return any("budget_ms" in command_of(pid) for pid in node.processes(sessions=False))
    wait_until(measures, f"ranks measure on {node.name}", 60, 0.02)


def own_temporary_folder(box):
    os.mkdir(box.path("tmp"))
    return {"TMPDIR": box.path("tmp")}


def expect_no_measuring_folder(box):
    expect_equal(os.listdir(box.path("tmp")), [], "folders of measuring runs")


@case(budget=240)
def a_node_that_is_lost_while_it_measures_is_replaced_by_a_spare(box):
    cluster = box.make_cluster(3)
    expect_measured(report(box))
    job(box, "hosts: [node1, node2, node3]\nnodes: 2\nspares: 1\ntimeouts: {lost_after: 6s, fence_after: 2s}\n")
    run = box.start("run", "job.yaml", "--set", "preflight.checks=[node, reach, fabric]", env=own_temporary_folder(box))
    wait_for_ranks_on(box, cluster[2])
    cluster[2].down()
    run.end(0, 180.0)
    expect_in("node2: it was lost while ranks measured on it", " ".join(text(run.err).split()), "who is bad")
    expect_in("replaced by node3", text(run.err), "by whom")
    expect_in("node3", text(run.out), "the spare has run it")
    expect("node2" not in text(run.out), f"who has run it: {text(run.out)}")
    expect_no_measuring_folder(box)


@case(budget=180)
def a_node_that_is_lost_while_it_measures_is_bad_in_the_table(box):
    cluster = box.make_cluster(2)
    expect_measured(report(box))
    run = box.start("check", "--json", "--hosts", "node1,node2", "--ssh", box.cluster.ssh, env=own_temporary_folder(box))
    wait_for_ranks_on(box, cluster[2])
    cluster[2].down()
    run.end(75, 180.0)
    expect_equal(bad(json.loads(run.out)), [("fabric", ["node2"])], "who is bad")
    expect_no_measuring_folder(box)


@case(alone=True)
def a_slow_node_is_replaced_before_the_job_starts(box):
    cluster = box.make_cluster(4)
    expect_measured(report(box))
    cluster[2].slow_link("200mbit")
    job(box, "hosts: [node1, node2, node3, node4]\nnodes: 3\nspares: 1\n")
    run = box.run("run", "job.yaml", "--set", "preflight.checks=[node, reach, fabric]", patience=180.0)
    expect_in("replaced by node4", text(run.err), "by whom")
    expect("node2" not in text(run.out), f"who has run it: {text(run.out)}")
