"""Identifies the processes of a run, and sends signals to exactly those."""

import os
import signal
from dataclasses import dataclass, field

from processes import is_alive, program_of


@dataclass
class People:
    """The living processes at one moment, by role."""
    by_role: dict = field(default_factory=dict)  # role -> [pid]
    rank_of: dict = field(default_factory=dict)  # pid of a rank -> rank, where it is known


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split() if is_alive(int(word))]
    except OSError:
        return []


def below(pid):
    found, todo = [], [pid]
    while todo:
        some = children(todo.pop())
        found += some
        todo += some
    return found


def is_daemon(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read() == b"daemon\0"
    except OSError:
        return False


def look_around(front, ranks, dlaunch, split, settled):
    """`ranks`: {pid: rank} of those that have reported who they are; `split`: those of them whose work a child does;
    `settled`: all have started their children. Before that a rank waits for the child that starts its daemon."""
    people = People({"front": [front]} if is_alive(front) else {})
    at = front
    for role in ("engine", "guardian", "agent"):
        some = children(at)
        if not some:
            return people
        at = some[0]
        people.by_role[role] = [at]
    for pid in children(at):
        if pid in ranks:
            people.by_role.setdefault("rank", []).append(pid)
            people.rank_of[pid] = ranks[pid]
        elif program_of(pid) == dlaunch:  # between fork and exec
            people.by_role.setdefault("rank", []).append(pid)
    leaders = people.by_role.get("rank", [])
    workers = [pid for leader in leaders if people.rank_of.get(leader) in split for pid in children(leader)]
    others = [pid for pid in below(at) if pid not in [*leaders, *ranks, *workers] and program_of(pid) != dlaunch]
    others = [pid for pid in others if settled or is_daemon(pid)]
    if others and (leaders or ranks):
        people.by_role["daemon"] = others
    return people


class Victim:
    """One process, held by a pidfd, because its pid may be reused."""

    def __init__(self, role, pid, rank=None):
        self.role, self.pid, self.rank = role, pid, rank
        try:
            self._fd = os.pidfd_open(pid)
        except OSError:
            self._fd = None

    def signal(self, number):
        """True if it was alive when the signal was sent."""
        if self._fd is None or not is_alive(self.pid):
            return False
        try:
            signal.pidfd_send_signal(self._fd, number)
        except ProcessLookupError:
            return False
        return True
