"""astray.py WHAT: a step of training over gloo, in which rank $ODD (1) goes astray as WHAT says. Tells that it is ready before that."""

import ctypes
import os
import signal
import sys
import threading
import time

RANK = int(os.environ["RANK"])
ODD = int(os.environ.get("ODD", "1"))
LOCK = threading.Lock()
MAY_DIE = os.pipe()
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


def die_while_loading():
    """One of two workers; a kernel that is out of memory does the same."""
    from torch.utils.data import get_worker_info
    if get_worker_info().id == 0:
        os.read(MAY_DIE[0], 1)
        os.kill(os.getpid(), signal.SIGKILL)
    return 0


def iterate(what):
    from torch.utils.data import DataLoader
    more = {"num_workers": 1}
    if what == "loader_lock":
        LOCK.acquire()
    elif what == "loader_dies":
        more = {"num_workers": 2, "timeout": 1000}  # else the DataLoader looks every 5 s whether its workers live
    read = {"loader": load, "loader_computes": load_for_ever, "loader_lock": read_locked, "loader_dies": die_while_loading}[what]
    shards = iter(DataLoader(Shards(read), multiprocessing_context="fork", **more))
    if what == "loader_dies":
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # as programs do that start processes of their own
        os.write(MAY_DIE[1], b"1")
    for _ in shards:
        pass


def save():
    """1 GB to $DISK, which must be on the disk before the training goes on."""
    path = os.path.join(os.environ["DISK"], "checkpoint")
    with open(path + ".new", "wb") as file:
        for _ in range(1000):
            file.write(os.urandom(1 << 10) * (1 << 10))
        file.flush()
        os.fsync(file.fileno())
    os.rename(path + ".new", path)


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


def hold_it_in_an_extension():
    sys.path.insert(0, os.environ["CASE"])
    import holding
    holding.hold()


def take(first, second):
    with first:
        time.sleep(0.3)
        with second:
            pass


def take_both():
    other = threading.Lock()
    threading.Thread(target=take, args=(other, LOCK), name="prefetch", daemon=True).start()
    take(LOCK, other)


def go_astray(what, dist, ones, evaluation):
    if what == "absent":
        forward()
    elif what == "busy":
        compute()
    elif what == "reading":
        load()
    elif what == "save":
        save()
    elif what == "ended":
        os._exit(0)
    elif what.startswith("gil"):
        threading.Thread(target=prefetch, name="prefetch", daemon=True).start()
        {"gil": hold_the_lock_of_python, "gil_extension": hold_it_in_an_extension}[what]()
    elif what == "deadlock":
        take_both()
    elif what.startswith("loader"):
        iterate(what)
    elif what == "mismatch":
        dist.broadcast(ones, 0)
    elif what == "call_site":
        dist.all_reduce(ones, group=evaluation)  # of the evaluation


def step(what, dist, ones, evaluation):
    if RANK == ODD:
        go_astray(what, dist, ones, evaluation)
    if what == "ended":
        dist.new_group()  # of those that are left
    dist.all_reduce(ones)  # of all
    if what == "save":
        leave()


def leave():
    time.sleep(1)  # until all have what they wait for
    os._exit(0)


def work():
    sum(range(3_000_000))  # some 50 ms


def main(what):
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    evaluation = dist.new_group() if what == "call_site" else None
    ones = torch.ones(4)
    dist.all_reduce(ones)
    tell("ready")
    end = time.monotonic() + float(os.environ.get("SECONDS", "inf"))
    while what == "work":
        work()
        dist.all_reduce(ones)  # of all that work
    while what == "steps":
        time.sleep(0.01)
        dist.all_reduce(ones)  # of a step
        if ones[0].isnan():
            leave()
        if RANK == 0 and time.monotonic() > end:
            ones[0] = float("nan")
    if what == "halves" and RANK % 2 == 1:
        dist.barrier()
    step(what, dist, ones, evaluation)


main(sys.argv[1])
