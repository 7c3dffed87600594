"""`sync: true`: the workdir is copied to the nodes before anything starts. It is below /run, of which launcher and nodes
each have their own."""

import json
import os
import signal
import stat
import time

from case import case
from cases_faults import kill_launcher, launcher_of
from expectations import expect, expect_equal, expect_in, pseudo_random_bytes
from file_schemas import check_all
from processes import wait_until

JOB_FILE, NODE_LOST, NOT_COPIED = 65, 69, 75
SLACK = 4.0  # seconds that a busy machine may add


class Job:
    """A workdir that no node shares."""

    def __init__(self, box, root="/run/work/job"):
        self.box, self.root = box, root
        self.write("show.py", "import os\nprint(sorted(os.listdir('.')))\n")

    def path(self, name):
        return os.path.join(self.root, name)

    def write(self, name, content="x", mode=None):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        if mode is not None:
            os.chmod(path, mode)
        return path

    def launch(self, *command, options=(), **more):
        return self.box.launch(*(command or ("/usr/bin/python3", "show.py")),
                               options=["--set", "sync=true", "--set", f"workdir={self.root}", *options], **more)

    def on(self, node, name=""):
        return node.path(os.path.join(self.root, name))


def last_run(box):
    return box.path("runs", max(box.runs()))


def synced(box):
    """{number of the node: the event} of the last run."""
    with open(os.path.join(last_run(box), "events.jsonl"), encoding="utf-8") as file:
        events = [json.loads(line) for line in file]
    return {event["node"] + 1: event for event in events if event["event"] == "synced"}


def picture(root):
    """{path: kind, mode, time, content} of everything below."""
    found = {}
    for folder, folders, files in os.walk(os.fsencode(root)):
        for name in folders + files:
            path = os.path.join(folder, name)
            info = os.lstat(path)
            what = (stat.S_IFMT(info.st_mode), stat.S_IMODE(info.st_mode))
            if stat.S_ISLNK(info.st_mode):
                what += (os.readlink(path),)
            elif stat.S_ISREG(info.st_mode):
                with open(path, "rb") as file:
                    what += (info.st_mtime_ns, file.read())
            found[os.path.relpath(path, os.fsencode(root))] = what
    return found


@case
def a_first_sync_a_second_one_and_changes(box):
    cluster = box.make_cluster(2)
    job = Job(box)
    job.write("src/train.py", "print('train')\n", 0o755)
    job.write("data.bin", pseudo_random_bytes(5_000_000, 3))
    job.write("empty", "")
    os.makedirs(job.path("folder/deep"))
    os.symlink("/mnt/somewhere", job.path("link"))
    job.write(os.fsdecode(b"b\xff\n"), "odd name")
    job.launch().end(0)
    for number, event in synced(box).items():
        expect_equal((event["files"], event["removed"], event["shared"]), (5, 0, False), f"node{number}")
        expect_equal(picture(job.on(cluster[number])), picture(job.root), f"the tree on node{number}")
    expect_equal(len(synced(box)), 2, "nodes that were synced")

    job.launch().end(0)
    for number, event in synced(box).items():
        expect_equal((event["files"], event["bytes"]), (0, 0), f"sent again to node{number}")

    job.write("src/train.py", "print('other')\n", 0o755)
    os.unlink(job.path("empty"))
    job.write("new", "1234")
    os.utime(job.path("data.bin"))  # like a fresh checkout: the same content with another time
    job.launch().end(0)
    for number, event in synced(box).items():
        expect_equal((event["files"], event["bytes"], event["removed"]), (2, 19, 1), f"node{number}")
        expect_equal(picture(job.on(cluster[number])), picture(job.root), f"the tree on node{number}")
    check_all(box, ["synced", "copying"])


@case
def other_paths_beside_the_workdir(box):
    cluster = box.make_cluster(2)
    job = Job(box)
    for name in ("train.py", "model.pt"):
        job.write(name)
    for folder in ("/run/venv", "/run/other"):
        os.makedirs(f"{folder}/lib")
        for name in ("lib/a.py", "lib/big.pt"):
            with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
                file.write(name)
    sync = "{paths: [., /run/venv, {from: /run/other, to: /run/local/other}], exclude: ['*.pt']%s}"
    on = lambda node, path: sorted(os.fsdecode(name) for name in picture(cluster[node].path(path)))
    launch = lambda more="": job.launch("/bin/true", options=["--set", "sync=" + sync % more]).end(0)
    launch()
    for node in (1, 2):
        expect_equal(on(node, job.root), ["show.py", "train.py"], f"the workdir on node{node}")
        expect_equal(on(node, "/run/venv"), ["lib", "lib/a.py"], f"on node{node}, at the same path")
        expect_equal(on(node, "/run/local/other"), ["lib", "lib/a.py"], f"on node{node}, at another path")
    job.write("new.py")
    for name in (job.path("train.py"), "/run/venv/lib/a.py"):
        os.unlink(name)
    launch(", delete: never")
    expect_equal(on(1, job.root), ["new.py", "show.py", "train.py"], "the workdir, where nothing is removed")
    expect_equal(on(1, "/run/venv"), ["lib", "lib/a.py"], "another path, where nothing is removed")
    launch()
    expect_equal(on(1, job.root), ["new.py", "show.py"], "the workdir, where what is gone is removed")
    expect_equal(on(1, "/run/venv"), ["lib"], "another path, where what is gone is removed")


