"""The cluster itself, with plain ssh: nodes are separate, their faults are real, and leftovers on them are detected."""

import os
import signal
import socket
import subprocess
import time

from case import case
from expectations import Skip, expect, expect_equal, expect_in
from node import HOME
from processes import wait_gone, wait_until

UP_LIMIT = 2.0  # seconds for four nodes
QUICK = ("-o", "ConnectTimeout=2", "-o", "ServerAliveInterval=1", "-o", "ServerAliveCountMax=2")


def background(box, host, command, *options):
    return subprocess.Popen([box.cluster.ssh, *options, host, command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, env=box.environment)


def expect_ends(process, code, patience=20.0):
    if process.stdin and process.stdin.closed:
        process.stdin = None  # communicate() would flush it
    out, err = process.communicate(timeout=patience)
    expect_equal(process.returncode, code, f"exit code, with {err!r}")
    return out


@case(alone=True)
def four_nodes_are_up_in_two_seconds(box):
    start = time.monotonic()
    box.make_cluster(4)
    seconds = time.monotonic() - start
    expect(seconds < UP_LIMIT, f"{seconds:.2f} s")
    for node in box.cluster.nodes:
        expect_equal(box.ssh(node.name, "hostname").stdout, node.name + "\n", "who answers")


@case
def nodes_have_their_own_network_processes_and_files(box):
    cluster = box.make_cluster(2)
    box.ssh("node1", f"echo one > {HOME}/mark; echo one > /tmp/mark; echo one > /dev/shm/mark; echo one > /run/mark; echo one > /var/tmp/mark")
    for folder in (HOME, "/tmp", "/dev/shm", "/run", "/var/tmp"):
        expect(not os.path.exists(cluster[2].path(f"{folder}/mark")), f"{folder} is shared by the nodes")
        expect(not os.path.exists(f"{folder}/mark"), f"{folder} is the launcher's")
    expect_equal(box.ssh("node2", "pwd; echo $HOME").stdout, f"{HOME}\n{HOME}\n", "home")
    expect_in("10.77.0.2/24", box.ssh("node2", "ip -br addr").stdout, "its address")
    expect(int(box.ssh("node1", "ls -d /proc/[0-9]* | wc -l").stdout) < 12, "a node sees the processes of others")
    expect_equal(box.ssh("node1", f"cat {box.write('shared', 'yes')}").stdout, "yes", "a file on the shared file system")
    expect_equal(box.ssh("trainer@node2", "id -un; pwd").stdout, "trainer\n/run/trainer\n", "another user")


@case
def nodes_reach_each_other_by_name(box):
    cluster = box.make_cluster(2)
    script = f"exec 3<>/dev/tcp/node2/22; head -c 4 <&3; {cluster.ssh} node2 hostname"
    expect_equal(box.ssh("node1", script).stdout, "SSH-node2\n", "what node1 gets from node2")


@case
def the_users_own_ssh_files_are_not_used(box):
    cluster = box.make_cluster(1)
    expect_equal(box.ssh("node1", "true", "-G").returncode, 0, "ssh -G")
    files = [line for line in box.ssh("node1", "true", "-G").stdout.splitlines() if "file" in line.split(" ")[0]]
    own = os.path.expanduser("~") + "/.ssh"
    for line in files:
        expect(own not in line and "~" not in line, f"ssh would use {line}")
    expect(any(cluster.folder in line for line in files), f"no file of the cluster in {files}")


@case
def a_process_that_is_left_on_a_node_is_found(box):
    box.make_cluster(2)
    box.ssh("node2", "setsid sh -c 'sleep 1000 & sleep 1001 &' </dev/null >/dev/null 2>&1")
    wait_until(lambda: len(box.cluster.left(sessions=False).get("node2", [])) == 2, "two processes are found on node2", 5, 0.01)
    expect_equal(list(box.cluster.left(sessions=False)), ["node2"], "nodes with something left")
    expect_equal(len(box.survivors()), 2, "survivors")
    try:
        box.expect_nodes_empty("a daemon is left", 0.2)
    except AssertionError as error:
        expect_in("sleep 1000", str(error), "what is said of it")
    else:
        raise AssertionError("not seen")
    for pid in box.survivors():
        os.kill(pid, signal.SIGKILL)


@case
def listeners_are_found_with_their_owners(box):
    cluster = box.make_cluster(2)
    watch = cluster.watch()
    listen = "import socket,sys; s=socket.socket(); s.bind(('0.0.0.0',7001)); s.listen(); u=socket.socket(socket.AF_UNIX); u.bind('/run/u'); u.listen(); print('up',flush=True); sys.stdin.read()"
    process = background(box, "node2", f'python3 -c "{listen}"')
    expect_equal(process.stdout.readline(), b"up\n", "the listener")
    found = {(one.node, one.address): one for one in cluster.listeners()}
    expect_in("python3", found[("node2", "0.0.0.0:7001")].program, "owner of the TCP socket")
    expect_in("python3", found[("node2", "/run/u")].program, "owner of the unix socket")
    expect(("node1", "0.0.0.0:22") in found and "sshd" in found[("node1", "0.0.0.0:22")].program, f"sshd of node1 among {found}")
    before = watch.rounds
    wait_until(lambda: watch.rounds > before + 1, "another look", 5, 0.01)
    process.stdin.close()
    expect_ends(process, 0)
    watch.stop()
    expect_in(("node2", "0.0.0.0:7001"), [(one.node, one.address) for one in watch.listeners], "seen while it was there")
    expect(any("s.listen()" in command for command in watch.commands), "its command line was not seen")


@case
def hosts_that_cannot_be_reached(box):
    box.make_cluster(1)
    for host, words in {"refused": "Connection refused", "nowhere": "Could not resolve hostname", "stranger": "Host key verification failed",
                        "wrongkey": "Permission denied", "impostor": "Host key verification failed"}.items():
        done = box.ssh(host, "true", check=False)
        expect_equal(done.returncode, 255, f"exit code of ssh {host}")
        expect_in(words, done.stderr, f"ssh {host}")


@case
def power_off_closes_no_connection(box):
    cluster = box.make_cluster(2)
    process = background(box, "node2", "echo up; sleep 1000", *QUICK)
    process.stdout.readline()
    start = time.monotonic()
    cluster[2].power_off()
    expect_ends(process, 255)
    expect(time.monotonic() - start > 1.5, "ssh was told of it")
    expect_equal(box.ssh("node1", "hostname").stdout, "node1\n", "the other node")
    cluster[2].link_up()
    cluster[2].boot()
    cluster[2].wait_for_sshd()
    expect_equal(box.ssh("node2", "hostname").stdout, "node2\n", "after it was started again")


@case
def a_crash_closes_connections(box):
    cluster = box.make_cluster(1)
    process = background(box, "node1", "echo up; sleep 1000")
    process.stdout.readline()
    inside = cluster[1].processes()
    cluster[1].crash()
    wait_gone(inside, "processes of the node", 2)
    expect_ends(process, 255, 5)


def expect_cut(box, cut, mend):
    """A session that stalls while it is cut, and continues afterwards."""
    process = background(box, "node1", "cat")
    process.stdin.write(b"before\n")
    process.stdin.flush()
    expect_equal(process.stdout.readline(), b"before\n", "echo")
    cut()
    try:
        expect_equal(box.ssh("node1", "true", *QUICK, check=False).returncode, 255, "a new connection")
    finally:
        mend()
    process.stdin.write(b"after\n")
    process.stdin.close()
    expect_equal(expect_ends(process, 0), b"after\n", "what came after it")


@case
def a_link_that_is_cut_and_mended(box):
    node = box.make_cluster(1)[1]
    expect_cut(box, node.link_down, node.link_up)


@case
def the_launchers_link_cut_leaves_the_nodes_theirs(box):
    cluster = box.make_cluster(2)

    def cut():
        cluster.launcher_link_down()
        script = f"{cluster.ssh} -o ConnectTimeout=2 node2 hostname"
        expect_equal(cluster[1].sh(script), "node2\n", "from node1 to node2")

    expect_cut(box, cut, cluster.launcher_link_up)


@case
def a_cut_in_one_direction(box):
    node = box.make_cluster(1)[1]
    for direction in ("in", "out"):
        expect_cut(box, lambda: node.drop(direction), node.drop_nothing)  # noqa: B023: used at once


@case
def a_node_that_hangs(box):
    node = box.make_cluster(1)[1]
    expect_cut(box, node.hang, node.go_on)


@case(alone=True)
def a_slow_link(box):
    node = box.make_cluster(1)[1]

    def seconds():
        start = time.monotonic()
        box.ssh("node1", "head -c 1000000 /dev/zero")
        return time.monotonic() - start

    fast = seconds()
    node.slow_link("4mbit")
    expect(seconds() > max(1.5, fast), "1 MB came faster than over 4 Mbit/s")
    node.fast_link()


@case
def sessions_and_sshd_can_be_killed(box):
    node = box.make_cluster(1)[1]
    process = background(box, "node1", "echo $$; exec sleep 1000")
    process.stdout.readline()
    node.kill_sshd()
    expect_in("Connection refused", box.ssh("node1", "true", check=False).stderr, "without a listener")
    expect(process.poll() is None, "the session went with the listener")
    expect(node.kill_sessions() > 0, "there was no session")
    expect_ends(process, 255)
    expect_equal(len(node.processes()), 1, "what the session had started")
    os.kill(node.processes()[0], signal.SIGKILL)
    node.start_sshd()
    expect_equal(box.ssh("node1", "hostname").stdout, "node1\n", "after it was started again")


@case
def max_startups_refuses(box):
    node = box.make_cluster(1)[1]
    node.start_sshd(MaxStartups="1", LoginGraceTime="20")
    with socket.create_connection((node.address, 22)) as holder:
        expect_in(b"SSH-", holder.recv(64), "the one that is let in")
        done = box.ssh("node1", "true", check=False)
        expect_equal(done.returncode, 255, "exit code of one more")
    wait_until(lambda: box.ssh("node1", "true", check=False).returncode == 0, "it is let in when the first has gone", 10, 0.05)


@case
def a_delayed_connection(box):
    cluster = box.make_cluster(1)
    cluster.delay("node1", 0.2)
    start = time.monotonic()
    expect_equal(box.ssh("node1", "hostname").stdout, "node1\n", "through the relay")
    expect(time.monotonic() - start > 1.0, "five round trips at least, of 0.4 s")


@case
def login_shells(box):
    node, seen = box.make_cluster(1)[1], []
    for shell, question in {"bash": "echo $BASH_VERSION", "dash": "echo $0", "ash": "help 2>&1 | head -1; echo $0", "fish": "echo $version",
                            "tcsh": "echo $tcsh"}.items():
        try:
            node.set_shell(shell)
        except Skip as reason:
            seen.append(str(reason))
            continue
        done = box.ssh("node1", question)
        expect(done.stdout.strip(), f"{shell} says nothing")
        expect_in(shell, box.ssh("node1", "readlink /proc/$$/exe; echo $SHELL" if shell not in ("fish",) else "echo $SHELL").stdout, "its shell")
    if seen:
        raise Skip("; ".join(seen))


@case
def rc_files_are_read(box):
    node = box.make_cluster(1)[1]
    for shell in ("bash", "fish", "tcsh"):
        try:
            node.set_shell(shell)
        except Skip:
            continue
        node.set_rc(f"echo Welcome to {shell}\n", shell)
        expect_equal(box.ssh("node1", "echo done").stdout, f"Welcome to {shell}\ndone\n", shell)


@case
def homes_that_take_no_files(box):
    node = box.make_cluster(1)[1]
    node.set_home("ro")
    expect_in("Read-only", box.ssh("node1", "touch ~/x", check=False).stderr, "ro")
    node.set_home("size=64k")
    node.fill()
    expect_in("No space left", box.ssh("node1", "echo x > ~/x", check=False).stderr, "full")
    node.set_home("noexec")
    expect_in("Permission denied", box.ssh("node1", "cp /bin/true ~/x && ~/x", check=False).stderr, "noexec")


@case
def the_end_of_the_lab_leaves_nothing(box):
    """What `up` starts has ended, links and mounts included, even if its outermost process is killed."""
    up = os.path.join(os.path.dirname(os.path.abspath(__file__)), "up")
    before = set(os.listdir("/sys/class/net"))
    environment = {**box.environment, "TMPDIR": box.make_folder("tmp")}
    done = subprocess.run([up, "2", "--", "sh", "-c", "ssh node2 hostname; exit 7"], capture_output=True, text=True, env=environment,
                          timeout=30, check=False)
    expect_equal((done.returncode, done.stdout), (7, "node2\n"), f"of the command {done.stderr}")
    expect_equal(os.listdir(box.path("tmp")), [], "files left")
    process = subprocess.Popen([up, "2"], stdout=subprocess.PIPE, env=environment)
    expect_in(b"up in", process.stdout.readline(), "what it says")
    inside = subprocess.run([up, "--enter", "--", "sh", "-c", "ssh node1 hostname"], capture_output=True, text=True, env=environment,
                            timeout=30, check=False)
    expect_equal(inside.stdout, "node1\n", f"--enter {inside.stderr}")
    subprocess.run([up, "--down"], check=True, env=environment, timeout=30)
    expect_equal(process.wait(10), 0, "exit code of up")
    process = subprocess.Popen([up, "2"], stdout=subprocess.PIPE, env=environment)
    process.stdout.readline()
    process.kill()
    process.wait()
    box.expect_nobody("after up was killed")
    expect_equal(set(os.listdir("/sys/class/net")), before, "network interfaces")
