"""Known failures of real programs: what the report says about them."""

import socket

from case import case
from expectations import expect_equal, expect_in

PYTHON = "/usr/bin/python3"


def check(box, program, failure, why, advice):
    """Runs `program` (Python) in rank 1. The report and summary.json must name its failure."""
    box.write("train.py", "import os\nif os.environ['RANK'] == '0':\n    import time; time.sleep(1000)\n" + program)
    run = box.run("run", "-n", "2", "--", PYTHON, "train.py", code=1)
    words = " ".join(run.text[run.text.index("FAILED"):].split())
    expect_in("why " + why, words, "the report's explanation")
    expect_in("try " + advice, words, "the report's advice")
    summary = box.json("summary.json")
    expect_equal(summary["failure"], failure, "failure")
    expect_in(why, summary["why"], "why")
    expect_in(advice, summary["advice"], "advice")
    return summary


@case
def a_port_that_another_process_has(box):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        check(box, f"import socket\nsocket.create_server(('127.0.0.1', {taken.getsockname()[1]}))\n",
              "address-in-use", "the program listens on a port that another process uses", "ss -ltnp on that node")


@case
def a_shared_library_that_is_not_there(box):
    check(box, "import ctypes\nctypes.CDLL('libmissing-of-this-test.so.1')\n",
          "shared-library-missing", "a shared library is not installed", "ldd PROGRAM on that node")


@case
def a_disk_that_is_full(box):
    check(box, "with open('/dev/full', 'wb') as file:\n    file.write(bytes(1 << 20))\n",
          "disk-full", "a disk is full", "df -h and df -i on that node")


@case
def an_error_of_the_program_itself_is_no_known_failure(box):
    run = box.run("run", "--", PYTHON, "-c", "raise ValueError('bad batch')", code=1)
    summary = box.json("summary.json")
    for member in ("failure", "why", "advice"):
        expect_equal(summary[member], None, member)
    expect_in("ValueError: bad batch", run.text, "the error")
