"""astray.py WHAT: a step of training over gloo, in which rank 1 goes astray as WHAT says. Tells that it is ready before that."""

import ctypes
import os
import sys
import threading
import time

RANK = int(os.environ["RANK"])
LOCK = threading.Lock()
FILE = os.path.join(os.environ["CASE"], "data", "shard")


def tell(word):
    events = os.open(os.environ["EVENTS"], os.O_WRONLY)
    os.write(events, f"{word} {RANK}\n".encode())
    os.close(events)


def forward():
    time.sleep(1000)


def compute():
    x = 0
    while True:
        x += 1


def load():
    with open(FILE, "rb") as file:
        return file.read()


def load_for_ever():
    tell("loading")
    compute()


def read_locked():
    with LOCK:
        return load()


class Shards:
    def __init__(self, read):
        self.read = read

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return self.read()


def prefetch():
    while True:
        time.sleep(0.01)


def hold_the_lock_of_python():
    ctypes.PyDLL(None).pause()


def step(what, dist, ones):
    if RANK == 1:
        if what == "absent":
            forward()
        elif what == "busy":
            compute()
        elif what == "reading":
            load()
        elif what == "ended":
            os._exit(0)
        elif what == "gil":
            threading.Thread(target=prefetch, name="prefetch", daemon=True).start()
            hold_the_lock_of_python()
        elif what.startswith("loader"):
            from torch.utils.data import DataLoader
            if what == "loader_lock":
                LOCK.acquire()
            read = {"loader": load, "loader_computes": load_for_ever, "loader_lock": read_locked}[what]
            for _ in DataLoader(Shards(read), num_workers=1, multiprocessing_context="fork"):
                pass
        elif what == "mismatch":
            dist.broadcast(ones, 0)
    dist.all_reduce(ones)  # of all


def main(what):
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    ones = torch.ones(4)
    dist.all_reduce(ones)
    tell("ready")
    while what == "steps":
        time.sleep(0.01)
        dist.all_reduce(ones)
    if what == "halves" and RANK % 2 == 1:
        dist.barrier()
    step(what, dist, ones)


main(sys.argv[1])
