"""How an agent is started on a node, and the errors when that fails."""

import json
import os
import resource
import signal

import lab
from case import case
from expectations import expect, expect_equal, expect_in
from processes import children_of, program_of, wait_until

NODE_LOST = 69
CACHE = ".cache/dlaunch"


def hello(box, hosts=None, code=0, **more):
    """When the connection to one node fails, sessions on the others may need a moment to end; the sandbox waits for that."""
    run = box.launch("/bin/sh", "-c", "echo hello from $(hostname)", hosts=hosts, **more)
    return run.end(code, left=1000 if code else 0)


def end_shells(box):
    """When the connection is closed, sshd does not end what an rc file has started, and neither can dlaunch."""
    for node in box.cluster.nodes:
        for pid in node.processes(sessions=False):
            if os.path.basename(program_of(pid)) in ("bash", "sleep"):
                os.kill(pid, signal.SIGKILL)


# --- other ways than ssh

@case
def a_command_of_the_users_own_is_the_way_and_the_way_back(box):
    cluster = box.make_cluster(2)
    command = [lab.find("ssh"), "-F", f"{cluster.folder}/ssh/config", "{host}"]
    script = "echo ready $RANK > $EVENTS; until [ -e $CASE/enough ]; do sleep 0.01; done; echo $RANK on $(hostname)"
    run = box.start("run", "--set", f"hosts=[{', '.join(cluster.names)}]", "--set", "connect.via=command",
                    "--set", f"connect.command={json.dumps(command)}", "--set", "env_pass=[EVENTS, CASE]", "--", "/bin/sh", "-c", script)
    box.expect_all("ready", 2)
    expect(cluster[2].kill_sessions() > 0, "no session")
    box.write("enough", "")
    run.end(0)
    for rank in (0, 1):
        expect_equal(box.rank_output(rank), f"{rank} on node{rank + 1}\n".encode(), f"rank {rank}")


@case
def the_limit_of_open_files_is_raised_for_the_launcher_alone(box):
    """A connection has three."""
    cluster = box.make_cluster(2)
    line = f'ulimit -n > {box.path("limit")}; exec {lab.find("ssh")} -F {cluster.folder}/ssh/config "$@"'
    run = box.start("run", "--set", f"hosts=[{', '.join(cluster.names)}]", "--set", "connect.via=command",
                    "--set", f"connect.command={json.dumps(['/bin/sh', '-c', line, 'sh', '{host}'])}", "--set", "env_pass=[EVENTS, CASE]",
                    "--", "/bin/sh", "-c", "echo ready $RANK > $EVENTS; until [ -e $CASE/enough ]; do sleep 0.01; done",
                    before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 512)))
    box.expect_all("ready", 2)
    with open(f"/proc/{children_of(run.pid)[0]}/limits", encoding="ascii") as limits:
        expect_in("Max open files 512 512", " ".join(limits.read().split()), "the launcher's")
    expect_equal(box.read("limit"), b"64\n", "that of what it starts")
    box.write("enough", "")
    run.end(0)


@case
def namespaces_of_this_machine_by_a_command(box):
    """Each has its own network, but everything else is this machine's, as with containers that share it."""
    cluster = box.make_cluster(2)
    run = box.start("run", "--set", f"hosts=[{', '.join(cluster.names)}]", "--set", "connect.via=command",
                    "--set", f"connect.command={json.dumps([lab.find('ip'), 'netns', 'exec', '{host}', '/bin/sh', '-c'])}",
                    "--", "/bin/sh", "-c", "ip -br -4 addr show eth0").end(0)
    for rank in (0, 1):
        expect_in(cluster[rank + 1].address.encode(), box.rank_output(rank), f"rank {rank}\n{run.report()}")


# --- identity of machines

@case
def a_node_with_another_processor_is_refused(box):
    cluster = box.make_cluster(2)
    node = cluster[2]
    node.sh("mkdir -p /run/home/bin && printf '#!/bin/sh\\necho aarch64\\n' > /run/home/bin/uname && chmod 755 /run/home/bin/uname")
    node.set_rc("PATH=/run/home/bin:$PATH\n")
    run = hello(box, code=NODE_LOST)
    expect_in("its processor is aarch64, but this dlaunch is for", run.text.replace("\n         ", " "), "the error")
    expect_in("node2", run.text, "whose it is")
    expect(not os.path.exists(node.home(CACHE)), "something was put there")


