"""stand.py WHAT: tells that it is ready, and stands still where WHAT says."""

import multiprocessing
import os
import sys
import threading
import time

FIFO = os.path.join(os.environ["CASE"], "fifo")


def tell(word):
    events = os.open(os.environ["EVENTS"], os.O_WRONLY)
    os.write(events, f"{word} {os.environ['RANK']}\n".encode())
    os.close(events)


def innermost(what):
    if what == "sleep":
        time.sleep(1000)
    elif what == "spin":
        while True:
            pass
    elif what == "compute":
        while True:
            forward()
            backward()
    elif what == "print":
        for number in range(24):
            print(f"step {number}", flush=True)
            time.sleep(0.5)
    elif what == "fifo":
        with open(FIFO, encoding="utf-8") as file:
            file.read()


def forward():
    return sum(number * number for number in range(100_000))


def backward():
    return sorted(number % 977 for number in range(100_000))


def load():
    time.sleep(1000)


def step(what):
    if what == "odd":
        what = "fifo" if os.environ["RANK"] == "1" else "sleep"
    if what == "loader":
        worker = multiprocessing.get_context("fork").Process(target=load)
        worker.start()
        tell("ready")
        worker.join()
    if what == "thread":
        threading.Thread(target=load, name="prefetch", daemon=True).start()
        what = "sleep"
    tell("ready")
    innermost(what)


if __name__ == "__main__":
    step(sys.argv[1])
