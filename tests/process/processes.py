"""Processes as /proc shows them, and waiting for their end."""

import errno
import os
import select
import time

from expectations import expect

PATIENCE = 20.0  # seconds that a test waits for something that should happen at once; only a failing test waits that long


def stat_of(pid):
    """(state, parent) of a process; None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return fields[0], int(fields[1])
    except (OSError, IndexError):
        return None


def is_alive(pid):
    stat = stat_of(pid)
    return stat is not None and stat[0] not in "ZX"


def all_processes():
    """{pid: parent} of every process that is not a zombie."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            stat = stat_of(int(name))
            if stat and stat[0] not in "ZX":
                found[int(name)] = stat[1]
    return found


def children_of(pid):
    return sorted(child for child, parent in all_processes().items() if parent == pid)


def descendants_of(root, processes=None):
    """The pids of all descendants, in the listing `processes` if it is given, else now."""
    tree, found, todo = {}, [], [root]
    for pid, parent in (all_processes() if processes is None else processes).items():
        tree.setdefault(parent, []).append(pid)
    while todo:
        children = tree.get(todo.pop(), [])
        found += children
        todo += children
    return sorted(found)


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return "?"


def program_of(pid):
    """The file that the process executes; an empty text if it has ended."""
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""


def process_table():
    rows = [f"  {pid} parent {parent}: {command_of(pid)}" for pid, parent in sorted(all_processes().items())]
    return "\n".join(rows)


def wait_until(condition, what, patience=PATIENCE, pause=0.0):
    """Polls for a state without an event, such as the content of a file. `pause`: seconds between two polls, for cases in which polling without a
    pause would delay what is waited for."""
    deadline = time.monotonic() + patience
    while not condition():
        expect(time.monotonic() < deadline, f"not within {patience:g} s: {what}")
        time.sleep(pause) if pause else os.sched_yield()


def wait_gone(pids, what, patience=PATIENCE):
    """Waits until all of them have ended; they need not be our children."""
    deadline = time.monotonic() + patience
    for pid in pids:
        try:
            fd = os.pidfd_open(pid)
        except OSError as error:
            if error.errno == errno.ESRCH:
                continue
            raise
        try:
            left = max(0.0, deadline - time.monotonic())
            expect(select.select([fd], [], [], left)[0],
                   f"{what}: process {pid} ({command_of(pid)}) is still there after {patience:g} s\n{process_table()}")
        finally:
            os.close(fd)
