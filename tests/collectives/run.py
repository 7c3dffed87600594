#!/usr/bin/python3
"""Tests of the collective library: programs of a user, built against an installed dlaunch with find_package, started by a real
dlaunch on one machine and on nodes in namespaces. As root.

  tests/collectives/run.py [--only PART,...] [--jobs N] [--dlaunch FILE]     (or $DLAUNCH_BIN)

The library is that of the build folder in which the dlaunch under test lies.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
TOP = os.path.dirname(TESTS)
sys.path[:0] = [HERE, *(os.path.join(TESTS, name) for name in ("mpi", "cluster", "process"))]
import lab  # noqa: E402
import mpi_programs  # noqa: E402
from runner import CaseSuite, main  # noqa: E402


def build_folder():
    arguments = sys.argv + [os.environ.get("DLAUNCH_BIN", os.path.join(TOP, "build/release/bin/dlaunch"))]
    dlaunch = arguments[arguments.index("--dlaunch") + 1] if "--dlaunch" in arguments else arguments[-1]
    return os.path.dirname(os.path.dirname(os.path.abspath(dlaunch)))


if __name__ == "__main__":
    os.environ["DLAUNCH_BUILD"] = build_folder()
    sys.exit(main(CaseSuite("collectives", HERE, "collectives_sandbox.CollectivesSandbox", lab.command(), why_skipped=mpi_programs.why_not() or lab.why_not()), __doc__))
