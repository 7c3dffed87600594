"""Kept nodes: `dlaunch up` leaves connections that runs use, `dlaunch down` ends them (docs/how-to/keep-nodes-connected.md)."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import threading

import cases_prompts
from case import case
from cases_faults import QUICK
from expectations import expect, expect_equal, expect_in
from processes import PATIENCE, command_of, wait_gone, wait_until


FOLDER = f"/tmp/dlaunch-{os.geteuid()}"


def make_cluster(box, count):
    use_own_sockets()
    return box.make_cluster(count)


def use_own_sockets():
    """A folder of its own for the keepers' sockets: cases that run at the same time share /tmp."""
    os.makedirs(FOLDER, 0o700, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=700", "none", FOLDER], check=True)


def logins(box):
    """How often sshd has let someone in, on each node."""
    counts = []
    for node in box.cluster.nodes:
        with open(os.path.join(node.folder, "sshd.log"), encoding="utf-8", errors="replace") as file:
            counts.append(file.read().count("Accepted publickey"))
    return counts


def keepers(box):
    return [pid for pid in box.survivors() if command_of(pid).startswith("dlaunch: keeper")]


def up(box, *options, hosts=None, code=0):
    words = ["up", "--set", f"hosts=[{', '.join(hosts or box.cluster.names)}]", "--set", f"connect.ssh={box.cluster.ssh}", *options]
    return box.start(*words).end(code, left=1000)


def down(box, *options):
    run = box.start("down", *options).end(0, left=1000)
    wait_until(lambda: not keepers(box), "the keeper is gone", PATIENCE, 0.01)
    return run


def listed(box):
    return {row["host"]: row for row in json.loads(box.start("up", "--list", "--json").end(0, left=1000).out)}


def wait_for_state(box, host, state):
    wait_until(lambda: listed(box).get(host, {}).get("state") == state, f"{host} is {state}", 40, 0.05)


@contextlib.contextmanager
def kept(box, count, *options, **more):
    make_cluster(box, count)
    up(box, *options, **more)
    try:
        yield
    finally:
        down(box)


@case
def a_run_uses_kept_nodes_and_gives_them_back(box):
    with kept(box, 2):
        before = logins(box)
        for number in range(3):
            run = box.launch(box.rank, "print", f"{number}\n", ranks=2, options=["--set", f"logs.dir=runs{number}"]).end(0, left=1000)
            expect_in("uses 2 kept nodes", run.text, "what it says")
            expect_equal([box.rank_output(rank, runs=f"runs{number}") for rank in range(4)], [f"{number}\n".encode()] * 4, "output")
        expect_equal(logins(box), before, "no further login")
        expect_equal([row["state"] for row in listed(box).values()], ["idle", "idle"], "states")
    box.expect_nodes_empty("down leaves nothing")


OF_A_RUN = ("SSH_", "DLAUNCH_RUN_ID", "DLAUNCH_RUN_DIR", "MASTER_PORT", "TORCHELASTIC_", "DLAUNCH_", "SHLVL", "_=")
STATE = "env -0 | sort -z | tr '\\0\\n' '\\n ' ; echo; ulimit -a; ulimit -Ha; umask; pwd; grep -E '^(Sig[^Q]|Cap|NoNew|Seccomp|Cpus_allowed:)' /proc/self/status; ls /proc/self/fd | wc -l"


def state_lines(box, runs):
    lines = box.rank_output(0, runs=runs).decode().splitlines()
    return [line for line in lines if not line.startswith(OF_A_RUN)]


@case
def ranks_are_started_as_in_an_ordinary_run(box):
    """The second session of an agent, too: environment, limits, umask, signals, descriptors, and the folder."""
    make_cluster(box, 1)
    box.launch("/bin/sh", "-c", STATE, options=["--set", "logs.dir=plain"]).end(0)
    up(box)
    for name in ("first", "second"):
        box.launch("/bin/sh", "-c", STATE, options=["--set", f"logs.dir={name}"]).end(0, left=1000)
        plain, here = set(state_lines(box, "plain")), set(state_lines(box, name))
        expect_equal((here - plain, plain - here), (set(), set()), f"what only the rank of the {name} run has, and what only the other one")
    down(box)


@case
def two_runs_at_once(box):
    """At once, the second one connects the nodes itself, and says so. Two seconds later the keeper has another agent for it."""
    with kept(box, 2):
        first = box.launch(box.rank, "tell", "one", "gate", options=["--set", "logs.dir=one"])
        box.expect_all("one", 2)
        expect_equal({row["state"] for row in listed(box).values()}, {"in use"}, "states")
        second = box.launch(box.rank, "tell", "two", options=["--set", "logs.dir=two"]).end(0, left=1000)
        expect_in("uses kept connections for 0 of 2 nodes and connects to the others: node1 is used by run " + box.runs("one")[0], second.words, "what it says")
        rows = lambda: [(row["host"], row["state"]) for row in json.loads(box.start("up", "--list", "--json").end(0, left=1000).out)]  # noqa: E731
        both = [("node1", "in use"), ("node1", "idle"), ("node2", "in use"), ("node2", "idle")]
        wait_until(lambda: rows() == both, "another agent on each node", 20, 0.1)
        before = logins(box)
        third = box.launch(box.rank, "tell", "three", options=["--set", "logs.dir=three"]).end(0, left=1000)
        expect_in("uses 2 kept nodes", third.text, "beside the first one")
        box.open_gate()
        first.end(0, left=1000)
        run = box.launch(box.rank, options=["--set", "logs.dir=four"]).end(0, left=1000)
        expect_in("uses 2 kept nodes", run.text, "afterwards")
        expect_equal(logins(box), before, "no further login")
        expect_in("2 nodes are given up", down(box).text, "hosts, not agents")


@case
def a_run_with_other_hosts_beside_the_kept_ones(box):
    make_cluster(box, 3)
    up(box, hosts=["node1", "node2"])
    before = logins(box)
    run = box.launch(box.rank, options=["--set", "logs.dir=one"]).end(0, left=1000)
    expect_in("uses kept connections for 2 of 3 nodes and connects to the others", run.words, "what it says")
    expect_equal([now - then for now, then in zip(logins(box), before)], [0, 0, 1], "logins")
    run = box.launch(box.rank, hosts=["{name: node1, user: root}", "node3"], options=["--set", "logs.dir=two"]).end(0, left=1000)
    expect("kept" not in run.text, f"another user may be meant: {run.text}")
    down(box)


@case
def an_agent_that_was_killed_while_idle(box):
    with kept(box, 2):
        _, agent, _ = box.people(box.cluster[1])
        os.kill(agent, signal.SIGKILL)
        box.launch(box.rank, "print", "x\n").end(0, left=1000)
        wait_for_state(box, "node1", "idle")


@case
def a_node_that_was_rebooted_while_idle(box):
    """With its connection still looking well: nothing has told the keeper."""
    with kept(box, 2, *QUICK):
        box.cluster[1].power_off()
        box.cluster[1].link_up()
        box.cluster[1].boot()
        box.cluster[1].wait_for_sshd()
        box.launch(box.rank, "print", "x\n").end(0, patience=40, left=1000)
        expect_equal(box.rank_output(0), b"x\n", "its rank's output")
        wait_for_state(box, "node1", "idle")


@case
def a_launcher_that_is_killed_gives_nothing_back(box):
    """Its ranks end as those of any launcher that was killed, and the next run has kept nodes again."""
    with kept(box, 2):
        run = box.launch(box.rank, "child", "daemon", "tell", "ready", "pause", options=["--set", "logs.dir=one", *QUICK])
        box.expect_all("ready", 2)
        engine = json.loads(box.read("one", box.runs("one")[0], "run.json"))["engine"]["pid"]
        os.kill(run.pid, signal.SIGKILL)
        os.kill(engine, signal.SIGKILL)
        run.end(left=1000)
        for name in box.cluster.names:
            wait_for_state(box, name, "idle")
        for node in box.cluster.nodes:
            wait_until(lambda: not [pid for pid in node.processes() if command_of(pid).startswith(box.rank)],  # noqa: B023
                       f"no rank is left on {node.name}", 20, 0.02)
        run = box.launch(box.rank, options=["--set", "logs.dir=two"]).end(0, left=1000)
        expect_in("uses 2 kept nodes", run.text, "the next run")


@case
def a_keeper_that_is_killed_leaves_nothing_on_nodes(box):
    make_cluster(box, 2)
    up(box, *QUICK)
    keeper, = keepers(box)
    os.kill(keeper, signal.SIGKILL)
    box.expect_nodes_empty("agents end with their keeper", patience=10)
    run = box.launch(box.rank).end(0)
    expect("kept" not in run.text, f"there is none: {run.text}")
    expect_in("no nodes are kept", box.start("up", "--list").end(0).text, "the list")
    expect(not [name for name in os.listdir(FOLDER) if "keeper" in name], "its socket is gone")


@case
def a_keeper_that_is_killed_in_a_run(box):
    """The run goes on over connections of its own."""
    make_cluster(box, 2)
    up(box)
    run = box.launch(box.rank, "tell", "ready", "gate", "print", "x\n")
    box.expect_all("ready", 2)
    keeper, = keepers(box)
    os.kill(keeper, signal.SIGKILL)
    box.open_gate()
    run.end(0, patience=30, left=1000)
    expect_equal([box.rank_output(rank) for rank in range(2)], [b"x\n"] * 2, "output")


@case
def the_idle_time_ends_it(box):
    make_cluster(box, 1)
    up(box, "--idle", "1s")
    wait_until(lambda: not keepers(box), "the keeper is gone", PATIENCE, 0.01)
    box.expect_nodes_empty("and its agent")


@case
def all_nodes_or_none(box):
    make_cluster(box, 1)
    run = up(box, hosts=["node1", "refused"], code=69)
    expect_in("so none is kept", run.words, "what it says")
    expect_in("refused: ssh: connect to host", run.words, "why")
    expect(not keepers(box), "no keeper")
    box.expect_nodes_empty("nothing is left")


@case
def ctrl_c_while_it_connects(box):
    cluster = make_cluster(box, 1)
    cluster.add_host("slow", HostName=cluster[1].address, HostKeyAlias="node1",
                     ProxyCommand=f"sh -c 'echo connecting > {box.events}; exec sleep 600'")
    run = box.start("up", "--set", "hosts=[node1, slow]", "--set", f"connect.ssh={cluster.ssh}")
    box.expect_events(["connecting"])
    run.signal(signal.SIGINT)
    run.end(130)
    box.expect_nodes_empty("nothing is left")


@case
def plan_and_check_use_kept_nodes(box):
    with kept(box, 2):
        before = logins(box)
        words = ["--set", "hosts=[node1, node2]", "--set", f"connect.ssh={box.cluster.ssh}"]
        for number in range(2):
            plan = box.start("plan", *words, "--json", "--", "true").end(0, left=1000)
            expect_equal([node["name"] for node in json.loads(plan.out)["nodes"]], ["node1", "node2"], "the plan")
        box.start("check", *words, "--no-fabric").end(0, left=1000)
        box.launch(box.rank).end(0, left=1000)
        expect_equal(logins(box), before, "no further login")
    box.expect_nodes_empty("down leaves nothing")


@case
def a_second_up_takes_only_what_is_new(box):
    make_cluster(box, 2)
    up(box, hosts=["node1"])
    run = up(box)
    expect_in("1 node is kept already", run.words, "what it says")
    expect_equal(sorted(listed(box)), ["node1", "node2"], "kept nodes")
    run = box.launch(box.rank).end(0, left=1000)
    expect_in("uses 2 kept nodes", run.text, "of both keepers")
    box.start("down", "--hosts", "node1").end(0, left=1000)
    wait_until(lambda: sorted(listed(box)) == ["node2"], "node1 is given up", PATIENCE, 0.02)
    down(box)


def up_with_questions(box):
    use_own_sockets()
    cluster = cases_prompts.locked_cluster(box, 2)
    run = box.start_on_terminal("up", "--set", f"hosts=[{', '.join(cluster.names)}]", "--set", f"connect.ssh={cluster.ssh}")
    cases_prompts.asked(run, 1)
    return run


@case
def up_asks_for_a_passphrase_once_and_runs_do_not(box):
    run = up_with_questions(box)
    run.type(cases_prompts.PASSPHRASE + b"\n")
    run.end(0, patience=40, left=1000)
    expect_equal(run.screen.count(b"Enter passphrase"), 1, "questions")
    expect(cases_prompts.PASSPHRASE not in run.screen, "the passphrase is on the screen")
    expect_in("uses 2 kept nodes", box.launch(box.rank).end(0, left=1000).text, "a run without a terminal")
    down(box)


@case
def ctrl_c_at_a_question_of_up_keeps_nothing(box):
    run = up_with_questions(box)
    run.type(b"\x03")
    run.end(130, patience=20)
    expect_equal(keepers(box), [], "keepers")
    box.expect_nodes_empty("and no agent")


@case
def two_ups_at_once_keep_a_node_once(box):
    make_cluster(box, 1)
    box.cluster.delay("node1", 0.2)
    words = ["up", "--set", "hosts=[node1]", "--set", f"connect.ssh={box.cluster.ssh}"]
    runs = [box.start(*words), box.start(*words)]
    texts = sorted((run.end(0, left=1000).words for run in runs), key=lambda text: "waiting" in text)
    expect_in("1 node is kept for your runs", texts[0], "what the first says")
    expect_in("another dlaunch up is connecting to nodes; waiting for it", texts[1], "what the second says")
    expect_in("1 node is kept already", texts[1], "what it finds")
    expect_equal(len(keepers(box)), 1, "keepers")
    down(box)


@case
def down_in_a_run_waits_for_its_end(box):
    make_cluster(box, 1)
    up(box)
    run = box.launch(box.rank, "tell", "ready", "gate")
    box.expect_all("ready", 1)
    text = box.start("down").end(0, left=1000).text
    expect_in("1 of them when their runs are done", text, "what it says")
    expect(keepers(box), "the keeper is still there")
    box.open_gate()
    run.end(0, left=1000)
    wait_until(lambda: not keepers(box), "then it goes", PATIENCE, 0.01)
    box.expect_nodes_empty("and its agent")


@case
def down_with_a_keeper_that_does_not_answer(box):
    make_cluster(box, 2)
    up(box, *QUICK, hosts=["node1"])
    stopped, = keepers(box)
    up(box, hosts=["node2"])
    os.kill(stopped, signal.SIGSTOP)
    run = box.start("down").end(124, left=1000)
    expect_in(f"the keeper of nodes with pid {stopped} does not answer", run.text, "the error")
    expect_in("1 node is given up", run.text, "the other one")
    wait_until(lambda: keepers(box) == [stopped], "the other keeper is gone", PATIENCE, 0.01)
    os.kill(stopped, signal.SIGKILL)
    wait_gone([stopped], "the keeper")
    box.expect_nodes_empty("the agents end with it")


@case
def sockets_of_keepers_that_died_early_are_removed(box):
    """One that is killed while it connects leaves its socket under the name that hides it."""
    make_cluster(box, 1)
    names = {age: os.path.join(FOLDER, f".newkeeper-{age}") for age in ("old", "young")}
    for age, path in names.items():
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as dead:
            dead.bind(path)
    os.utime(names["old"], (0, 0))
    box.start("up", "--list").end(0, left=1000)
    expect_equal(sorted(os.listdir(FOLDER)), [".newkeeper-young"], "what is left")


@case
def a_namespace_needs_agents_of_its_own(box):
    with kept(box, 1):
        run = box.launch(box.rank, "print", "x\n", options=["--set", "isolation=pid-namespace"]).end(left=1000)
        expect(run.code in (0, 75), f"exit code {run.code}")  # 75: no namespace can be made here
        expect_in("the kept nodes are not used: isolation: pid-namespace", run.words, "what it says")


def keeper_socket():
    name, = [name for name in os.listdir(FOLDER) if name.startswith("keeper-")]
    return os.path.join(FOLDER, name)


def greeting(path, user=0):
    """What a keeper says to a process of this user; empty: it lets go."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setuid(user)
            line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            line.settimeout(10)
            line.connect(path)
            os.write(write, line.recv(1000) or b"-")
        except OSError as error:
            os.write(write, f"error {error}".encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        return file.read()


@case
def another_user_is_refused(box):
    with kept(box, 1):
        path = keeper_socket()
        expect_equal(os.stat(path).st_mode & 0o777, 0o600, "mode of the socket")
        expect_equal(os.stat(os.path.dirname(path)).st_mode & 0o777, 0o700, "mode of its folder")
        expect(greeting(path).startswith(b"dlaunch keeper "), "its own user is heard")
        expect_in(b"error", greeting(path, 65534), "another user")
        os.chmod(os.path.dirname(path), 0o755)
        os.chmod(path, 0o666)
        expect(greeting(path, 65534) in (b"-", b"error [Errno 104] Connection reset by peer"), f"even with open modes: {greeting(path, 65534)}")
        os.chmod(path, 0o600)
        os.chmod(os.path.dirname(path), 0o700)


@case
def another_build_takes_over(box):
    """A keeper of another build is told to go, in words that every build knows."""
    make_cluster(box, 1)
    path = os.path.join(FOLDER, "keeper-other")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen()
    listener.settimeout(10)
    run = box.launch(box.rank, "tell", "ready", "gate")
    line, _ = listener.accept()
    line.settimeout(10)
    line.send(b"dlaunch keeper 0123456789abcdef")
    expect_equal(line.recv(1000), b"go away", "what it is told")
    box.expect_all("ready", 1)
    line.close()
    listener.close()
    os.unlink(path)
    box.open_gate()
    run.end(0)
    expect_in("the kept nodes belong to another build of dlaunch, which gives them up", run.words, "what the user is told")


@case
def a_keeper_that_has_just_gone_keeps_nothing(box):
    """For a command that still finds it, as with two at once."""
    with kept(box, 1):
        greets = greeting(keeper_socket())
        path = os.path.join(FOLDER, "keeper-gone")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(path)
        listener.listen()

        def go():
            with contextlib.suppress(OSError):
                while True:
                    with listener.accept()[0] as line:
                        line.send(greets)

        thread = threading.Thread(target=go)
        thread.start()
        try:
            expect_equal(list(listed(box)), box.cluster.names, "what is kept")
            expect_in("1 node is kept already", up(box).words, "the other keeper's")
            down(box)
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            listener.close()
            os.unlink(path)


@case
def a_keeper_that_goes_away_gives_all_up(box):
    make_cluster(box, 2)
    up(box)
    line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    line.settimeout(10)
    line.connect(keeper_socket())
    line.recv(1000)
    line.send(b"go away")
    wait_until(lambda: not keepers(box), "the keeper is gone", PATIENCE, 0.01)
    box.expect_nodes_empty("and its agents")


@case
def nonsense_at_the_socket_changes_nothing(box):
    with kept(box, 1):
        for packet in (b"x", b"\0" * 1000, bytes(range(256)), b"\3\xa0", b"\0\xff\xff", b"y" * 60000):
            line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            line.settimeout(10)
            line.connect(keeper_socket())
            line.recv(1000)
            line.send(packet)
            line.close()
        run = box.launch(box.rank).end(0, left=1000)
        expect_in("uses 1 kept node", run.text, "afterwards")


@case
def ssh_keeps_a_connection_without_a_keeper(box):
    """connect.persist: the second run's ssh goes over the first one's login."""
    make_cluster(box, 2)
    options = ["--set", "connect.persist=10m"]
    box.launch(box.rank, "print", "x\n", options=["--set", "logs.dir=one", *options]).end(0, left=2)
    before = logins(box)
    box.launch(box.rank, "print", "x\n", options=["--set", "logs.dir=two", *options]).end(0, left=2)
    expect_equal(logins(box), before, "no further login")
    masters = [os.path.join(FOLDER, name) for name in os.listdir(FOLDER) if name.startswith("ssh-")]
    expect_equal(len(masters), 2, "shared connections")
    for path in masters:
        expect_equal(os.stat(path).st_mode & 0o777, 0o600, "mode of its socket")
        box.ssh("node1", "true", "-O", "check", "-S", path)
        box.ssh("node1", "true", "-O", "exit", "-S", path)
    wait_until(lambda: not box.survivors(), "the masters end", PATIENCE, 0.02)


@case
def a_shared_connection_that_hangs_is_left_alone(box):
    make_cluster(box, 1)
    options = ["--set", "connect.persist=10m"]
    box.launch(box.rank, options=["--set", "logs.dir=one", *options]).end(0, left=1)
    master, = box.survivors()
    os.kill(master, signal.SIGSTOP)
    box.launch(box.rank, "print", "x\n", options=["--set", "logs.dir=two", *options]).end(0, patience=20, left=1)
    expect_equal(box.rank_output(0, runs="two"), b"x\n", "output")
    os.kill(master, signal.SIGKILL)
    wait_gone([master], "the master")


@case
def a_shared_connection_of_the_users_own_is_not_touched(box):
    cluster = make_cluster(box, 1)
    cluster.configure("*", ControlMaster="auto", ControlPath=box.path("mux-%n"), ControlPersist="yes")
    box.launch(box.rank, options=["--set", "connect.persist=10m"]).end(0)
    expect(not [name for name in os.listdir(box.folder) if name.startswith("mux-")], "a master was started")


@case
def an_agent_that_was_killed_right_after_a_run(box):
    """The next run is faster than the keeper: it gets a dead connection, and makes one of its own."""
    with kept(box, 2):
        box.launch(box.rank, options=["--set", "logs.dir=one"]).end(0, left=1000)
        guardian, agent, _ = box.people(box.cluster[1])
        os.kill(guardian, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):  # it ends by itself when its guardian has ended
            os.kill(agent, signal.SIGKILL)
        box.launch(box.rank, "print", "x\n", options=["--set", "logs.dir=two"]).end(0, left=1000)
        expect_equal([box.rank_output(rank, runs="two") for rank in range(2)], [b"x\n"] * 2, "output")
        wait_for_state(box, "node1", "idle")


@case
def a_run_right_after_another_one(box):
    """Its agents have not been greeted by the keeper meanwhile; then they are."""
    with kept(box, 1):
        for number in range(4):
            run = box.launch(box.rank, options=["--set", f"logs.dir=runs{number}"]).end(0, left=1000)
            expect_in("uses 1 kept node", run.text, f"run {number}")
        expect_equal(listed(box)["node1"]["load"] is not None, True, "the agent has answered")
        run = box.launch(box.rank, options=["--set", "logs.dir=last"]).end(0, left=1000)
        expect_in("uses 1 kept node", run.text, "after the list")


@case
def a_sync_to_kept_nodes(box):
    make_cluster(box, 2)
    box.make_folder("work")
    work = subprocess.run(["mktemp", "-d", "/var/tmp/work-XXXXXX"], capture_output=True, text=True, check=True).stdout.strip()
    up(box)
    for number in range(3):
        with open(os.path.join(work, "program.sh"), "w", encoding="ascii") as file:
            file.write(f"echo version {number}\n")
        box.launch("sh", "program.sh", options=["--set", "sync=true", "--set", f"workdir={work}", "--set", f"logs.dir={box.path(f'runs{number}')}"]).end(0, left=1000)
        expect_equal([box.rank_output(rank, runs=f"runs{number}") for rank in range(2)], [f"version {number}\n".encode()] * 2, "output")
    down(box)
    subprocess.run(["rm", "-r", work], check=True)
