"""`unpack` of `stage`: archives are unpacked on the nodes while they arrive, and take the place of their folder as a whole."""

import io
import os
import signal
import stat
import subprocess
import tarfile
import zipfile

from case import case
from cases_stage import BLOCK, FROM, JOB_FILE, NOT_COPIED, TO, launch, staged, write
from cases_sync import picture
from expectations import expect, expect_equal, expect_in, pseudo_random_bytes
from processes import command_of, wait_until

DATA = f"{TO}/data"


def content():
    """A folder with some of everything that an archive may hold."""
    write(f"{FROM}/content/a.txt", b"some text\n", 0o755)
    write(f"{FROM}/content/deep/er/large", pseudo_random_bytes(5 * BLOCK + 17, 1), 0o640)
    write(f"{FROM}/content/empty", b"")
    write(f"{FROM}/content/.git/config", b"[core]\n")
    write(f"{FROM}/content/\u00fcml\u00e4ut", "n\u00e4me".encode())
    os.makedirs(f"{FROM}/content/read-only", mode=0o700)
    write(f"{FROM}/content/read-only/x", b"x")
    os.chmod(f"{FROM}/content/read-only", 0o555)
    os.symlink("/mnt/somewhere", f"{FROM}/content/link")


def packed(kind, folder=None):
    """Packs the folder, with times in whole seconds; returns the archive."""
    folder = folder or f"{FROM}/content"
    for path, _, names in os.walk(folder):
        for name in names:
            os.utime(os.path.join(path, name), (10**9, 10**9), follow_symlinks=False)
    path = f"{FROM}/data.{kind}"
    if kind == "zip":
        subprocess.run(["zip", "-qry", path, "."], cwd=folder, check=True)
    else:
        subprocess.run(["tar", "-C", folder, "--auto-compress", "-cf", path, "."], check=True)
    return path


def line(archive, to=DATA):
    return f"[{{from: {archive}, to: {to}, unpack: true}}]"


def expect_unpacked(nodes, folder=None, but=()):
    """The content is on these nodes, and beside it only the record."""
    for node in nodes:
        expect_equal(picture(node.path(DATA)), picture(folder or f"{FROM}/content"), f"the folder on {node.name}")
        beside = sorted(os.listdir(node.path(TO)))
        expect_equal(beside, [".dlaunch-unpacked-data", "data", *but], f"beside it on {node.name}")
        record = os.stat(node.path(f"{TO}/.dlaunch-unpacked-data"))
        expect_equal(stat.S_IMODE(record.st_mode), 0o600, "the record's mode")


def expect_nothing(nodes):
    for node in nodes:
        there = os.listdir(node.path(TO)) if os.path.isdir(node.path(TO)) else []
        expect_equal([name for name in there if not name.startswith(".dlaunch-archive-")], [], f"on {node.name}")


@case
def of_each_kind_is_there_as_it_was_packed(box):
    cluster = box.make_cluster(3)
    content()
    for kind in ("tar", "tar.gz", "tar.xz", "tar.zst", "tar.bz2", "zip"):
        archive = packed(kind)
        launch(box, line(archive)).end(0)
        expect_unpacked(cluster.nodes)
        size = os.path.getsize(archive)
        expect_equal({node: (event["bytes"], event["from_launcher"]) for node, event in staged(box).items()},
                     {1: (size, size), 2: (size, 0), 3: (size, 0)}, f"bytes of {kind}, and of them from the launcher")


@case
def one_that_has_not_changed_is_not_sent(box):
    cluster = box.make_cluster(2)
    content()
    archive = packed("tar.zst")
    launch(box, line(archive)).end(0)
    inodes = [os.stat(node.path(DATA)).st_ino for node in cluster.nodes]
    launch(box, line(archive)).end(0)
    expect_equal([event["bytes"] for event in staged(box).values()], [0, 0], "sent again")
    expect_equal([os.stat(node.path(DATA)).st_ino for node in cluster.nodes], inodes, "the folders")
    cluster[2].sh(f"rm -r {DATA}")
    launch(box, line(archive)).end(0)
    size = os.path.getsize(archive)
    expect_equal([event["bytes"] for event in staged(box).values()], [0, size], "where the folder was removed")
    expect_unpacked(cluster.nodes)


@case
def one_that_has_changed_replaces_all_of_the_old_one(box):
    cluster = box.make_cluster(2)
    content()
    launch(box, line(packed("tar.gz"))).end(0)
    write(cluster[1].path(f"{DATA}/of-a-rank"), b"written there")
    write(f"{FROM}/new/b", b"b")
    archive = packed("tar.gz", f"{FROM}/new")
    launch(box, line(archive)).end(0)
    expect_unpacked(cluster.nodes, f"{FROM}/new")


