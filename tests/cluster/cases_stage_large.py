"""`stage` of much: progress, a change in a large file, many small files, archives that are seen unpacked while they arrive."""

import os
import re

from case import case
from cases_stage import BLOCK, FROM, TO, launch, part_on, staged, write
from cases_stage_unpack import DATA, expect_unpacked, first_file, line, packed
from cases_sync import picture
from expectations import expect, expect_equal, pseudo_random_bytes
from processes import wait_until

LINK = 20e6 / 8  # bytes/s


@case
def progress_with_rate_and_time_left(box):
    cluster = box.make_cluster(2)
    box.launch("/bin/true").end(0)
    size = 12 << 20
    write(f"{FROM}/large", pseudo_random_bytes(1 << 20, 1) * (size >> 20))
    for node in cluster.nodes:
        node.slow_link("20mbit")
    hosts = ("--hosts", "node[1-2]", "--set", f"connect.ssh={cluster.ssh}")
    run = box.start_on_terminal("stage", *hosts, "--from", f"{FROM}/large", "--to", f"{TO}/large")
    lines = []

    def look():  # a line is cut to the width of the terminal
        run.read_screen()
        found = re.findall(rb"staging 13 MB to 2 nodes, ([0-9.]+) ([kM]?B) of 13 MB on all, ([0-9.]+) ([kM]B)/s, ([0-9.]+) s le", run.screen)
        lines[:] = [(amount(*one[:2]), amount(*one[2:4]), float(one[4])) for one in found]
        return len(lines) >= 3
    wait_until(look, "three lines of progress", 40, 0.05)
    run.end(0, patience=60)
    look()
    for there, rate, left in lines:
        expect(0 < there < size and 0 < rate < LINK * 1.5, f"{there} bytes at {rate} bytes/s over a link of {LINK}")
        expect(abs((size - there) / rate - left) < 1 + left / 2, f"{left} s left for {size - there} bytes at {rate} bytes/s")
    expect(lines == sorted(lines, key=lambda one: one[0]), f"it goes back: {lines}")
    expect(lines[-1][2] < lines[0][2], f"the time left does not fall: {lines}")


def amount(number, unit):
    return float(number) * {b"B": 1, b"kB": 1e3, b"MB": 1e6}[unit]


@case
def compressed_archives_are_unpacked_while_they_arrive(box):
    """The first file is there before the node has the whole archive."""
    cluster = box.make_cluster(1)
    box.launch("/bin/true").end(0)
    for number in range(10):
        write(f"{FROM}/content/{number}", pseudo_random_bytes(400_000, number))
    cluster[1].slow_link("20mbit")
    for kind in ("tar.gz", "tar.xz", "tar.zst"):
        archive = packed(kind)
        run = launch(box, line(archive), "--set", "framework=none")
        wait_until(lambda: first_file(cluster[1]), f"the first file of {kind}", 30, 0.005)
        there, size = part_on(cluster[1]), os.path.getsize(archive)
        expect(there > 0, f"{kind}: all of it was there already")
        expect(there < size * 3 // 4, f"{kind}: {there} of {size} bytes are there when the first file is seen")
        run.end(0, patience=60)
        expect_unpacked(cluster.nodes)
        os.utime(f"{FROM}/content/0")  # the next archive is another one
        cluster[1].sh(f"rm -r {DATA} {TO}/.dlaunch-unpacked-data")


@case(budget=900, alone=True, long=True)
def a_hundred_thousand_small_files(box):
    cluster, files = box.make_cluster(2), 100_000
    for number in range(files):
        write(f"{FROM}/many/{number % 300}/{number}", b"%d\n" % number)
    stage = f"[{{from: {FROM}/many, to: {TO}/many}}]"
    launch(box, stage).end(0, patience=300)
    own = picture(f"{FROM}/many")
    for node in cluster.nodes:
        expect(picture(node.path(f"{TO}/many")) == own, f"the folder on {node.name} differs")
    launch(box, stage).end(0, patience=300)
    expect_equal([event["bytes"] for event in staged(box).values()], [0, 0], "sent again")
    write(f"{FROM}/many/7/7", b"changed\n")
    launch(box, stage).end(0, patience=300)
    expect_equal([event["bytes"] for event in staged(box).values()], [8, 8], "for a file that has changed")


@case(budget=400, alone=True, long=True)
def one_percent_of_a_gibibyte(box):
    cluster, size, places = box.make_cluster(2), 1 << 30, 10
    os.makedirs(FROM)
    with open(f"{FROM}/large", "wb") as file:
        for number in range(size >> 24):
            file.write(pseudo_random_bytes(1 << 20, number) * 16)
    stage = f"[{{from: {FROM}/large, to: {TO}/large}}]"
    for node in cluster.nodes:
        node.sh(f"mkdir -p {TO} && mount -t tmpfs -o size=3g none {TO}")
    launch(box, stage).end(0, patience=300)
    with open(f"{FROM}/large", "r+b") as file:
        for number in range(places):
            file.seek(size * (2 * number + 1) // (2 * places) + 12345)
            file.write(pseudo_random_bytes(size // 100 // places, 1000 + number))
    launch(box, stage).end(0, patience=300)
    sent = staged(box)[1]["from_launcher"]
    expect(size // 100 <= sent <= size // 100 + 2 * places * BLOCK and sent <= size // 50, f"{sent} bytes of {size} for a change of 1 %")
    for node in cluster.nodes:
        expect_equal(node.sh(f"md5sum < {TO}/large"), os.popen(f"md5sum < {FROM}/large").read(), f"the file on {node.name}")