@case
def one_machine_under_two_names_is_refused(box):
    cluster = box.make_cluster(2)
    cluster.add_host("alias", HostName=cluster[1].address, HostKeyAlias="node1")
    run = hello(box, hosts=["node1", "node2", "alias"], code=65)
    expect_in('the hosts "node1" and "alias" are one machine, whose host name is node1', run.text, "the error")
    expect_equal(run.out, b"", "what ranks have said")


# --- shells

def with_shell(box, shell, rc=None):
    node = box.make_cluster(2)[2]
    node.set_shell(shell)
    if rc:
        node.set_rc(rc, shell)
    run = hello(box)
    expect_in(b"hello from node2", run.out, shell)
    expect(b"Welcome" not in run.out, "the shell's words are taken for the rank's")
    expect_in(b"hello from node2", hello(box).out, "a second time")


@case
def dash(box):
    with_shell(box, "dash")


@case
def busybox_sh(box):
    with_shell(box, "ash")


@case
def fish_with_a_noisy_config(box):
    with_shell(box, "fish", "echo Welcome; echo Welcome again >&2\n")


@case
def tcsh_with_a_noisy_rc_file(box):
    with_shell(box, "tcsh", "echo Welcome\n")


@case
def bash_with_a_noisy_rc_file(box):
    with_shell(box, "bash", "printf 'Welcome\\n%.0s' $(seq 300); printf 'Welcome, without an end of line'; echo Welcome >&2\n")


@case
def a_slow_rc_file_delays_only_its_node(box):
    cluster = box.make_cluster(2)
    cluster[2].set_rc("sleep 2\n")
    run = hello(box)
    expect_in(b"hello from node2", run.out, "the rank there")


@case
def an_rc_file_that_never_ends_is_named_when_the_time_is_over(box):
    cluster = box.make_cluster(2)
    cluster[2].set_rc("sleep 1000\n")
    run = hello(box, code=NODE_LOST, options=["--set", "timeouts.connect=3s"])
    expect_in("node2", run.text, "where")
    expect(run.seconds < 8, f"{run.seconds:.1f} s")
    end_shells(box)


@case
def an_rc_file_that_ends_the_shell(box):
    cluster = box.make_cluster(2)
    cluster[2].set_rc("echo 'this account is closed'; exit 5\n")
    run = hello(box, code=NODE_LOST)
    expect_in("node2", run.text, "where")
    expect_in("this account is closed", run.text, "what the shell said")


@case
def an_rc_file_that_takes_the_connection_from_stdin_is_named(box):
    cluster = box.make_cluster(2)
    for staged_before in (False, True):
        for redirection in ("exec </dev/null", "exec <&-"):
            cluster[2].set_rc(redirection + "\n")
            run = hello(box, code=NODE_LOST)
            expect_in("node2: its stdin is", run.words, f"{redirection}: where")
            expect_in("an rc file of the login shell there (exec </dev/null)", run.words, f"{redirection}: what it is")
            expect(run.seconds < 10, f"{run.seconds:.1f} s")
        if not staged_before:
            cluster[2].set_rc("")
            hello(box)


@case
def a_forced_command_is_told_of_and_what_to_type(box):
    cluster = box.make_cluster(2)
    cluster[2].start_sshd(ForceCommand="/bin/true")
    run = hello(box, code=NODE_LOST)
    expect_in("ended with code 0 and no message: the command for the node was not run", run.words, "what happened")
    expect_in(f"try: {cluster.ssh} -- node2 echo hello", run.words, "what to type")
    expect_equal(box.ssh("node2", "echo hello").stdout, "", "what one sees who types it")


@case
def an_rc_file_that_prints_for_ever(box):
    cluster = box.make_cluster(2)
    cluster[2].set_rc("yes Welcome\n")
    run = hello(box, code=NODE_LOST, options=["--set", "timeouts.connect=10s"])
    expect_in("node2", run.text, "where")


