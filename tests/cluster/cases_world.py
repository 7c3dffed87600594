"""A job over healthy nodes: ranks, output and endings are as on one machine."""

import json
import os
import signal

from case import case
from expectations import expect, expect_equal, expect_in, pseudo_random_bytes
from processes import wait_gone, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
WORLD = ["/usr/bin/python3", os.path.join(HERE, "ranks", "world.py")]
ARGUMENTS = ["/usr/bin/python3", os.path.join(HERE, "ranks", "arguments.py")]
FAMILY = ["child", "daemon"]
OF_THE_RUN_FOLDER = {"questions.sock", "terminals.sock"}  # tests/watch has cases of them


def found_in(box, rank):
    return json.loads(box.rank_output(rank))


def check_world(box, nodes, ranks):
    """What each rank printed; see ranks/world.py, which has asserted that they are one world of this size."""
    rows = [found_in(box, rank) for rank in range(nodes * ranks)]
    for rank, row in enumerate(rows):
        node = rank // ranks
        wanted = {"RANK": rank, "LOCAL_RANK": rank % ranks, "WORLD_SIZE": nodes * ranks, "LOCAL_WORLD_SIZE": ranks,
                  "GROUP_RANK": node, "GROUP_WORLD_SIZE": nodes, "host": box.cluster.names[node]}
        for name, value in wanted.items():
            expect_equal(row[name], str(value), f"{name} of rank {rank}")
        for name in ("MASTER_ADDR", "MASTER_PORT"):
            expect_equal(row[name], rows[0][name], f"{name} of rank {rank}")
    expect_equal(rows[0]["MASTER_ADDR"], box.cluster[1].address, "MASTER_ADDR")


@case
def two_nodes_are_one_world(box):
    box.make_cluster(2)
    run = box.launch(*WORLD, "2").end(0)
    check_world(box, 2, 1)
    expect_in("2 ranks ok", run.text, "summary")


@case
def four_nodes_with_two_ranks_each_are_one_world(box):
    box.make_cluster(4)
    box.launch(*WORLD, "8", ranks=2).end(0)
    check_world(box, 4, 2)


@case
def three_nodes_from_a_job_file(box):
    box.make_cluster(3)
    box.write("job.yaml", f"""
command: [{WORLD[0]}, {WORLD[1]}, "6"]
hosts: ["node[1-3]:2"]
connect: {{ssh: {box.cluster.ssh}}}
""")
    box.run("run", "job.yaml")
    check_world(box, 3, 2)


@case
def a_hostfile(box):
    box.make_cluster(2)
    box.write("hosts.txt", "node1 slots=2\nnode2 slots=2\n")
    box.run("run", "--hostfile", "hosts.txt", "--ssh", box.cluster.ssh, "-n", "4", "--", *WORLD, "4")
    check_world(box, 2, 2)


@case
def the_launchers_own_machine_in_the_list_needs_no_ssh(box):
    """It has no sshd here, so ssh would fail."""
    box.make_cluster(1)
    box.launch(*WORLD, "2", hosts=["launcher", "node1"]).end(0)
    rows = [found_in(box, rank) for rank in range(2)]
    expect_equal([row["host"] for row in rows], ["launcher", "node1"], "hosts")
    expect_equal(rows[1]["MASTER_ADDR"], box.cluster.launcher_address, "MASTER_ADDR")


@case
def a_failing_rank_on_another_node_ends_the_job_with_its_code(box):
    box.make_cluster(2)
    run = box.launch(box.rank, *FAMILY, "tell", "ready", "only", "3", "gate", "exit", "7", ranks=2)
    box.expect_all("ready", 4)
    box.open_gate()
    run.end(7)
    expect_in("rank 3 on node2 exited with code 7", run.text, "who and where")


@case
def a_rank_that_is_killed_by_a_signal(box):
    box.make_cluster(2)
    run = box.launch(box.rank, *FAMILY, "tell", "ready", "only", "1", "gate", "die", str(int(signal.SIGSEGV)))
    box.expect_all("ready", 2)
    box.open_gate()
    run.end(128 + signal.SIGSEGV)
    expect_in("rank 1 on node2", run.text, "who and where")


