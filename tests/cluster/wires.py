"""Long and lossy links for a cluster, since this kernel may have no netem: between the cable of each machine and the bridge, frames go through
this process, which holds them back and drops some.

    eth0 of the machine --- its cable --- [a thread: packet socket | tap device] --- bridge
"""

import collections
import fcntl
import os
import random
import select
import socket
import struct
import threading
import time

from expectations import Skip

TUN = "/dev/net/tun"
TUNSETIFF, IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 0x400454CA, 0x0002, 0x1000, 0x4000  # <linux/if_tun.h>
SOL_PACKET, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING, ETH_P_ALL = 263, 15, 23, 3  # packet(7)
SO_RCVBUFFORCE = 33  # socket(7)
FRAME = 65536 + 64
AT_ONCE = 64  # frames of one end, before the others have their turn


class Wires:
    """`ends`: {end of the cable on the bridge: how to run ip(8) for the other end}. Each frame takes `delay` seconds on each cable, and is lost
    there with the probability `loss`."""

    def __init__(self, cluster, ends, delay, loss):
        if not os.path.exists(TUN):
            raise Skip(f"no {TUN}")
        self.delay, self.loss = delay, loss
        self.passed = collections.Counter()  # bytes that came from the machine at the cable and were not lost
        self.lost = 0
        self._dice = random.Random(1)
        self._under_way = collections.deque()  # (when it is due, where to, frame): the delay is the same for all
        self._ends = {}  # descriptor: (the other one of the cable, name where it is the machine's)
        self._poll = select.epoll()
        self._open = []
        for link, other in ends.items():
            self._cut_in(cluster, link, other)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._forward, daemon=True)
        self._thread.start()

    def _cut_in(self, cluster, link, other):
        tap = f"t-{link}"
        try:
            tun = os.open(TUN, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", tap.encode(), IFF_TAP | IFF_NO_PI | IFF_VNET_HDR))
        except OSError as error:
            raise Skip(f"{TUN}: {error}") from None
        packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
        packets.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)  # checksums that are still to be made
        packets.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        packets.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
        # Its own kernel leaves what arrives at the cable to the thread. One frame is one segment, so that a loss is one of a segment.
        cluster.ip("link", "set", link, "nomaster", "arp", "off", "addrgenmode", "none")
        other("link", "set", "eth0", "gso_max_segs", "1")
        packets.bind((link, ETH_P_ALL))
        cluster.ip("link", "set", tap, "master", "bridge", "up")
        self._open += [packets]
        for one, to, name in ((packets.fileno(), tun, link), (tun, packets.fileno(), None)):
            self._ends[one] = (to, name)
            self._poll.register(one, select.EPOLLIN)

    def _forward(self):
        while not self._stop.is_set():
            wait = self._under_way[0][0] - time.monotonic() if self._under_way else 0.5
            for fd, _ in self._poll.poll(max(0.0, min(wait, 0.5))):
                self._take(fd)
            now = time.monotonic()
            while self._under_way and self._under_way[0][0] <= now:
                _, to, frame = self._under_way.popleft()
                try:
                    os.write(to, frame)
                except (BlockingIOError, OSError):  # a full queue: the frame is lost, as on a real link
                    self.lost += 1

    def _take(self, fd):
        to, name = self._ends[fd]
        due = time.monotonic() + self.delay
        for _ in range(AT_ONCE):
            try:
                frame = os.read(fd, FRAME)
            except (BlockingIOError, OSError):
                return
            if self._dice.random() < self.loss:
                self.lost += 1
                continue
            if name:
                self.passed[name] += len(frame)
            self._under_way.append((due, to, frame))

    def stop(self):
        self._stop.set()
        self._thread.join(5)
