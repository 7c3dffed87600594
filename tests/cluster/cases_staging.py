"""How the binary comes to a node, whatever its home folder is like."""

import os
import time

import lab
from case import case
from cases_connect import CACHE, NODE_LOST, hello
from expectations import Skip, expect, expect_equal, expect_in


def staged(node, folder=None):
    """{path: inode} of the binaries in the cache of a node; other files too, so that a temporary one is seen."""
    found = {}
    for at, _, names in os.walk(folder or node.home(CACHE)):
        for name in names:
            found[os.path.relpath(os.path.join(at, name), folder or node.home(CACHE))] = os.stat(os.path.join(at, name)).st_ino
    return found


@case
def the_binary_is_staged_once(box):
    node = box.make_cluster(1)[1]
    hello(box)
    first = staged(node)
    expect_equal([os.path.basename(path) for path in first], ["dlaunch"], "files in the cache")
    path = node.home(CACHE, next(iter(first)))
    expect_equal(os.stat(path).st_mode & 0o777, 0o700, "its mode")
    with open(path, "rb") as there, open(box.dlaunch, "rb") as here:
        expect(there.read() == here.read(), "the staged file is another one")
    hello(box)
    expect_equal(staged(node), first, "after a second run")


@case
def a_build_that_is_used_again_is_not_an_old_one(box):
    """Its modification time is that of its last use, and staging another build removes files unused for 30 days."""
    node = box.make_cluster(1)[1]
    hello(box)
    path = node.home(CACHE, next(iter(staged(node))))
    long_ago = time.time() - 40 * 86400
    os.utime(path, (long_ago, long_ago))
    hello(box)
    expect(os.stat(path).st_mtime > long_ago + 86400, "its time is still the old one")


FROM_EACH_OTHER = 16  # nodes, from which on (launch/connect/program_relay.h)


def sent_by_launcher():
    with open("/sys/class/net/eth0/statistics/tx_bytes", encoding="ascii") as file:
        return int(file.read())


def expect_staged_everywhere(box):
    for node in box.cluster.nodes:
        paths = staged(node)
        expect_equal([os.path.basename(path) for path in paths], ["dlaunch"], f"files in the cache of {node.name}")
        with open(node.home(CACHE, next(iter(paths))), "rb") as there, open(box.dlaunch, "rb") as here:
            expect(there.read() == here.read(), f"the staged file on {node.name} is another one")


@case
def many_fresh_nodes_get_it_from_each_other(box):
    cluster, size = box.make_cluster(FROM_EACH_OTHER), os.path.getsize(box.dlaunch)
    watch, before = cluster.watch(), sent_by_launcher()
    box.launch("/bin/true").end(0, patience=60, left=1000)
    copies = (sent_by_launcher() - before) / size
    watch.stop()
    expect_staged_everywhere(box)
    expect(copies < 4, f"{copies:.1f} copies have left the launcher")
    doors = {one.address.rsplit(":", 1)[0] for one in watch.listeners if one.kind == "tcp" and one.program.endswith("/dlaunch")}
    own = {node.address for node in cluster.nodes}
    expect(doors <= own, f"dlaunch has listened at {doors - own}")
    ours = [one for one in cluster.listeners() if one.kind == "tcp" and one.program.endswith("/dlaunch")]
    expect(not ours, f"still listening: {ours}")


@case(long=True)
def nodes_that_cannot_reach_each_other_get_it_from_the_launcher(box):
    cluster = box.make_cluster(FROM_EACH_OTHER)
    for node in cluster.nodes:  # also without an answer: some drop what they do not want
        refusal = ["DROP"] if node.number % 2 else ["REJECT", "--reject-with", "tcp-reset"]
        node._iptables("-A", "INPUT", "-i", "eth0", "!", "-s", cluster.launcher_address, "-p", "tcp", "-j", *refusal)
    begin = time.monotonic()
    box.launch("/bin/true", options=["--set", "framework=none"]).end(0, patience=60, left=1000)
    expect(time.monotonic() - begin < 40, "it has taken too long")
    expect_staged_everywhere(box)


@case
def many_nodes_with_one_home_get_it(box):
    """It comes to the folder of all of them while most are told to get it from another node."""
    cluster, home = box.make_cluster(FROM_EACH_OTHER), box.make_folder("home")
    os.chmod(home, 0o700)
    for node in cluster.nodes:
        node.sh(f"umount -l /run/home; mount --bind {home} /run/home")
    box.launch("/bin/true").end(0, patience=60, left=1000)
    expect_equal([os.path.basename(path) for path in staged(cluster[1], os.path.join(home, CACHE))], ["dlaunch"], "files in the cache")


@case
def many_launches_at_once_stage_one_binary(box):
    cluster = box.make_cluster(2)
    runs = [box.launch("/bin/true") for _ in range(4)]
    for run in runs:
        run.end(0, patience=40, left=1000)
    for node in cluster.nodes:
        expect_equal([os.path.basename(path) for path in staged(node)], ["dlaunch"], f"files in the cache of {node.name}")


def truncated(path, size):
    os.truncate(path, size if size >= 0 else os.path.getsize(path) + size)


def zero_filled(path, size):
    """The last bytes of the file, or all of it."""
    with open(path, "r+b") as file:
        file.seek(-size if size else 0, os.SEEK_END if size else os.SEEK_SET)
        file.write(bytes(size or os.path.getsize(path)))