@case
def a_program_that_is_missing_on_the_nodes(box):
    box.make_cluster(2)
    run = box.launch("/nowhere/program").end(127)
    expect_in("/nowhere/program", run.text, "what is missing")


@case
def a_program_that_is_missing_on_one_node(box):
    cluster = box.make_cluster(2)
    cluster[1].sh("cp /bin/true /var/tmp/program")
    run = box.launch("/var/tmp/program").end(127)
    expect_in("node2", run.text, "where it is missing")


@case
def success_leaves_nothing(box):
    box.make_cluster(3)
    run = box.launch(box.rank, *FAMILY, "tell", "ready", "gate", ranks=2)
    box.expect_all("ready", 6)
    box.open_gate()
    run.end(0)


OWN_FOLDERS = "/run /run/home /tmp /var/tmp /dev/shm"  # mounts of the node's own


def files_on(node):
    """Every file that runs have left on a node, except the staged binary and the one file of the core locks."""
    found = node.sh(f"find {OWN_FOLDERS} -xdev ! -type d").splitlines()
    return [path for path in found if not path.endswith("/dlaunch") and not path.startswith("/dev/shm/dlaunch-cores-")]


@case
def runs_leave_no_files_on_nodes(box):
    """No sockets either, whether runs succeed, fail or are cancelled."""
    box.make_cluster(2)
    before = [files_on(node) for node in box.cluster.nodes]
    box.launch(box.rank, "lines", "100").end(0)
    box.launch(box.rank, "lines", "100", "only", "1", "exit", "7").end(7)
    run = box.launch(box.rank, "lines", "100", "tell", "ready", "pause")
    box.expect_all("ready", 2)
    run.signal(signal.SIGINT)
    run.end(130)
    for node, there in zip(box.cluster.nodes, before):
        expect_equal(files_on(node), there, f"files on {node.name}")


@case
def every_byte_of_every_rank_arrives(box):
    box.make_cluster(3)
    size, seed = 3_000_001, 9
    box.launch(box.rank, "bytes", str(size), str(seed), ranks=2, options=["--set", "logs.console=none"]).end(0)
    for rank in range(6):
        expect(box.rank_output(rank) == pseudo_random_bytes(size, seed), f"other bytes of rank {rank}")


@case
def the_console_shows_every_line_of_every_rank_once_and_in_order(box):
    box.make_cluster(3)
    run = box.launch(box.rank, "lines", "20000", ranks=2).end(0)
    seen = {rank: [] for rank in range(6)}
    for line in run.out.splitlines():
        prefix, text = line.split(b"| ", 1)
        seen[int(prefix.split(b":")[1])].append(text)
    for rank, lines in seen.items():
        expect_equal(len(lines), 20000, f"lines of rank {rank} on the console")
        expect(b"\n".join(lines) + b"\n" == box.rank_output(rank), f"lines of rank {rank} differ from its file's")


@case
def ranks_that_are_not_shown_have_their_files_all_the_same(box):
    box.make_cluster(2)
    run = box.launch(box.rank, "bytes", "2000003", "5", options=["--set", "logs.console=rank0"]).end(0)
    for rank in range(2):
        expect(box.rank_output(rank) == pseudo_random_bytes(2000003, 5), f"other bytes of rank {rank} {run.report()}")


@case
def output_of_a_detached_run_can_be_followed(box):
    box.make_cluster(2)
    box.launch(box.rank, "print", "first\n", "tell", "ready", "gate", "print", "second\n", options=["--detach"]).end(0, left=1000)
    box.expect_all("ready", 2)
    for rank in range(2):
        wait_until(lambda: box.rank_output(rank) == b"first\n", f"rank {rank} is seen while it runs", 10, 0.01)  # noqa: B023
    engine = box.json("run.json")["engine"]["pid"]
    box.open_gate()
    wait_gone([engine], "the engine")
    expect_equal(box.json("summary.json")["exit_code"], 0, "exit code of the run")
    for rank in range(2):
        expect_equal(box.rank_output(rank), b"first\nsecond\n", f"output of rank {rank}")


