"""`stage` of files with several names (hard links) and of sparse files."""

import os

from case import case
from cases_stage import BLOCK, FROM, TO, launch, staged, write
from cases_stage_list import hosts_of, listed
from cases_sync import picture
from expectations import expect, expect_equal, expect_in, pseudo_random_bytes

STAGE = f"[{{from: {FROM}/corpus, to: {TO}/corpus}}]"
SIZE = 20 * BLOCK + 17
ODD = os.fsdecode(b"sub/c\xff\n")
NAMES = ["a", "b", ODD]


def linked():
    """A folder with a file that has three names, and another file."""
    write(f"{FROM}/corpus/a", pseudo_random_bytes(SIZE, 1), 0o640)
    os.makedirs(f"{FROM}/corpus/sub")
    for name in NAMES[1:]:
        os.link(f"{FROM}/corpus/a", f"{FROM}/corpus/{name}")
    write(f"{FROM}/corpus/other", b"other")


def inodes(node, names=NAMES):
    return {os.lstat(node.path(f"{TO}/corpus/{name}")).st_ino for name in names}


def sent(box):
    return [event["bytes"] for _, event in sorted(staged(box).items())]


def expect_same(nodes):
    for node in nodes:
        expect_equal(picture(node.path(f"{TO}/corpus")), picture(f"{FROM}/corpus"), f"the folder on {node.name}")


@case
def hard_links_are_sent_once_and_stay_links(box):
    cluster = box.make_cluster(3)
    linked()
    launch(box, STAGE).end(0)
    expect_same(cluster.nodes)
    expect_equal([len(inodes(node)) for node in cluster.nodes], [1, 1, 1], "files that the names are")
    expect_equal(sent(box), [SIZE + 5] * 3, "bytes")
    row = listed(box, cluster)["node3", f"{TO}/corpus"]
    expect_equal((row["files"], row["bytes"]), (4, SIZE + 5), "what is listed")

    before = [inodes(node) for node in cluster.nodes]
    launch(box, STAGE).end(0)
    expect_equal(sent(box), [0, 0, 0], "sent again")
    expect_equal([inodes(node) for node in cluster.nodes], before, "the files")

    os.link(f"{FROM}/corpus/a", f"{FROM}/corpus/z")  # it comes last in the list
    os.unlink(cluster[2].path(f"{TO}/corpus/{ODD}"))
    launch(box, STAGE).end(0)
    expect_equal(sent(box), [0, 0, 0], "for a further name")
    expect_same(cluster.nodes)
    expect_equal([inodes(node, [*NAMES, "z"]) for node in cluster.nodes], before, "the files with one name more")

    os.unlink(f"{FROM}/corpus/b")  # one name is gone, another becomes a file of its own
    write(f"{FROM}/corpus/new", b"changed")
    os.rename(f"{FROM}/corpus/new", f"{FROM}/corpus/a")
    launch(box, STAGE).end(0)
    expect_equal(sent(box), [7] * 3, "for a changed name")
    expect_same(cluster.nodes)
    expect_equal([inodes(node, [ODD, "z"]) for node in cluster.nodes], before, "the other names")

    run = box.run("stage", *hosts_of(cluster), "--clean")
    expect_in(f"{TO}/corpus: removed 4 files", run.out.decode(), "what was removed")
    expect_equal([os.listdir(node.path(TO)) for node in cluster.nodes], [[], [], []], "left")


@case
def where_hard_links_are_refused_files_are_copied(box):
    """Another file system is mounted in the target."""
    cluster = box.make_cluster(2)
    linked()
    cluster[1].sh(f"mkdir -p {TO}/corpus/sub && mount -t tmpfs -o mode=755 none {TO}/corpus/sub")
    launch(box, STAGE).end(0)
    expect_same(cluster.nodes)
    expect_equal([len(inodes(node, ["a", "b"])) for node in cluster.nodes], [1, 1], "in one file system")
    expect_equal([len(inodes(node)) for node in cluster.nodes], [2, 1], "in all")
    expect_equal(sent(box), [SIZE + 5] * 2, "bytes")
    before = inodes(cluster[1])
    launch(box, STAGE).end(0)
    expect_equal((sent(box), inodes(cluster[1])), ([0, 0], before), "again")
    cluster[1].sh(f"umount {TO}/corpus/sub")


@case
def hard_links_of_a_node(box):
    cluster = box.make_cluster(2)
    linked()
    launch(box, STAGE, hosts=["node1"]).end(0)
    os.rename(cluster[1].path(f"{TO}/corpus"), cluster[1].path(f"{TO}/source"))
    before = picture(cluster[1].path(f"{TO}/source"))
    launch(box, f"[{{from: node1:{TO}/source, to: {TO}/corpus}}]").end(0)
    expect_same(cluster.nodes)
    expect_equal([len(inodes(node)) for node in cluster.nodes], [1, 1], "files that the names are")
    expect_equal(picture(cluster[1].path(f"{TO}/source")), before, "the source")


@case(budget=150)  # three machines hash 2 GiB
def a_sparse_file_stays_one(box):
    cluster = box.make_cluster(2)
    size = 2 << 30
    write(f"{FROM}/corpus/sparse", b"")
    with open(f"{FROM}/corpus/sparse", "r+b") as file:
        file.truncate(size)
        for at in (BLOCK + 5, size // 2, size - 7):
            file.seek(at)
            file.write(b"data")
    os.link(f"{FROM}/corpus/sparse", f"{FROM}/corpus/name")
    for node in cluster.nodes:  # less room than the file's size
        node.sh(f"mkdir -p {TO} && mount -t tmpfs -o size=64m none {TO}")
    launch(box, STAGE).end(0, patience=120)
    expect(max(sent(box)) <= 4 * BLOCK, f"sent: {sent(box)}")
    for node in cluster.nodes:
        path = node.path(f"{TO}/corpus/sparse")
        info = os.stat(path)
        expect_equal(info.st_size, size, "size")
        expect(info.st_blocks * 512 <= 4 * BLOCK, f"{info.st_blocks} blocks on {node.name}")
        with open(path, "rb") as file, open(f"{FROM}/corpus/sparse", "rb") as own:
            for at in (0, size // 2 - BLOCK, size - 2 * BLOCK):
                file.seek(at)
                own.seek(at)
                expect(file.read(2 * BLOCK) == own.read(2 * BLOCK), f"content at {at} on {node.name}")

    box.run("stage", *hosts_of(cluster), "--clean")
    expect_equal([os.listdir(node.path(TO)) for node in cluster.nodes], [[], []], "left")