def replaced(path, data):
    """Under a new name: a running program cannot be written to."""
    with open(path + ".other", "wb") as file:
        file.write(data)
    os.chmod(path + ".other", 0o700)
    os.rename(path + ".other", path)


def for_another_processor(path):
    """e_machine of elf(5), two bytes at 18: EM_AARCH64 is 183."""
    with open(path, "r+b") as file:
        file.seek(18)
        file.write((183).to_bytes(2, "little"))


def program(name):
    with open(lab.find(name), "rb") as file:
        return file.read()


DAMAGE = {
    "empty": lambda path: truncated(path, 0),
    "its beginning only": lambda path: truncated(path, 1000),
    "half of it": lambda path: truncated(path, os.path.getsize(path) // 2),
    "a byte too few": lambda path: truncated(path, -1),
    "zeros at the end": lambda path: zero_filled(path, 1 << 16),
    "nothing but zeros": lambda path: zero_filled(path, 0),
    "not executable": lambda path: os.chmod(path, 0o600),
    "of another processor": for_another_processor,
    "another program": lambda path: replaced(path, program("true")),
    "a script that ends well": lambda path: replaced(path, b"#!/bin/sh\nexit 0\n"),
    "a program that kills itself": lambda path: replaced(path, b"#!/bin/sh\nkill -BUS $$\n"),
}


@case
def a_damaged_binary_in_the_cache_is_repaired(box):
    """Its remains after a crash of the node or on a full disk; a run that finds them starts as if nothing were there."""
    node = box.make_cluster(1)[1]
    hello(box)
    files = list(staged(node))
    path = node.home(CACHE, files[0])
    with open(box.dlaunch, "rb") as file:
        whole = file.read()
    for what, damage in DAMAGE.items():
        damage(path)
        expect_in(b"hello from node1", hello(box).out, what)
        with open(path, "rb") as file:
            expect(file.read() == whole, f"{what}: it is not repaired")
        expect_equal(os.stat(path).st_mode & 0o777, 0o700, f"{what}: its mode")
        expect_equal(list(staged(node)), files, f"{what}: files in the cache")


@case
def a_binary_that_something_else_keeps_from_running_stays_and_is_told_of(box):
    """The copy is intact: other runs may use it, and another copy would fail in the same way."""
    node = box.make_cluster(1)[1]
    hello(box)
    before = staged(node)
    node.set_rc("ulimit -v 5000\n")  # enough for a shell
    run = hello(box, code=NODE_LOST)
    expect_in("no folder there can hold the program", run.words, "what happened")
    expect_in("cannot be executed", run.words, "what happened")
    expect_equal(staged(node), before, "files in the cache")


@case
def a_crash_after_staging_leaves_a_whole_binary(box):
    """The node's disk as it is at that moment: a rename reaches it before the data does, unless a process waits for the data."""
    node = box.make_cluster(1)[1]
    size = (os.path.getsize(box.dlaunch) >> 20) + 40
    image, then = node.path("/run/disk"), node.path("/run/then")
    node.sh(f"truncate -s {size}M /run/disk && mkfs.ext4 -q -F /run/disk && mkdir /run/crashed")
    options = "data=writeback,noauto_da_alloc,commit=300"
    if node.sh(f"mount -o loop,{options} /run/disk /run/home && echo mounted", check=False) != "mounted\n":
        raise Skip("no loop device to be had here")
    try:
        node.sh("chmod 700 /run/home && sync -f /run/home")
        hello(box)
        path = next(iter(staged(node)))
        # The journal is written with another file; our file's data is not, unless it was written before.
        node.sh("echo > /run/home/other && sync /run/home/other")
        node.sh("dd if=$(losetup -nO NAME -j /run/disk) of=/run/then bs=1M iflag=direct status=none && mount -o loop /run/then /run/crashed")
        with open(node.path(f"/run/crashed/{CACHE}/{path}"), "rb") as there, open(box.dlaunch, "rb") as here:
            expect(there.read() == here.read(), "what is on the disk is not the whole binary")
    finally:
        node.sh("umount /run/crashed; umount /run/home; rm -f /run/disk /run/then", check=False)


def with_home(box, options, fill=False):
    node = box.make_cluster(2)[2]
    node.set_home(options)
    if fill:
        node.fill()
    run = hello(box)
    expect_in(b"hello from node2", run.out, "the rank there")


@case
def a_read_only_home(box):
    with_home(box, "ro")


@case
def a_full_home(box):
    with_home(box, "size=64k", fill=True)


@case
def a_home_without_room_for_the_binary(box):
    with_home(box, "size=1m")


@case
def a_noexec_home(box):
    with_home(box, "noexec")


@case
def a_missing_home(box):
    node = box.make_cluster(2)[2]
    node.sh("umount -l /run/home; rmdir /run/home")
    run = hello(box)
    expect_in(b"hello from node2", run.out, "the rank there")


@case
def no_folder_for_the_binary_at_all_is_said(box):
    node = box.make_cluster(2)[2]
    node.set_home("noexec")
    node.forbid_execution("/tmp", "/var/tmp", "/dev/shm")
    run = hello(box, code=NODE_LOST)
    expect_in("node2", run.text, "where")
    expect("noexec" in run.text or "execut" in run.text or "Permission denied" in run.text, f"the cause\n{run.report()}")
