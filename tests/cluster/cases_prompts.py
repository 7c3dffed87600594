"""ssh's questions appear on the terminal of dlaunch, one at a time."""

import os
import subprocess

from case import case
from expectations import expect, expect_equal, expect_in
from processes import wait_until

NODE_LOST = 69
PASSPHRASE = b"open sesame"


def locked_cluster(box, count):
    """The user's key has a passphrase, and ssh may ask for it."""
    cluster = box.make_cluster(count)
    key = os.path.join(cluster.folder, "ssh", "user_key")
    subprocess.run(["ssh-keygen", "-q", "-p", "-P", "", "-N", PASSPHRASE.decode(), "-f", key], check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL)
    # ssh_config(5): the first value found counts, and nodes come before "Host *".
    for name in cluster.names:
        cluster.configure(name, BatchMode="no")
    return cluster


def stranger(box):
    cluster = box.make_cluster(2)
    cluster.add_host("stranger2", HostName=cluster[2].address, HostKeyAlias="never-seen", BatchMode="no", StrictHostKeyChecking="ask")


def start(box, hosts=None):
    cluster = box.cluster
    return box.start_on_terminal("run", "--set", f"hosts=[{', '.join(hosts or cluster.names)}]", "--set", f"connect.ssh={cluster.ssh}", "--",
                                 "/bin/echo", "hello")


def asked(run, count, what=b"Enter passphrase"):
    def seen():
        run.read_screen(0.05)
        return run.screen.count(what) >= count
    wait_until(seen, f"question {count}", 20, 0.01)


def folders():
    return [name for name in os.listdir("/tmp") if name.startswith("dlaunch-ask-")]


@case(alone=True)  # it examines /tmp
def a_passphrase_is_asked_once_for_all_nodes_and_not_shown(box):
    locked_cluster(box, 3)
    before = folders()
    run = start(box)
    asked(run, 1)
    run.type(PASSPHRASE + b"\n")
    run.end(0, patience=40)
    expect_equal(run.screen.count(b"Enter passphrase"), 1, "questions")
    expect_equal(run.screen.count(b"| hello") + run.screen.count(b"|\x1b[0m hello"), 3, "ranks")
    expect(PASSPHRASE not in run.screen, "the passphrase is on the screen")
    expect_equal(folders(), before, "folders of sockets")
    for folder, _, names in os.walk(box.run_folder()):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                expect(PASSPHRASE not in file.read(), f"the passphrase is in {name}")


@case
def a_wrong_passphrase_is_asked_again(box):
    locked_cluster(box, 2)
    run = start(box)
    asked(run, 1)
    run.type(b"wrong\n")
    asked(run, 2)
    run.type(PASSPHRASE + b"\n")
    run.end(0, patience=40)
    expect_equal(run.screen.count(b"Enter passphrase"), 2, "questions")


@case
def an_unknown_host_key_is_asked_for(box):
    stranger(box)
    run = start(box, ["node1", "stranger2"])
    asked(run, 1, b"(yes/no")
    run.type(b"yes\n")
    run.end(0, patience=40)
    with open(os.path.join(box.cluster.folder, "ssh", "known_hosts"), encoding="ascii") as file:
        expect_in("never-seen", file.read(), "known hosts")


@case
def no_to_a_host_key_is_a_failure_of_that_host(box):
    stranger(box)
    run = start(box, ["node1", "stranger2"])
    asked(run, 1, b"(yes/no")
    run.type(b"no\n")
    run.end(NODE_LOST, patience=40)
    expect_in(b"stranger2: ssh: Host key verification failed.", run.screen, "the cause")


@case
def ctrl_c_at_a_question_ends_the_run_and_the_terminal_echoes_again(box):
    locked_cluster(box, 2)
    run = start(box)
    asked(run, 1)
    run.type(b"\x03")
    run.end(130, patience=20)


@case
def without_a_terminal_nothing_is_asked(box):
    locked_cluster(box, 2)
    run = box.launch("/bin/true").end(NODE_LOST, left=1000)
    expect_in("Permission denied", run.text, "the cause")
    expect(run.seconds < 10, f"{run.seconds:.1f} s")