@case
def times_beyond_what_64_bits_of_nanoseconds_hold(box):
    """They do not wrap into the past, which would make a build consider the file old; the content decides whether it is sent."""
    cluster = box.make_cluster(1)
    job = Job(box)
    far = 10_000_000_000  # seconds: in 2286; the limit is in 2262
    for content in ("one", "two"):
        os.utime(job.write("far", content), (far, far))
        job.launch().end(0)
        with open(job.on(cluster[1], "far"), encoding="utf-8") as file:
            expect_equal(file.read(), content, "its content on the node")
        expect_equal(os.stat(job.on(cluster[1], "far")).st_mtime_ns, (1 << 63) - 1, "its time on the node")


@case
def what_gitignore_names_and_git_itself_stay_here(box):
    cluster = box.make_cluster(1)
    job = Job(box)
    job.write(".gitignore", "*.log\n/data/\n!keep.log\n")
    job.write(".git/config", "[core]\n")
    job.write(".git/info/exclude", "private\n")
    for name in ("a.log", "keep.log", "data/x", "private", "src/data/y", "runs/old/run.json"):
        job.write(name)
    job.launch(options=["--set", f"logs.dir={job.path('runs')}"]).end(0)
    found = sorted(os.fsdecode(name) for name in picture(job.on(cluster[1])))
    expect_equal(found, [".gitignore", "keep.log", "show.py", "src", "src/data", "src/data/y"], "on the node")


@case
def the_nodes_own_files_stay_and_replacing_one_is_told(box):
    cluster = box.make_cluster(2)
    job = Job(box)
    job.write("config.yaml", "ours")
    cluster[2].sh(f"mkdir -p {job.root} && echo theirs > {job.path('config.yaml')} && echo result > {job.path('result')}")
    run = job.launch().end(0)
    expect_in("node2: replaced 1 file that was different there and did not come from a sync: config.yaml", run.text, "a note")
    expect("node1: replaced" not in run.text, run.text)
    expect_equal(cluster[2].sh(f"cat {job.path('config.yaml')} {job.path('result')}"), "oursresult\n", "on node2")


@case
def a_workdir_that_all_see_is_not_copied(box):
    box.make_cluster(2)
    job = Job(box, box.path("job"))  # all nodes see the folder of the case
    code = job.write("train.py", "print('here')\n")
    run = job.launch("/usr/bin/python3", code).end(0)
    expect_equal(run.out.count(b"here"), 2, "ranks")
    for number, event in synced(box).items():
        expect_equal((event["shared"], event["files"]), (True, 0), f"node{number}")
    expect(not [name for name in os.listdir(job.root) if name.startswith(".dlaunch")], os.listdir(job.root))


@case
def a_workdir_that_holds_the_home_folder_is_refused(box):
    box.make_cluster(1)
    run = box.launch("/bin/true", options=["--set", "sync=true"]).end(JOB_FILE)  # the folder of the case holds its home
    expect_in("holds your home folder", run.text, "why")


@case
def a_link_on_the_node_leads_nothing_out(box):
    cluster = box.make_cluster(1)
    job = Job(box)
    job.write("data/secret.txt", "from here")
    cluster[1].sh(f"mkdir -p {job.root} /var/tmp/precious && ln -s /var/tmp/precious {job.path('data')}")
    run = job.launch().end(NOT_COPIED)
    expect_in(f"node1: {job.path('data')}: is a link there but a folder at the source", run.text, "what is wrong")
    expect_equal(cluster[1].sh("ls -A /var/tmp/precious"), "", "behind the link")
    cluster[1].sh(f"rm {job.path('data')} && echo precious > /var/tmp/precious/x && mkdir {job.path('data')} && "
                  f"ln -s /var/tmp/precious/x {job.path('data/secret.txt')}")
    job.launch().end(0)  # the link itself is replaced
    expect_equal(cluster[1].sh("cat /var/tmp/precious/x"), "precious\n", "behind the link")
    expect_equal(cluster[1].sh(f"cat {job.path('data/secret.txt')}"), "from here", "in its place")


