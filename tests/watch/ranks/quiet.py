"""quiet.py WHAT: prints nothing for long, and works (or two of its threads wait for each other's locks)."""

import os
import subprocess
import sys
import threading
import time

from stand import tell


def evaluate_one(number):
    return sum(i * number for i in range(20000))


def evaluate():
    return [evaluate_one(number) for number in range(10**6)]


def save():
    """100 MB and more at 5 MB/s."""
    with open(os.path.join(os.environ["CASE"], f"checkpoint.{os.environ['RANK']}"), "wb") as file:
        while True:
            file.write(b"x" * 500_000)
            file.flush()
            time.sleep(0.1)
            if file.tell() > 50_000_000:
                file.seek(0)


def compile_first():
    subprocess.run([sys.executable, "-c", "while True: pass"], check=True)


def take(first, second):
    with first:
        time.sleep(0.3)
        with second:
            pass


def deadlock():
    one, other = threading.Lock(), threading.Lock()
    threading.Thread(target=take, args=(other, one), name="prefetch", daemon=True).start()
    take(one, other)


if __name__ == "__main__":
    tell("ready")
    {"evaluate": evaluate, "save": save, "compile": compile_first, "deadlock": deadlock}[sys.argv[1]]()
