"""What a rank finds on another node, what is checked there before anything starts, and how the ranks' output is fetched."""

import json
import os
import signal
import stat
import time

from case import case
from expectations import expect, expect_equal, expect_in, pseudo_random_bytes
from processes import wait_until

ENV = "/usr/bin/env"
NOT_FOUND, CANNOT_EXECUTE, JOB_FILE = 127, 126, 65
OUTPUT = f"/var/tmp/dlaunch-{os.getuid()}"  # on the nodes, which set no $TMPDIR


def environment_of(box, rank):
    lines = box.rank_output(rank).decode().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


def output_folders(node):
    path = node.path(OUTPUT)
    return os.listdir(path) if os.path.isdir(path) else []


@case
def a_rank_starts_from_the_login_environment_with_what_of_ours_exists_there(box):
    """docs/reference/nodes.md, "Environment"."""
    cluster = box.make_cluster(2)
    shared = box.make_folder("venv", "bin")  # all nodes see the folder of the case
    only = "/var/tmp/only-on-node1"
    cluster[1].sh(f"mkdir {only}")
    variables = {"PATH": f"{shared}:/gone/bin:{only}:/usr/bin:/bin", "VIRTUAL_ENV": os.path.dirname(shared), "CONDA_PREFIX": "/gone",
                 "CONDA_DEFAULT_ENV": "gone", "LD_LIBRARY_PATH": "/gone/lib", "ONLY_HERE": "x"}
    box.launch(ENV, env=variables).end(0)
    for rank, first in enumerate([[shared, only], [shared, "/usr/bin"]]):
        found = environment_of(box, rank)
        expect_equal(found["PATH"].split(":")[:2], first, f"PATH of rank {rank}")
        expect("/gone/bin" not in found["PATH"].split(":"), found["PATH"])
        expect_equal(found["VIRTUAL_ENV"], os.path.dirname(shared), "VIRTUAL_ENV")
        expect_equal(found["PWD"], box.folder, "PWD")
        expect_equal(found["RANK"], str(rank), "RANK")
        for name in ("CONDA_PREFIX", "CONDA_DEFAULT_ENV", "LD_LIBRARY_PATH", "ONLY_HERE", "SSH_CONNECTION", "SSH_CLIENT"):
            expect(name not in found, f"{name}={found.get(name)} of rank {rank}")


@case
def all_that_is_missing_is_told_at_once_and_nothing_is_started(box):
    cluster = box.make_cluster(3)
    cluster[1].sh("mkdir /var/tmp/job && touch /var/tmp/job/train.py")
    cluster[2].sh("mkdir /var/tmp/job")
    run = box.launch("python3", "train.py", options=["--set", "workdir=/var/tmp/job"]).end(CANNOT_EXECUTE)
    expect_in('node2: cannot read "/var/tmp/job/train.py": No such file or directory', run.text, "the script")
    expect_in('node3: cannot enter the workdir "/var/tmp/job": No such file or directory', run.text, "the workdir")
    expect("node1" not in run.text, run.text)
    expect(not os.listdir(os.path.join(box.run_folder(), "attempt-0")), "something was started")
    for node in cluster.nodes:
        expect_equal(output_folders(node), [], f"left on {node.name}")


@case
def a_missing_program_is_told_with_its_path(box):
    box.make_cluster(2)
    run = box.launch("no-such-program").end(NOT_FOUND)
    expect_in('node[1-2]: cannot execute "no-such-program": No such file or directory', run.text, "the program")
    expect_in("PATH there: ", run.text, "where it was looked for")


@case
def files_that_setup_sources_are_looked_for(box):
    cluster = box.make_cluster(2)
    cluster[1].sh("mkdir -p /var/tmp/venv/bin && touch /var/tmp/venv/bin/activate")
    box.write("job.yaml", f"""
command: python3 train.py
setup: |
  export MODE=test
  source /var/tmp/venv/bin/activate
hosts: [node1, node2]
connect: {{ssh: {cluster.ssh}}}
""")
    run = box.run("run", "job.yaml", code=CANNOT_EXECUTE)
    expect_in('node2: cannot read "/var/tmp/venv/bin/activate"', run.text, "what setup sources")
    expect("node1" not in run.text, run.text)


@case
def what_is_too_long_for_linux_is_an_error_before_anything_is_started(box):
    cluster = box.make_cluster(1)
    for size, code in ((131_065, 0), (131_066, JOB_FILE)):  # with "LARGE=" and a zero byte: 131 072
        box.write("job.yaml", f"""
command: ["/usr/bin/python3", "-c", "import os; assert len(os.environ['LARGE']) == {size}"]
hosts: [node1]
env: {{LARGE: {"x" * size}}}
connect: {{ssh: {cluster.ssh}}}
""")
        run = box.run("run", "job.yaml", code=code)
    expect_in("LARGE has 131066 bytes", run.text, "the variable")


@case
def output_is_private_on_its_node_and_gone_when_it_has_come_home(box):
    cluster = box.make_cluster(2)
    size = 3_000_001
    run = box.launch(box.rank, "bytes", str(size), "7", "tell", "ready", "gate", ranks=2, options=["--set", "logs.console=none"])
    box.expect_all("ready", 4)
    for node in cluster.nodes:
        expect_equal(len(output_folders(node)), 1, f"folders on {node.name}")
        for folder, _, names in os.walk(node.path(OUTPUT)):
            expect_equal(stat.S_IMODE(os.stat(folder).st_mode), 0o700, folder)
            for name in names:
                expect_equal(stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode), 0o600, name)
    box.open_gate()
    run.end(0)
    for rank in range(4):
        expect(box.rank_output(rank) == pseudo_random_bytes(size, 7), f"other bytes of rank {rank}")
    for node in cluster.nodes:
        expect_equal(output_folders(node), [], f"left on {node.name}")


