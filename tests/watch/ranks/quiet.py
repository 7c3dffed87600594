"""quiet.py WHAT: prints nothing for long, and works (or two of its threads wait for each other's locks). With $SECONDS it comes to an end."""

import os
import subprocess
import sys
import threading
import time

from stand import tell


def evaluate_one(number):
    return sum(i * number for i in range(20000))


def evaluate():
    number = 0
    while time.monotonic() < END:
        number += evaluate_one(number) % 7


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


SOURCE = "#include <regex>\n#include <iostream>\nint main() { std::cout << std::regex_match(\"a\", std::regex(\"[a-z]+\")); }\n"


def compile_for_long():
    """As torch.compile does: one compiler after the other."""
    while time.monotonic() < END:
        subprocess.run(["g++", "-O2", "-x", "c++", "-", "-c", "-o", "/dev/null"], input=SOURCE.encode(), check=True)


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
    END = time.monotonic() + float(os.environ.get("SECONDS", "inf"))
    {"evaluate": evaluate, "save": save, "compile": compile_first, "compile_for_long": compile_for_long,
     "deadlock": deadlock}[sys.argv[1]]()