NASTY = ["a b", "quo'te", 'quo"te', "new\nline", "$(touch /tmp/hit)", "`id`", "$HOME", "!!", "\\", "*", "", "tab\there", "\xe9\xfc",
         "-x", "--", "'; exit 3; '", "%s%n", "x" * 120_000]


@case
def arguments_and_variables_arrive_byte_for_byte(box):
    box.make_cluster(2)
    variables = {f"CHECK_{i:02}": value for i, value in enumerate(NASTY)}
    box.launch(*ARGUMENTS, box.folder, *NASTY, options=["--set", "env_pass=['CHECK_*']"], env=variables).end(0)
    wanted = b"".join(os.fsencode(word) + b"\0" for word in NASTY)
    wanted += b"".join(f"{name}=".encode() + os.fsencode(value) + b"\0" for name, value in sorted(variables.items()))
    for rank in range(2):
        expect(box.read(f"got-{rank}") == wanted, f"rank {rank} got something else: {box.read(f'got-{rank}')[:3000]!r}")
    for node in box.cluster.nodes:
        expect(not os.path.exists(node.path("/tmp/hit")), f"a shell of {node.name} executed an argument")


def words_of_a_run(box):
    """Nothing secret and nothing that the user typed may appear in the argv of ssh, guardian or agent, on any machine."""
    box.write("job.yaml", f"""
command: [{box.rank}, tell, ready, gate, print, argument-of-the-job]
hosts: [node1, node2]
connect: {{ssh: {box.cluster.ssh}}}
env: {{IN_THE_FILE: value-in-the-file}}
env_pass: [EVENTS, GATE, PASSED]
env_secret: [SECRET]
""")
    return {"PASSED": "value-passed", "SECRET": "value-that-is-secret"}


@case
def nothing_of_the_job_stands_on_a_command_line(box):
    cluster = box.make_cluster(2)
    values = words_of_a_run(box)
    watch = cluster.watch()
    run = box.start("run", "job.yaml", env=values)
    box.expect_all("ready", 2)
    before = watch.rounds
    wait_until(lambda: watch.rounds > before + 2, "some looks while it runs", 10, 0.01)
    box.open_gate()
    run.end(0)
    watch.stop()
    expect(any("agent" in command for command in watch.commands), f"no agent seen among {watch.commands}")
    for command in watch.commands:
        if not command.startswith(box.rank):  # the rank itself has its arguments
            for word in ("argument-of-the-job", *values.values(), "value-in-the-file", box.rank + " tell"):
                expect(word not in command, f"{word} stands in: {command}")
    for folder, _, names in os.walk(box.path("runs")):
        for name in names:
            expect(b"value-that-is-secret" not in box.read(folder, name), f"the secret is in {folder}/{name}")


@case
def nobody_of_ours_listens_while_ranks_run(box):
    """Except the unix sockets through which a lost agent is found, and a run is asked."""
    cluster = box.make_cluster(2)
    early = cluster.watch()
    run = box.launch(box.rank, "tell", "ready", "gate", ranks=2)
    box.expect_all("ready", 4)
    early.stop()
    late = cluster.watch()
    wait_until(lambda: late.rounds > 5, "some looks while it runs", 10, 0.01)
    box.open_gate()
    run.end(0)
    late.stop()
    ours = lambda watch: [one for one in watch.listeners if os.path.basename(one.program) == "dlaunch"]  # noqa: E731
    for one in ours(early):
        expect(one.kind == "unix" or one.node == "node1", f"listens before the ranks: {one}")
    for one in ours(late):
        at_launcher = one.node == "launcher" and os.path.basename(one.address) in OF_THE_RUN_FOLDER
        expect(one.kind == "unix" and (at_launcher or one.node != "launcher"), f"listens while ranks run: {one}")
    expect(early.rounds > 3, "too few looks")