@case
def output_that_is_shown_is_in_the_run_folder_while_the_rank_runs(box):
    box.make_cluster(2)
    run = box.launch(box.rank, "print", "first words", "tell", "ready", "gate", "print", "last words")
    box.expect_all("ready", 2)
    for rank in range(2):
        wait_until(lambda: b"first words" in box.rank_output(rank), f"the words of rank {rank} in its file", 10, 0.01)
    box.open_gate()
    run.end(0)
    for rank in range(2):
        expect_in(b"last words", box.rank_output(rank), f"output of rank {rank}")


@case
def the_exception_of_a_remote_rank_is_told(box):
    box.make_cluster(2)
    code = """import json, os, sys, time
if os.environ["RANK"] == "1":
    error = {"message": {"message": "RuntimeError: out of luck", "extraInfo": {"timestamp": "1"}}}
    open(os.environ["TORCHELASTIC_ERROR_FILE"], "w").write(json.dumps(error))
    sys.exit(3)
time.sleep(60)
"""
    run = box.launch("/usr/bin/python3", box.write("train.py", code), options=["--set", "logs.console=none"]).end(3)
    expect_in("out of luck", run.text, "the summary")
    box.json(os.path.join("attempt-0", "rank-1.error.json"))


@case
def every_attempt_has_its_own_output(box):
    box.make_cluster(2)
    code = box.write("count.py", f"""import os, subprocess, sys
attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
subprocess.run(["{box.rank}", "bytes", "2000003", attempt], check=True)
sys.exit(4 if (os.environ["RANK"], attempt) == ("1", "0") else 0)
""")
    box.launch("/usr/bin/python3", code, options=["--set", "logs.console=none", "--set", "restart.max=1", "--set",
                                                  "restart.backoff=0s..0s"]).end(0, patience=60)
    for attempt, ranks in ((0, [1]), (1, [0, 1])):
        for rank in ranks:
            found = box.read(box.run_folder(), f"attempt-{attempt}", f"rank-{rank}.out")
            expect(found == pseudo_random_bytes(2000003, attempt), f"other bytes of rank {rank} in attempt {attempt}")


@case
def ctrl_c_while_output_is_fetched_leaves_it_and_says_where(box):
    cluster = box.make_cluster(1)
    box.launch("true").end(0)  # stages the binary there
    cluster[1].slow_link("2mbit")
    run = box.launch(box.rank, "bytes", "20000003", "5", options=["--set", "logs.console=none"])
    wait_until(lambda: box.exists("stderr-1") and "fetching the rest of the output" in run.text, "it is said that output is fetched", 60, 0.05)
    since = time.monotonic()
    run.signal(signal.SIGINT)
    cluster[1].fast_link()
    run.end(0, patience=30)
    expect(time.monotonic() - since < 15, "it went on")
    expect_in("the rest of the output of rank 0 (stdout from byte ", run.text, "whose")
    expect_in(f"is on node1 in {OUTPUT}/", run.text, "where")
    [folder] = output_folders(cluster[1])
    with open(cluster[1].path(f"{OUTPUT}/{folder}/attempt-0/rank-0.out"), "rb") as file:
        expect(file.read() == pseudo_random_bytes(20000003, 5), "other bytes on the node")


@case
def of_a_node_that_is_lost_it_is_told_where_its_output_is(box):
    cluster = box.make_cluster(2)
    run = box.launch(box.rank, "print", "words", "tell", "ready", "gate", options=[
        "--set", "timeouts.fence_after=2s", "--set", "timeouts.lost_after=6s", "--set", "timeouts.stop=2s", "--set", "logs.console=none"])
    box.expect_all("ready", 2)

    def output_of_rank_1():
        paths = [cluster[2].path(f"{OUTPUT}/{folder}/attempt-0/rank-1.out") for folder in output_folders(cluster[2])]
        return b"".join(open(path, "rb").read() for path in paths if os.path.exists(path))
    wait_until(lambda: b"words" in output_of_rank_1(), "the agent has written what rank 1 printed", 20, 0.01)
    since = time.monotonic()
    agent = box.people(cluster[2])[1]
    os.kill(agent, 9)
    run.end(69, patience=30, left=1000)
    expect(time.monotonic() - since < 20, "too late")
    expect_in("the rest of the output of rank 1 (stdout from byte 0 on", run.text, "whose")
    expect_in(f"is on node2 in {OUTPUT}/", run.text, "where")
    expect_in(b"words", output_of_rank_1(), "output on the node")
    expect_equal(output_folders(cluster[1]), [], "left on node1")


@case
def plan_tells_what_is_carried(box):
    box.make_cluster(2)
    words = ["plan", "--set", f"connect.ssh={box.cluster.ssh}", "--set", "hosts=[node1, node2]", "--nproc-per-node", "1"]
    run = box.run(*words, "--env", "1", "--json", "--", "true", env={"VIRTUAL_ENV": "/my/venv"})
    found = {one["name"]: one["reason"] for one in json.loads(run.out)["variables"]}
    expect_in("from the launcher", found["VIRTUAL_ENV"], "reason")
    expect_in("from the launcher", found["PATH"], "reason")
