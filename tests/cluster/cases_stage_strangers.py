"""What others may do to a staging: at the ports on which nodes wait for each other, and in folders that several users share."""

import os
import signal
import socket
import struct
import subprocess
import sys
import threading

from case import case
from cases_reach import block
from cases_stage import BLOCK, FROM, NOT_COPIED, TO, V4_ONLY, expect_staged, launch, part_on, sources, tree, write
from expectations import expect, expect_equal, expect_in, pseudo_random_bytes
from processes import wait_until

GREETING = 32 + 24 + 4 + 8 + 17  # bytes: ticket, header, length, position, tag and MAC (node/stage/stage_door.h)
ETH_P_ALL = 3
FLOOD = 1000
MOST_GUESTS = 64

# Keeps this many connections to a port under way until it is ended; each says one of these things, or nothing. Says what it heard.
ATTACK = """
import random, resource, select, signal, socket, sys
address, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
words = [bytes.fromhex(word) for word in sys.argv[4:]]
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 3 * count), hard))
heard, made, alive = 0, 0, {}
poll = select.poll()
def end(*_):
    print(made, heard, flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
while True:
    while len(alive) < count:
        one = socket.socket()
        one.setblocking(False)
        one.connect_ex((address, port))
        alive[one.fileno()] = one
        poll.register(one, select.POLLOUT)
        made += 1
        if made == count:
            print('flooded', flush=True)
    for fd, event in poll.poll(20):
        try:
            if event & (select.POLLERR | select.POLLHUP):
                raise OSError
            if event & select.POLLOUT:
                alive[fd].send(random.choice(words))
                poll.modify(fd, select.POLLIN)
            elif event & select.POLLIN:
                said = alive[fd].recv(100)
                heard += len(said)
                if not said:
                    raise OSError
        except OSError:
            poll.unregister(fd)
            alive.pop(fd).close()
"""


class Sniffer:
    """Collects what was sent over a cable in pieces of the size of a greeting."""

    def __init__(self, link):
        self.found = []
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self._socket.bind((link, ETH_P_ALL))
        self._socket.settimeout(0.2)
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self):
        while not self._enough.is_set():
            try:
                frame = self._socket.recv(65536)
            except TimeoutError:
                continue
            if len(frame) < 54 or frame[12:14] != b"\x08\x00" or frame[23] != 6:
                continue
            at = 14 + (frame[14] & 15) * 4  # of TCP's header
            end = 14 + struct.unpack("!H", frame[16:18])[0]
            said = frame[at + (frame[at + 12] >> 4) * 4:end]
            if len(said) == GREETING:
                self.found.append(said)

    def stop(self):
        self._enough.set()
        self._thread.join()
        self._socket.close()
        return self.found


def doors(cluster):
    """{(node, address)} at which dlaunch listens now."""
    return {(one.node, one.address) for one in cluster.listeners() if one.kind == "tcp" and one.program.endswith("/dlaunch")}


def hold_apart(node, peer):
    """The node's connections to its peer do not get through, except those of ssh. Undone by drop_nothing()."""
    node._iptables("-A", "OUTPUT", "-d", peer.address, "-p", "tcp", "--dport", "1024:65535", "-j", "DROP")


@case
def it_listens_at_the_addresses_that_are_needed_and_at_no_other(box):
    """The node that comes next does not get through, so its door stays open."""
    cluster = box.make_cluster(3)
    box.launch("/bin/true").end(0)
    block(cluster[1], cluster[2].address)
    run = launch(box, tree(), *V4_ONLY)
    wait_until(lambda: doors(cluster), "an open door", 20, 0.005)
    watch = cluster.watch()
    run.end(0, patience=60)
    watch.stop()
    expect_staged(box, cluster.nodes)
    seen = {(one.node, one.address.rsplit(":", 1)[0]) for one in watch.listeners if one.kind == "tcp" and one.program.endswith("/dlaunch")}
    allowed = {(node.name, node.address) for node in cluster.nodes[:2]}  # nobody comes to the last one, or to the launcher
    expect(("node1", cluster[1].address) in seen and seen <= allowed, f"dlaunch has listened at {sorted(seen)}")


