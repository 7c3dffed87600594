#!/usr/bin/python3
"""Runs the MPI tests: programs of Open MPI, MPICH and Intel MPI started by a real dlaunch, on one machine and on nodes in namespaces with real sshd; each
case in a lab of its own (tests/cluster). As root.

  tests/mpi/run.py [--only PART,...] [--jobs N] [--dlaunch FILE]     (or $DLAUNCH_BIN)
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[:0] = [HERE, os.path.join(TESTS, "cluster"), os.path.join(TESTS, "process")]
import lab  # noqa: E402
import mpi_programs  # noqa: E402
from runner import CaseSuite, main  # noqa: E402


if __name__ == "__main__":
    sys.exit(main(CaseSuite("mpi", HERE, "mpi_sandbox.MpiSandbox", lab.command(), why_skipped=mpi_programs.why_not() or lab.why_not()), __doc__))