@case
def a_full_disk_is_told_before_anything_is_written(box):
    cluster = box.make_cluster(2)
    job = Job(box)
    job.write("large", pseudo_random_bytes(3_000_000, 1))
    cluster[2].sh(f"mkdir -p {job.root} && mount -t tmpfs -o size=1m tmpfs {job.root}")
    run = job.launch().end(NOT_COPIED)
    expect_in(f"node2: {job.root}: No space left on device: 3.0 MB are needed, 1.0 MB are free", run.text, "what is wrong")
    expect_equal(cluster[2].sh(f"ls -A {job.root}"), "", "on node2")
    expect(not os.listdir(os.path.join(last_run(box), "attempt-0")), "something was started")
    check_all(box, ["plan-failed"])


@case
def a_disk_that_fills_up_in_the_middle(box):
    cluster = box.make_cluster(1)
    job = Job(box)
    job.write("a", pseudo_random_bytes(400_000, 1))
    job.launch().end(0)
    # Files of the same size with other content need no additional space in the estimate, but while one is written there are two.
    job.write("a", pseudo_random_bytes(400_000, 2))
    cluster[1].sh(f"mv {job.root} {job.root}.old && mkdir {job.root} && mount -t tmpfs -o size=600k tmpfs {job.root} && "
                  f"cp -p {job.root}.old/* {job.root}/")
    run = job.launch().end(NOT_COPIED)
    expect_in(f"node1: {job.path('a')}: No space left on device", run.text, "what is wrong")
    with open(job.on(cluster[1], "a"), "rb") as file:
        expect(file.read() == pseudo_random_bytes(400_000, 1), "a half file under the real name")
    expect_equal(cluster[1].sh(f"ls -A {job.root}").split(), ["a", "show.py"], "on the node")


@case
def a_read_only_workdir_and_a_file_in_its_place(box):
    cluster = box.make_cluster(3)
    job = Job(box)
    for number in (1, 2):
        cluster[number].sh(f"mkdir -p {job.root} && mount -t tmpfs -o ro tmpfs {job.root}")
    cluster[3].sh(f"mkdir -p {os.path.dirname(job.root)} && touch {job.root}")
    run = job.launch().end(NOT_COPIED)
    expect_in("nothing was started", run.text, "the first line")
    expect_in(f"node[1-2]: {job.root}: Read-only file system", run.text, "read-only")
    expect_in(f"node3: {job.root}: Not a directory", run.text, "a file")


@case
def too_much_is_told_before_anything_is_sent(box):
    cluster = box.make_cluster(1)
    job = Job(box)
    with open(job.path("huge"), "wb") as file:
        file.truncate(3 << 30)
    run = job.launch().end(JOB_FILE)
    expect_in("3.2 GB; at most", run.text, "how much")
    expect_in("the largest: huge (3.2 GB)", run.text, "what")
    expect_equal(cluster[1].sh(f"ls -d {job.root} 2>/dev/null || true"), "", "on the node")
    job.write(".gitignore", "huge\n")
    job.launch().end(0)


@case
def checks_come_after_the_copy(box):
    box.make_cluster(2)
    job = Job(box)
    job.write("venv/bin/activate", "export FROM_SETUP=1\n")
    job.write("run.sh", "#!/bin/sh\necho setup $FROM_SETUP\n", 0o755)
    box.write_job(f"""
command: ./run.sh
setup: . venv/bin/activate
workdir: {job.root}
sync: true
""")
    expect_equal(box.run("run", "job.yaml").out.count(b"setup 1"), 2, "ranks")


@case
def what_is_missing_because_it_is_ignored_is_told_as_that(box):
    box.make_cluster(1)
    job = Job(box)
    job.write(".gitignore", "show.py\n")
    run = job.launch().end(126)
    expect_in(f'node1: cannot read "{job.path("show.py")}": No such file or directory', run.text, "what is missing")
    expect_in("copies nothing that a .gitignore file names", run.text, "why")


SHORT = ("--set", "timeouts.fence_after=3s", "--set", "timeouts.lost_after=8s", "--set", "timeouts.connect=5s")


