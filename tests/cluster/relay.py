"""relay.py HOST PORT SECONDS: a ProxyCommand that forwards everything in both directions, after a delay."""

import collections
import os
import select
import socket
import sys
import time


def relay(connection, delay):
    """Has a queue of (due time, bytes) for each direction. Empty bytes mean the end of the stream."""
    ways = {0: (connection.fileno(), collections.deque()), connection.fileno(): (1, collections.deque())}
    reading = set(ways)
    while reading or any(queue for _, queue in ways.values()):
        due = [queue[0][0] for _, queue in ways.values() if queue]
        wait = max(0.0, min(due) - time.monotonic()) if due else None
        for fd in select.select(list(reading), [], [], wait)[0]:
            data = os.read(fd, 65536)
            ways[fd][1].append((time.monotonic() + delay, data))
            if not data:
                reading.discard(fd)
        for target, queue in ways.values():
            while queue and queue[0][0] <= time.monotonic():
                _, data = queue.popleft()
                if not data and target == 1:
                    return  # the host has closed
                if not data:
                    connection.shutdown(socket.SHUT_WR)
                while data:
                    data = data[os.write(target, data):]


def main():
    host, port, seconds = sys.argv[1:4]
    with socket.create_connection((host, int(port))) as connection:
        relay(connection, float(seconds))


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(f"relay: {error}")
