"""Data-parallel training in plain Python: a line is fitted to points, the ranks sum their gradients over the job's rendezvous."""

import os
import random
from multiprocessing.connection import Client, Listener

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))


def connect():
    while True:
        try:
            return Client(address)
        except ConnectionRefusedError:  # rank 0 does not listen yet
            pass


if rank == 0:
    with Listener(address) as listener:
        others = [listener.accept() for _ in range(world - 1)]
else:
    root = connect()


def summed(values):
    if rank != 0:
        root.send(values)
        return root.recv()
    total = [sum(column) for column in zip(values, *(one.recv() for one in others))]
    for one in others:
        one.send(total)
    return total


dice = random.Random(rank)
points = [(x, 3 * x - 1 + dice.gauss(0, .01)) for x in (dice.uniform(-1, 1) for _ in range(500))]
slope = offset = 0.0
for step in range(200):
    errors = [(slope * x + offset - y, x) for x, y in points]
    sums = summed([sum(e * e for e, _ in errors), sum(e * x for e, x in errors), sum(e for e, _ in errors)])
    loss, by_slope, by_offset = (one / world / len(points) for one in sums)
    slope, offset = slope - .5 * by_slope, offset - .5 * by_offset
    if step % 50 == 49:
        print(f"step {step + 1} loss {loss:.4f}", flush=True)
print(f"rank {rank}: y = {slope:.1f} x + {offset:.1f}")
