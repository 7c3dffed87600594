"""The processes and the listening sockets of each node. Read from the /proc of the lab, whose PID namespace contains those of the nodes."""

import os
import socket
import struct
import threading
from dataclasses import dataclass

from processes import command_of, program_of

TCP_LISTEN = "0A"  # include/net/tcp_states.h
SO_ACCEPTCON = 0x10000  # in /proc/net/unix, for sockets that listen (include/uapi/linux/net.h)


@dataclass(frozen=True)
class Listener:
    node: str  # or "launcher"
    kind: str  # tcp or unix
    address: str  # 10.77.0.1:22, or the path of a unix socket
    program: str  # the file that its owner executes; "?" if no process was found
    command: str

    def __str__(self):
        return f"{self.node}: {self.kind} {self.address} of {self.program} ({self.command})"


def namespace_of(pid, kind="pid"):
    try:
        return os.readlink(f"/proc/{pid}/ns/{kind}")
    except OSError:
        return None


def processes_of_namespace(init, kind="pid"):
    """All processes in the namespace of `init`."""
    wanted = namespace_of(init, kind)
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return sorted(pid for pid in pids if wanted and namespace_of(pid, kind) == wanted)


def _read_lines(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()[1:]
    except OSError:
        return []


def _address_of(text):
    """0100007F:1F90 -> 127.0.0.1:8080: 32-bit words in the machine's byte order."""
    host, port = text.split(":")
    words = [int(host[i:i + 8], 16) for i in range(0, len(host), 8)]
    raw = b"".join(struct.pack("=I", word) for word in words)
    family = socket.AF_INET if len(words) == 1 else socket.AF_INET6
    return f"{socket.inet_ntop(family, raw)}:{int(port, 16)}"


def _sockets_of(pid):
    """(kind, address, inode) of all listening sockets in the network namespace of `pid`."""
    for name in ("tcp", "tcp6"):
        for line in _read_lines(f"/proc/{pid}/net/{name}"):
            fields = line.split()
            if fields[3] == TCP_LISTEN:
                yield "tcp", _address_of(fields[1]), fields[9]
    for line in _read_lines(f"/proc/{pid}/net/unix"):
        fields = line.split()
        if int(fields[3], 16) & SO_ACCEPTCON:
            yield "unix", fields[7] if len(fields) > 7 else "(unnamed)", fields[6]


def _owners(pids, inodes):
    found = {}
    for pid in pids:
        try:
            names = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue
        for name in names:
            try:
                link = os.readlink(f"/proc/{pid}/fd/{name}")
            except OSError:
                continue
            if link.startswith("socket:[") and link[8:-1] in inodes:
                found.setdefault(link[8:-1], pid)
    return found


def listeners(places):
    """The listeners of all `places`, {name: a pid in its network namespace}."""
    found = set()
    for name, pid in places.items():
        sockets = list(_sockets_of(pid))
        owners = _owners(processes_of_namespace(pid, "net"), {inode for _, _, inode in sockets})
        for kind, address, inode in sockets:
            owner = owners.get(inode)
            found.add(Listener(name, kind, address, program_of(owner) if owner else "?", command_of(owner) if owner else "?"))
    return found


class Watch:
    """Samples the listening sockets and the argv of processes again and again, in a thread, until stop()."""

    def __init__(self, places):
        self._places = places
        self._enough = threading.Event()
        self.rounds = 0
        self.listeners = set()
        self.commands = set()
        self.faults = []
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self):
        while not self._enough.is_set():
            try:
                self.listeners |= listeners(self._places)
                self.commands |= {command_of(int(name)) for name in os.listdir("/proc") if name.isdigit()}
                self.rounds += 1
            except Exception as error:  # shown by stop()
                self.faults.append(error)
                return

    def stop(self):
        self._enough.set()
        self._thread.join()
        if self.faults:
            raise self.faults[0]
        return self
