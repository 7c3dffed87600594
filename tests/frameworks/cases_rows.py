"""A case for each row and place, and mistakes that the examples must notice. The ranks assert the facts; the cases check what they print."""

import re
import sys

from case import case
from expectations import expect, expect_in
from rows import ROWS

PATIENCE = 170


def check(box, row, place, run):
    run.end(0, patience=PATIENCE)
    for text in row.expected(place):
        expect_in(text.encode(), run.out, f"what the ranks of {row.name} say")
    done = re.search(r"dlaunch: done in .*?, (\d+) ranks? ok(?:, (\d+) stopped)?", run.text)
    expect(done and sum(int(number or 0) for number in done.groups()) == place.processes, f"{place.processes} processes\n{run.report()}")


def add_case(row, place, name, nodes):
    def function(box):
        if nodes:
            box.make_cluster(nodes)
        check(box, row, place, box.run_row(row, place))

    function.__name__ = f"{row.name}_{name}"
    function.__module__ = __name__
    setattr(sys.modules[__name__], function.__name__, case(function, budget=PATIENCE + 20, alone=True, long=not place.quick))


for one in ROWS:
    add_case(one, one.here, "here", 0)
    add_case(one, one.nodes, "on_two_nodes", 2)


def named(name):
    return next(row for row in ROWS if row.name == name)


def expect_noticed(box, name, message):
    """Runs the same job, but tells it to expect one rank more; the job must fail."""
    row = named(name)
    run = box.run_row(row, row.here, "--", "--world", str(row.here.world + 1)).end(1, patience=PATIENCE)
    expect_in(message, run.text, "what is wrong")


@case(budget=PATIENCE + 20, alone=True)
def a_wrong_world_is_noticed_by_pytorch(box):
    expect_noticed(box, "mpi_variables", "AssertionError: 4 ranks instead of 5")


@case(budget=PATIENCE + 20, alone=True)
def a_wrong_world_is_noticed_by_mpi4py(box):
    expect_noticed(box, "mpi4py", "AssertionError: 2 ranks instead of 3")


@case(budget=PATIENCE + 20, alone=True)
def a_wrong_world_is_noticed_by_jax(box):
    expect_noticed(box, "jax", "AssertionError: 2 processes instead of 3")
