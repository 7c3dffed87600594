"""Proves that the ranks are one world: all of them meet at MASTER_ADDR:MASTER_PORT, and the sum of their numbers is right. Prints one
line of what it found in its environment."""

import json
import os
import socket
import sys
import time

NAMES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def read_exactly(connection, count):
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            sys.exit("the other side has closed")
        data += piece
    return data


def meet(rank, world, address):
    """The sum over all ranks."""
    if rank > 0:
        with socket.create_connection(address, timeout=20) as connection:
            connection.sendall(rank.to_bytes(8, "little"))
            return int.from_bytes(read_exactly(connection, 8), "little")
    others = []
    with socket.create_server(address) as server:
        server.settimeout(20)
        while len(others) < world - 1:
            others.append(server.accept()[0])
    total = sum(int.from_bytes(read_exactly(one, 8), "little") for one in others)
    for one in others:
        one.sendall(total.to_bytes(8, "little"))
        one.close()
    return total


def main():
    found = {name: os.environ[name] for name in NAMES}
    rank, world, expected = int(found["RANK"]), int(found["WORLD_SIZE"]), int(sys.argv[1])
    assert world == expected, f"WORLD_SIZE is {world} instead of {expected}"
    total = meet_when_open(rank, world, (found["MASTER_ADDR"], int(found["MASTER_PORT"])))
    assert total == world * (world - 1) // 2, f"the ranks sum up to {total}"
    print(json.dumps({**found, "host": socket.gethostname()}), flush=True)


def meet_when_open(rank, world, address):
    """Retries while rank 0 does not listen yet, as frameworks do."""
    for _ in range(1000):
        try:
            return meet(rank, world, address)
        except ConnectionRefusedError:
            time.sleep(0.01)
    sys.exit("no rank listens at MASTER_ADDR:MASTER_PORT")


if __name__ == "__main__":
    main()