def begin_a_long_one(box, nodes=1, rate="20mbit", megabytes=20, limits=SHORT):
    """A sync that takes some seconds and has begun to send."""
    cluster = box.make_cluster(nodes)
    box.launch("/bin/true").end(0)  # staging is not the subject
    job = Job(box)
    for number in range(megabytes):
        job.write(f"part-{number}", pseudo_random_bytes(1_000_000, number))
    for node in cluster.nodes:
        node.slow_link(rate)
    run = job.launch(options=limits)
    for node in cluster.nodes:
        wait_until(lambda: os.path.exists(job.on(node, "part-0")), f"the first file on {node.name}", 30, 0.01)  # noqa: B023
    return cluster, job, run


def expect_whole_files(job, node):
    """All files there are complete, and nothing else is there. Returns their number."""
    names = os.listdir(job.on(node))
    for name in names:
        with open(job.on(node, name), "rb") as file, open(job.path(name), "rb") as own:
            expect(file.read() == own.read(), f"{name} is not whole")
    return len([name for name in names if name.startswith("part-")])


@case
def a_connection_that_is_cut_in_the_middle_resumes(box):
    cluster, job, run = begin_a_long_one(box, limits=())  # a new connection may take seconds on a busy machine
    expect(cluster[1].kill_sessions() > 0, "no session")
    cluster[1].fast_link()
    run.end(0, patience=60)
    expect_equal(picture(job.on(cluster[1])), picture(job.root), "the tree")
    expect_equal(synced(box)[1]["files"], 21, "files sent: none twice")


@case
def a_slow_link_does_not_hold_heartbeats_up(box):
    cluster, job, run = begin_a_long_one(box, rate="4mbit", megabytes=5)
    run.end(0, patience=60)  # 10 s at 0.5 MB/s, where 3 s without an answer end it, and making a plan may take 5 s
    expect_equal(picture(job.on(cluster[1])), picture(job.root), "the tree")


@case
def ctrl_c_in_the_middle_leaves_whole_files(box):
    cluster, job, run = begin_a_long_one(box)
    since = time.monotonic()
    run.signal(signal.SIGINT)
    run.end(130, patience=30)
    expect(time.monotonic() - since < 3 + SLACK, "it went on")
    cluster[1].fast_link()
    box.expect_nodes_empty("the node")
    there = expect_whole_files(job, cluster[1])
    expect(0 < there < 20, f"{there} files")
    job.launch().end(0)
    expect_equal(synced(box)[1]["files"], 21 - there, "files sent the second time; show.py is the last")
    expect_equal(picture(job.on(cluster[1])), picture(job.root), "the tree")


@case
def a_node_that_is_lost_in_the_middle(box):
    cluster, job, run = begin_a_long_one(box, nodes=2)
    cluster[2].power_off()
    run.end(NODE_LOST, patience=40, left=1000)
    expect_in("node2", run.text, "the node")
    cluster[1].fast_link()
    box.expect_nodes_empty("node1")
    expect_whole_files(job, cluster[1])


@case
def a_launcher_that_is_killed_in_the_middle(box):
    cluster, job, run = begin_a_long_one(box)
    kill_launcher(run, launcher_of(box, run))
    wait_until(lambda: not cluster[1].processes(), "the node has fenced itself", 3 + 3 + SLACK, 0.05)
    box.reap()
    run.code = -signal.SIGKILL
    expect_whole_files(job, cluster[1])


@case
def a_restart_copies_nothing_again(box):
    box.make_cluster(1)
    job = Job(box)
    job.write("fail.py", "import os, sys\nsys.exit(0 if os.environ['TORCHELASTIC_RESTART_COUNT'] == '1' else 3)\n")
    job.launch("/usr/bin/python3", "fail.py", options=["--set", "restart.max=1", "--set", "restart.backoff=0s..0s"]).end(0)
    with open(os.path.join(last_run(box), "events.jsonl"), encoding="utf-8") as file:
        expect_equal(file.read().count('"synced"'), 1, "syncs")


@case
def plan_says_how_much_and_copies_nothing(box):
    cluster = box.make_cluster(1)
    job = Job(box)
    job.write("a", "12345")
    words = ["--set", f"connect.ssh={cluster.ssh}", "--set", "hosts=[node1]", "--set", "sync=true", "--set", f"workdir={job.root}"]
    size = 5 + os.path.getsize(job.path("show.py"))
    text = box.run("plan", *words, "--", "true").out.decode()
    expect_in(f"2 files, {size} bytes to the other nodes", text, "the plan")
    expect_equal(json.loads(box.run("plan", *words, "--json", "--", "true").out)["sync"], {"files": 2, "bytes": size}, "as JSON")
    box.run("run", "--dry-run", *words, "--", "true")
    expect_equal(cluster[1].sh(f"ls -d {job.root} 2>/dev/null || true"), "", "on the node")