@case(budget=120)
def a_port_that_is_attacked_while_a_node_connects(box):
    """By another machine: with garbage, without a word, with a greeting that was heard in an earlier staging, and by all of these at once."""
    cluster = box.make_cluster(3)
    sniffer = Sniffer("v2")
    launch(box, tree(), *V4_ONLY, hosts=["node1", "node2"]).end(0)
    heard = sniffer.stop()
    expect_equal(len(heard), 1, "greetings that were heard")
    write(f"{FROM}/large", pseudo_random_bytes(30 * BLOCK, 5))
    hold_apart(cluster[2], cluster[1])
    run = launch(box, f"[{{from: {FROM}/large, to: {TO}/more/large}}]", *V4_ONLY, hosts=["node1", "node2"])
    wait_until(lambda: doors(cluster), "an open door", 20, 0.005)
    (where,) = doors(cluster)
    agent = box.people(cluster[1])[1]
    before, size = len(os.listdir(f"/proc/{agent}/fd")), resident(agent)
    words = [heard[0].hex(), "00" * 1000, b"GET / HTTP/1.1\r\n\r\n".hex(), b"half".hex(), heard[0][:40].hex()]
    attack = subprocess.Popen(["ip", "netns", "exec", "node3", sys.executable, "-c", ATTACK, *where[1].rsplit(":", 1), str(FLOOD), *words],
                              stdout=subprocess.PIPE, text=True)
    try:
        expect_equal(attack.stdout.readline(), "flooded\n", "the attack")
        most = max(len(os.listdir(f"/proc/{agent}/fd")) for _ in range(20))
        grown = resident(agent) - size
        cluster[2].drop_nothing()
        run.end(0, patience=60, left=1000)
    finally:
        attack.terminate()
        made, answered = attack.stdout.read().split()
        attack.wait()
    expect(most <= before + MOST_GUESTS + 1, f"{most} descriptors of the agent, {before} before")
    expect(grown < 4 << 20, f"the agent has grown by {grown} bytes")
    expect(int(made) >= FLOOD and answered == "0", f"{answered} bytes were said to strangers on {made} connections")
    for node in cluster.nodes[:2]:
        with open(node.path(f"{TO}/more/large"), "rb") as file, open(f"{FROM}/large", "rb") as own:
            expect(file.read() == own.read(), f"the file on {node.name}")
    expect_equal(sources(box), {1: None, 2: "node1"}, "who fed whom")


def resident(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


SHARED = "/var/tmp/shared"


def as_trainer(box, stage, *options, **more):
    """By a user who is not root on the node."""
    hosts = f"hosts: [{{name: node1, user: trainer}}]\nconnect: {{ssh: {box.cluster.ssh}}}\n"
    box.write("job.yaml", f"command: /bin/true\nworkdir: /\nstage: {stage}\n{hosts}")
    return box.start("run", "job.yaml", *options, **more)


@case
def a_folder_of_another_user(box):
    cluster = box.make_cluster(1)
    node, stage = cluster[1], tree().replace(TO, SHARED)
    node.sh(f"mkdir -m 755 -p {SHARED}/corpus && echo precious > {SHARED}/corpus/a.txt")
    run = as_trainer(box, stage).end(NOT_COPIED)
    expect_in(f"node1: {SHARED}", run.text, "where")
    expect_in("Permission denied", run.text, "why")
    expect_equal(node.sh(f"cd {SHARED} && cat corpus/a.txt && find . -type f"), "precious\n./corpus/a.txt\n", "what is there")
    node.sh(f"rm -r {SHARED} && mkdir -m 1777 {SHARED}")
    as_trainer(box, stage).end(0)
    expect_equal(node.sh(f"stat -c %u {SHARED}/corpus/a.txt {SHARED}/w.bin"), "2000\n2000\n", "whose files they are")
    before = node.sh(f"cat {SHARED}/w.bin | md5sum")
    with open(f"{FROM}/weights.bin", "r+b") as file:
        file.write(b"changed")
    node.sh(f"chown 2001 {SHARED}/w.bin")  # a third user's, whom only the sticky bit protects
    run = as_trainer(box, stage).end(NOT_COPIED)
    expect_in(f"node1: {SHARED}", run.text, "where")
    expect_in("Operation not permitted", run.text, "why")
    expect_equal(node.sh(f"cat {SHARED}/w.bin | md5sum"), before, "the file")


@case
def a_part_of_another_user(box):
    """In a folder where everybody may write, another user has begun the same staging: nothing is written to that user's file, whatever its mode."""
    cluster = box.make_cluster(1)
    node = cluster[1]
    box.launch("/bin/true").end(0)
    write(f"{FROM}/large", pseudo_random_bytes(1 << 20, 1) * 10)
    stage = f"[{{from: {FROM}/large, to: {SHARED}/large}}]"
    node.sh(f"mkdir -m 1777 -p {SHARED}")
    node.slow_link("20mbit")
    run = launch(box, stage, "--set", "framework=none")
    wait_until(lambda: part_on(node, SHARED) > 8 * BLOCK, "the first blocks", 30, 0.01)
    run.signal(signal.SIGINT)
    run.end(130, patience=30)
    node.fast_link()
    (part,) = node.sh(f"ls -A {SHARED}").split()
    expect(part.startswith(".dlaunch-stage-"), part)
    node.sh(f"chmod 666 {SHARED}/{part}")
    before = node.sh(f"md5sum {SHARED}/{part}")
    run = as_trainer(box, stage).end(NOT_COPIED)
    expect_in(f"node1: {SHARED}/large", run.text, "where")
    expect_equal(node.sh(f"md5sum {SHARED}/{part}; ls -A {SHARED}"), f"{before}{part}\n", "the other user's part")
    launch(box, stage, "--set", "framework=none").end(0)  # its owner goes on
    expect_equal(node.sh(f"ls -A {SHARED}"), "large\n", "what is there")