@case
def nologin_is_told_in_its_words(box):
    node = box.make_cluster(2)[2]
    node._write_accounts("/usr/sbin/nologin")
    run = hello(box, code=NODE_LOST)
    expect_in("not available", run.text, "what nologin says")


# --- hosts that cannot be reached

BAD = {"refused": "Connection refused", "nowhere": "Could not resolve hostname", "stranger": "Host key verification failed",
       "wrongkey": "Permission denied", "impostor": "Host key verification failed"}


def line_of(run, host):
    lines = [line for line in run.text.splitlines() if host in line]
    expect(lines, f"no line names {host}\n{run.report()}")
    return lines[0]


@case
def each_host_that_cannot_be_reached_has_a_line_with_sshs_own_words(box):
    box.make_cluster(2)
    run = hello(box, hosts=["node1", *BAD, "node2"], code=NODE_LOST)
    for host, words in BAD.items():
        lines = [line for line in run.text.splitlines() if host in line]
        expect(any(words.lower() in line.lower() for line in lines), f"{host}: no line with {words!r}\n{run.report()}")
        expect(len(lines) <= 2, f"{host}: {len(lines)} lines\n{run.report()}")
    expect(run.seconds < 8, f"{run.seconds:.1f} s")
    expect(b"hello" not in run.out, "ranks were started")


@case
def a_host_that_never_answers_costs_the_connect_time_and_no_more(box):
    cluster = box.make_cluster(3)
    cluster[2].drop("in")
    run = hello(box, hosts=["node1", "node2", "refused"], code=NODE_LOST, options=["--set", "timeouts.connect=3s"])
    expect_in("node2", run.text, "who")
    expect_in("refused", run.text, "the other one")
    expect(1.5 < run.seconds < 7, f"{run.seconds:.1f} s")


@case
def a_node_that_hangs_while_it_is_connected_to(box):
    cluster = box.make_cluster(2)
    cluster[2].hang()
    run = hello(box, code=NODE_LOST, options=["--set", "timeouts.connect=3s"])
    expect_in("node2", run.text, "who")
    expect(run.seconds < 7, f"{run.seconds:.1f} s")
    cluster[2].go_on()


@case
def an_ssh_program_that_is_missing(box):
    box.make_cluster(1)
    run = box.start("run", "--set", "hosts=[node1]", "--set", "connect.ssh=/nowhere/ssh", "--", "/bin/true").end(NODE_LOST)
    expect_in("/nowhere/ssh", run.text, "which")


@case
def refusals_of_max_startups_are_tried_again(box):
    """By a bastion, through which all nodes are reached."""
    cluster = box.make_cluster(6)
    cluster[1].start_sshd(MaxStartups="1")
    hosts = cluster.names[1:]
    for host in hosts:
        cluster.configure(host, ProxyJump="node1")
    run = hello(box, hosts=hosts)
    for host in hosts:
        expect_in(f"hello from {host}".encode(), run.out, "ranks")


def stage_what_is_huge(box):
    """A build with sanitizers has 20 times the size of a real one: too large for a slow link."""
    if os.path.getsize(box.dlaunch) > 32 << 20:
        hello(box)


@case
def a_delayed_connection(box):
    cluster = box.make_cluster(2)
    stage_what_is_huge(box)
    cluster.delay("node2", 0.15)
    expect_in(b"hello from node2", hello(box).out, "the rank there")


@case
def a_slow_link(box):
    cluster = box.make_cluster(2)
    stage_what_is_huge(box)
    cluster[2].slow_link("20mbit")
    run = box.launch("/bin/sh", "-c", "echo hello from $(hostname)").end(0, patience=40)
    expect_in(b"hello from node2", run.out, "the rank there")


@case
def ctrl_c_while_connecting(box):
    cluster = box.make_cluster(2)
    cluster[2].set_rc("sleep 1000\n")
    run = box.launch("/bin/true")
    wait_until(lambda: cluster[2].processes(sessions=False), "the shell on node2 sleeps", 10, 0.01)
    run.signal(signal.SIGINT)
    run.end(130, patience=10, left=1000)
    end_shells(box)
