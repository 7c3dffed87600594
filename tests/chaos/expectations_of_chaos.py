"""What must hold after a chaos run."""

import fcntl
import json
import os
import re
import struct
import traceback

from expectations import expect, expect_equal
from processes import process_table

FILLER = "abcdefghijklmnopqrstuvwxyz" * 4
# What is lost with a killed agent: a full pipe (pipe(7)) and what the agent has read but not written.
LOST_WITH_AGENT = 2 * 65536
KNOWN = re.compile(r"^(job\.yaml|plan\.json|events\.jsonl|summary\.json|run\.json|attempt-0(/(rank-\d+\.(out|err)|(local|remote)\.times))?)$")


def perform(chaos, result):
    """Writes the outcome as JSON to the file `result`."""
    outcome, detail = "passed", ""
    try:
        chaos.perform()
    except BaseException as error:
        outcome = "failed"
        detail = f"{error}\n" if isinstance(error, AssertionError) else ""
        detail += traceback.format_exc(limit=-4) + process_table()
    with open(result, "w", encoding="utf-8") as file:
        json.dump({"outcome": outcome, "detail": detail, "story": chaos.story()}, file)


class Record:
    """What a rank records about itself in a page that outlives it; see rank.c."""

    def __init__(self, path):
        self.path = path
        with open(path, "wb") as file:
            file.write(bytes(4096))

    def read(self):
        with open(self.path, "rb") as file:
            out, err, pid, complete = struct.unpack("<4Q", file.read(32))
        return {"out": out, "err": err, "pid": pid, "complete": bool(complete)}


def expected_output(rank, stream, size):
    """The first `size` bytes (and the rest of a line) of what a rank prints."""
    name = "O" if stream == "out" else "E"
    lines, total, number = [], 0, 0
    while total < size:
        lines.append(f"{name}{rank} {number:08d} {FILLER[:number * 37 % 101]}\n")
        total += len(lines[-1])
        number += 1
    return "".join(lines).encode()


def output_of(box, rank, stream, attempt):
    if not os.path.isdir(box.path("runs")) or not box.runs():
        return b""
    path = os.path.join(box.run_folder(), f"attempt-{attempt}", f"rank-{rank}.{stream}")
    return box.read(path) if os.path.exists(path) else b""


def check_output(box, rank, record, may_lack, complete, attempt=0):
    for stream in ("out", "err"):
        what = f"attempt {attempt}, rank {rank}, std{stream}"
        data = output_of(box, rank, stream, attempt)
        wanted = expected_output(rank, stream, len(data))[:len(data)]
        if data != wanted:
            at = next(i for i, (a, b) in enumerate(zip(data, wanted)) if a != b)
            expect(False, f"{what}: byte {at} of {len(data)} is not what was written: {data[max(0, at - 60):at + 60]!r}")
        expect(len(data) >= record[stream] - may_lack[stream],
               f"{what}: {len(data)} bytes in the file, {record[stream]} were written, at most {may_lack[stream]} may be missing")
        if complete:
            expect(record["complete"], f"rank {rank} has not carried out all its orders, and the run is a success")
            expect_equal(len(data), record[stream], f"{what}: bytes in the file")


def check_console(box, run, ranks):
    """After a success with prefixes: the console shows each line of each rank, once, whole and in order."""
    for stream, text in (("out", run.out), ("err", run.err)):
        seen = {rank: [] for rank in range(ranks)}
        for line in text.splitlines():
            match = re.match(rb"^\S+:(\d+) +\| (.*)$", line)
            if match and int(match[1]) in seen:
                seen[int(match[1])].append(match[2])
        for rank, lines in seen.items() if ranks > 1 else ():
            expect_equal(len(lines), box.rank_output(rank, stream).count(b"\n"), f"console, rank {rank}, std{stream}: lines")
            expect(b"\n".join(lines) + b"\n" == (box.rank_output(rank, stream) or b"\n"),
                   f"console, rank {rank}, std{stream}: lines differ from the file's")


def check_leftover_files(box, engine_lived):
    """No temporary files, sockets or locks, and nothing but what docs/reference/run-folder.md names."""
    runs = box.runs() if box.exists("runs") else []
    expect(len(runs) <= 1, f"folders in runs/: {runs}")
    for run in runs:
        for folder, folders, files in os.walk(box.path("runs", run)):
            for name in folders + files:
                path = os.path.relpath(os.path.join(folder, name), box.path("runs", run))
                is_of_killed_engine = path in ("questions.sock", "terminals.sock") and not engine_lived
                expect(KNOWN.match(path) or is_of_killed_engine, f"left in the run folder: {path}")
    for folder in ("home", "tmp"):
        expect_equal(os.listdir(box.path(folder)), [], f"left in {folder}")
    for name in os.listdir("/dev/shm") if box.namespaced else []:
        expect_equal(name, f"dlaunch-cores-{os.geteuid()}", "left in /dev/shm")
        with open(os.path.join("/dev/shm", name), "r+b") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                expect(False, "a core is still locked")
    if engine_lived and runs:
        check_json(box)


def check_json(box):
    for line in box.read(box.run_folder(), "events.jsonl").splitlines():
        json.loads(line)


def check_summary(box, code):
    if os.path.exists(os.path.join(box.run_folder(), "summary.json")):
        expect_equal(box.json("summary.json")["exit_code"], code, "exit code in summary.json")


def check_words(run):
    for word in ("terminate called", "Sanitizer", "runtime error", "Assertion"):
        expect(word not in run.text, f"{word} in its output\n{run.report()}")