@case
def a_node_that_has_it_passes_it_on(box):
    """It is asked for another file, and so it gets the blocks that the others lack: here half of the archive."""
    cluster = box.make_cluster(2)
    content()
    write(f"{FROM}/content/large", pseudo_random_bytes(64 * BLOCK, 3))
    archive = packed("tar")
    write(f"{FROM}/other", b"1")
    both = line(archive)[:-1] + f", {{from: {FROM}/other, to: {TO}/other}}]"
    launch(box, both).end(0)
    cluster[2].sh(f"rm -r {DATA}")
    with open(archive, "rb") as file:
        write(cluster[2].path(f"{TO}/.dlaunch-archive-data"), file.read(30 * BLOCK))
    write(f"{FROM}/other", b"22")
    launch(box, both).end(0)
    expect_unpacked(cluster.nodes, but=["other"])
    size = os.path.getsize(archive)
    expect(size // 3 < staged(box)[2]["bytes"] < size * 2 // 3, f"{staged(box)} of {size}")
    expect_equal(staged(box)[2].get("source"), "node1", "who fed it")


def tar_of(*members):
    """An archive of (name, type, link or content)."""
    path = f"{FROM}/trick.tar"
    os.makedirs(FROM, exist_ok=True)
    with tarfile.open(path, "w") as tar:
        for name, kind, value in members:
            info = tarfile.TarInfo(name)
            info.type = kind
            info.mode = 0o4755 if kind == tarfile.REGTYPE else 0o755
            if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
                info.linkname = value
                tar.addfile(info)
            else:
                info.size = len(value)
                tar.addfile(info, io.BytesIO(value))
    return path


FILE, FOLDER, LINK, HARD = tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE


@case
def what_would_be_written_elsewhere_refuses_the_archive(box):
    cluster = box.make_cluster(1)
    node = cluster[1]
    node.sh(f"mkdir -p {TO}/beside && echo precious > {TO}/beside/x")
    before = picture(node.path(f"{TO}/beside"))
    good = ("good", FILE, b"x")
    for members, text in [
            ([good, ("/run/local/beside/x", FILE, b"evil")], "its member /run/local/beside/x leads out of the folder"),
            ([good, ("a/../../beside/x", FILE, b"evil")], "its member a/../../beside/x leads out of the folder"),
            ([good, ("l", LINK, "../beside"), ("l/x", FILE, b"evil")], "its member l/x leads through a link or a file"),
            ([good, ("l", LINK, f"{TO}/beside/x"), ("l", FOLDER, b""), ("l/y", FILE, b"evil")], "its member l/ leads through a link or a file"),
            ([good, ("h", HARD, "../beside/x")], "its member h links to ../beside/x, which is outside the folder"),
            ([good, ("h", HARD, f"{TO}/beside/x")], f"its member h links to {TO}/beside/x, which is outside the folder"),
            ([good, ("l", LINK, "../../beside"), ("h", HARD, "l/x")], "its member h leads through a link or a file"),
            ([good, ("h", HARD, "missing")], "its member h: No such file or directory")]:
        archive = tar_of(*members)
        run = launch(box, line(archive)).end(NOT_COPIED)
        expect_in(f"node1: {DATA}: cannot be unpacked: {text}", run.text, str(members))
        expect_in(f"the archive is {archive}", run.text, "which one")
        expect_equal(picture(node.path(f"{TO}/beside")), before, f"beside it after {members}")
        expect_equal(sorted(name for name in os.listdir(node.path(TO)) if "archive" not in name and "stage" not in name), ["beside"], "there")
        os.unlink(archive)
    with zipfile.ZipFile(f"{FROM}/trick.zip", "w") as file:
        file.writestr("../beside/x", b"evil")
    run = launch(box, line(f"{FROM}/trick.zip")).end(NOT_COPIED)
    expect_in("its member ../beside/x leads out of the folder", run.text, "a zip")
    expect_equal(picture(node.path(f"{TO}/beside")), before, "beside it")


@case
def links_and_rights_and_what_is_left_out(box):
    """A link may lead anywhere; nothing is written through it. Later members replace earlier ones."""
    cluster = box.make_cluster(1)
    node = cluster[1]
    node.sh(f"mkdir -p {TO} && echo precious > {TO}/x")
    archive = tar_of(("a", FILE, b"first"), ("a", FILE, b"second"), ("b", HARD, "a"), ("l", LINK, f"{TO}/x"), ("l", FILE, b"mine"),
                     ("out", LINK, f"{TO}/x"), ("deep/er/c", FILE, b"c"), ("pipe", tarfile.FIFOTYPE, b""), ("null", tarfile.CHRTYPE, b""))
    run = launch(box, line(archive)).end(0)
    expect_in("devices, FIFOs and sockets are not unpacked: 2 members left out", run.text, "a note")
    expect_equal(sorted(os.listdir(node.path(DATA))), ["a", "b", "deep", "l", "out"], "there")
    read = lambda name: open(node.path(f"{DATA}/{name}"), "rb").read()
    expect_equal([read("a"), read("b"), read("l"), read("deep/er/c")], [b"second", b"second", b"mine", b"c"], "contents")
    expect_equal(os.stat(node.path(f"{DATA}/a")).st_nlink, 2, "names of a")
    expect_equal(os.readlink(node.path(f"{DATA}/out")), f"{TO}/x", "a link out of it")
    expect_equal(stat.S_IMODE(os.stat(node.path(f"{DATA}/a")).st_mode), 0o755, "without the setuid bit")
    expect_equal(open(node.path(f"{TO}/x"), "rb").read(), b"precious\n", "behind a link")


@case
def what_is_no_archive_or_a_broken_one(box):
    cluster = box.make_cluster(2)
    content()
    write(f"{FROM}/text.zst", b"no archive, whatever its name\n" * 100)
    run = launch(box, line(f"{FROM}/text.zst")).end(JOB_FILE)
    expect_in(f"stage: {FROM}/text.zst: cannot be unpacked: archives are tar (also compressed with gzip, xz, zstd or bzip2) and zip", run.text, "by its content")
    run = launch(box, line(f"{FROM}/content")).end(JOB_FILE)
    expect_in(f"stage: {FROM}/content: is a folder, but `unpack` is for archives", run.text, "a folder")
    write(f"{FROM}/text", b"no archive\n" * 100)
    subprocess.run(["gzip", "-k", f"{FROM}/text"], check=True)
    run = launch(box, line(f"{FROM}/text.gz")).end(NOT_COPIED)
    expect_in(f": {DATA}: cannot be unpacked: ", run.text, "a compressed text")
    expect_in("archives that can be unpacked: tar (also", run.text, "a compressed text")
    for kind in ("tar", "tar.gz", "tar.xz", "tar.zst", "zip"):
        archive = packed(kind)
        with open(archive, "r+b") as file:
            file.truncate(os.path.getsize(archive) * 2 // 3)
        run = launch(box, line(archive, DATA + "/"), hosts=["node1"]).end(NOT_COPIED)  # another node's end would be its agent's
        expect_in(f"node1: {DATA}: cannot be unpacked: ", run.text, f"a truncated {kind}")
        expect_in(f"the archive is {archive}", run.text, "which one")
        expect_nothing([cluster[1]])


@case
def folders_of_others_stay(box):
    cluster = box.make_cluster(2)
    content()
    archive = packed("tar.zst")
    cluster[2].sh(f"mkdir -p {DATA} && echo precious > {DATA}/x")
    run = launch(box, line(archive)).end(NOT_COPIED)
    expect_in(f"node2: {DATA} is not empty, and dlaunch did not unpack what is in it: remove the folder there, or name another one", run.text, "why")
    expect_nothing([cluster[1]])
    cluster[2].sh(f"rm -r {DATA} && touch {DATA}")
    expect_in(f"node2: {DATA} is not a folder", launch(box, line(archive)).end(NOT_COPIED).text, "a file")
    cluster[2].sh(f"rm {DATA} && mkdir {DATA} && mount -t tmpfs tmpfs {DATA}")
    expect_in(f"node2: {DATA} is a mount point and cannot be replaced", launch(box, line(archive)).end(NOT_COPIED).text, "a mount point")
    cluster[2].sh(f"umount {DATA}")  # an empty one may be a place prepared for it
    launch(box, line(archive)).end(0)
    expect_unpacked(cluster.nodes)
    cluster[1].sh(f"rm -r {DATA} && mkdir {DATA} && echo precious > {DATA}/x")  # the record is of another folder
    run = launch(box, line(archive)).end(NOT_COPIED)
    expect_in(f"node1: {DATA} is not empty", run.text, "why")
    expect_equal(os.listdir(cluster[1].path(DATA)), ["x"], "what is there")


@case
def what_is_mounted_in_the_old_folder_stays(box):
    cluster = box.make_cluster(1)
    content()
    launch(box, line(packed("tar.zst"))).end(0)
    cluster[1].sh(f"mkdir {DATA}/shared && mount -t tmpfs tmpfs {DATA}/shared && echo precious > {DATA}/shared/x")
    write(f"{FROM}/content/new", b"new")
    run = launch(box, line(packed("tar.zst"))).end(NOT_COPIED)
    expect_in(f"node1: {DATA} has a file system mounted below it, and cannot be replaced", run.text, "why")
    expect_equal(cluster[1].sh(f"cat {DATA}/shared/x"), "precious\n", "what is mounted")
    cluster[1].sh(f"umount {DATA}/shared")
    launch(box, line(packed("tar.zst"))).end(0)
    expect_unpacked(cluster.nodes)


@case
def an_archive_in_its_own_target(box):
    box.make_cluster(1)
    content()
    archive = packed("tar.zst")
    run = launch(box, f"[{{from: {archive}, to: {os.path.dirname(archive)}, unpack: true}}]").end(JOB_FILE)
    expect_in(f"{archive}: lies in {os.path.dirname(archive)}, which is replaced as a whole", run.text, "why")


@case
def a_full_disk(box):
    cluster = box.make_cluster(1)
    os.makedirs(f"{FROM}/content")
    write(f"{FROM}/content/zeros", b"\0" * (8 << 20))
    archive = packed("tar.gz")
    cluster[1].sh(f"mkdir -p {TO} && mount -t tmpfs -o size=2m tmpfs {TO}")
    run = launch(box, line(archive)).end(NOT_COPIED)
    expect_in(f"node1: {DATA}: cannot be unpacked: its member ./zeros: No space left on device", run.text, "why")
    used = int(cluster[1].sh(f"df --output=used -k {TO} | tail -1"))
    expect(used < 500, f"{used} kB are still used")
    expect_equal([name for name in cluster[1].sh(f"ls -A {TO}").split() if "archive" not in name], [], "left there")


def first_file(node):
    """Whether one is unpacked; which is the first depends on the order in which tar(1) has found them."""
    folder = node.path(f"{TO}/.dlaunch-unpack-data/content")
    return os.path.isdir(folder) and os.listdir(folder)


@case
def ctrl_c_in_the_middle_of_an_archive(box):
    cluster = box.make_cluster(2)
    content()
    launch(box, line(packed("tar.gz"))).end(0)
    old = picture(f"{FROM}/content")
    for number in range(10):
        write(f"{FROM}/new/{number}", pseudo_random_bytes(1 << 20, number))
    archive = packed("tar", f"{FROM}/new")
    for node in cluster.nodes:
        node.slow_link("20mbit")
    run = launch(box, line(archive), "--set", "framework=none")
    for node in cluster.nodes:
        wait_until(lambda: first_file(node), f"the first file on {node.name}", 30, 0.01)  # noqa: B023
    run.signal(signal.SIGINT)
    run.end(130, patience=30)
    box.expect_nodes_empty("the nodes")
    for node in cluster.nodes:
        node.fast_link()
        expect_equal(picture(node.path(DATA)), old, f"the old state on {node.name}")
    launch(box, line(archive), "--set", "framework=none").end(0)
    expect_unpacked(cluster.nodes, f"{FROM}/new")
    expect(staged(box)[1]["bytes"] < os.path.getsize(archive), f"{staged(box)}: nothing was there")


@case
def a_process_that_is_killed_while_it_unpacks(box):
    cluster = box.make_cluster(1)
    for number in range(10):
        write(f"{FROM}/content/{number}", pseudo_random_bytes(1 << 20, number))
    archive = packed("tar")
    box.launch("/bin/true").end(0)
    cluster[1].slow_link("20mbit")
    run = launch(box, line(archive), "--set", "framework=none")
    wait_until(lambda: first_file(cluster[1]), "the first file", 30, 0.01)
    unpackers = [pid for pid in cluster[1].processes() if command_of(pid).endswith("agent --unpack")]
    expect_equal(len(unpackers), 1, "processes that unpack")
    os.kill(unpackers[0], signal.SIGKILL)
    run.end(NOT_COPIED, patience=30)
    expect_in(f"node1: {DATA}: cannot be unpacked: the unpacking process was killed or failed", run.text, "why")
    box.expect_nodes_empty("the node")
    cluster[1].fast_link()
    launch(box, line(archive)).end(0)
    expect_unpacked(cluster.nodes)


@case
def the_command_unpacks(box):
    cluster = box.make_cluster(2)
    content()
    archive = packed("tar.zst")
    hosts = ("--hosts", "node[1-2]", "--set", f"connect.ssh={cluster.ssh}")
    box.run("stage", *hosts, "--from", archive, "--to", DATA, "--unpack")
    expect_unpacked(cluster.nodes)
    run = box.run("stage", *hosts, "--from", archive, "--to", DATA, "--unpack")
    expect_in(": 0 bytes sent from here", run.words, "sent again")
    run = box.run("stage", *hosts, "--from", archive, "--unpack", code=64)
    expect_in("--unpack needs --to, the folder for the archive's content", run.words, "without --to")
    run = box.run("stage", *hosts, "--set", f"stage=[{{from: {archive}, to: {DATA}, unpack: true}}, {{from: {archive}, to: {DATA}/x}}]", code=JOB_FILE)
    expect_in(f"{DATA}/x: lies in {DATA}, which an archive is unpacked into", run.words, "a target in it")