@case
def session_folders_and_the_staged_binary_are_closed_to_others(box):
    cluster = box.make_cluster(1)
    run = box.launch(box.rank, "tell", "ready", "gate")
    box.expect_all("ready", 1)
    # A socket may have been bound through a descriptor of its folder, so only the name in its address can be trusted.
    names = {os.path.basename(one.address) for one in cluster.listeners()
             if one.kind == "unix" and os.path.basename(one.program) == "dlaunch"}
    names -= OF_THE_RUN_FOLDER
    # The abstract one has no mode: both ends look at each other's user id.
    expect_equal([name[:name.rindex("-")] for name in names if name.startswith("@")],
                 ["@dlaunch-" + name for name in names if not name.startswith("@")], "sockets")
    names = {name for name in names if not name.startswith("@")}
    found = [path for path in cluster[1].sh(f"find {OWN_FOLDERS} -xdev -type s").splitlines() if os.path.basename(path) in names]
    expect_equal(len(found), len(names), f"sockets {names} among {found}")
    for path in found:
        expect_equal(os.stat(cluster[1].path(path)).st_mode & 0o777, 0o600, f"mode of {path}")
        expect_equal(os.stat(os.path.dirname(cluster[1].path(path))).st_mode & 0o777, 0o700, f"mode of the folder of {path}")
    cache = cluster[1].home(".cache", "dlaunch")
    for folder, _, names in os.walk(cache):
        for path in [folder, *(os.path.join(folder, name) for name in names)]:
            expect_equal(os.stat(path).st_mode & 0o022, 0, f"others may write {path}")
    box.open_gate()
    run.end(0)


@case
def two_runs_at_once_on_the_same_nodes(box):
    box.make_cluster(2)
    first = box.launch(box.rank, "tell", "one", "gate", "exit", "3")
    second = box.launch(box.rank, "tell", "two", "gate", "exit", "4")
    box.expect_all("one", 2)
    box.expect_all("two", 2)
    box.open_gate()
    first.end(3, left=1000)
    second.end(4)


@case
def another_user_by_host_and_by_key(box):
    box.make_cluster(2)
    box.write("job.yaml", f"""
command: [/usr/bin/id, -un]
hosts: [{{name: node1, user: trainer}}, node2]
connect: {{ssh: {box.cluster.ssh}}}
""")
    box.run("run", "job.yaml")
    expect_equal([box.rank_output(rank) for rank in range(2)], [b"trainer\n", b"root\n"], "users")


@case
def settings_of_the_user_that_would_disturb_are_switched_off(box):
    cluster = box.make_cluster(2)
    with open(os.path.join(cluster.folder, "ssh", "config"), encoding="utf-8") as file:
        expect("ControlMaster" not in file.read(), "it is there already")
    cluster.configure("*", ControlMaster="auto", ControlPath=box.path("mux-%n"), ControlPersist="yes", LocalForward="7777 localhost:22",
                      RemoteCommand="echo hello", RequestTTY="force", ForwardX11="yes", PermitLocalCommand="yes",
                      LocalCommand=f"touch {box.path('local-command')}", EscapeChar="a", VisualHostKey="yes", LogLevel="QUIET",
                      IgnoreUnknown="StdinNull,SessionType,ForkAfterAuthentication", StdinNull="yes", SessionType="none",
                      ForkAfterAuthentication="yes")
    box.launch(*WORLD, "2").end(0)
    cluster.configure("refused", LogLevel="QUIET", VisualHostKey="yes")
    run = box.launch("/bin/true", hosts=["node1", "refused"]).end(69, left=1000)
    expect_in("Connection refused", run.text, "what ssh was told not to say")
    expect(not [name for name in os.listdir(box.folder) if name.startswith("mux-")], "a master was started")
    expect(not box.exists("local-command"), "LocalCommand was executed")
