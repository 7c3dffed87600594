#!/usr/bin/python3
"""Runs the container tests: ranks in real containers of podman (with runc), docker and Charliecloud, on root file systems that are built here from
the machine's own programs, on this machine and on nodes in namespaces; each case in a lab of its own (tests/cluster). As root.

  tests/containers/run.py [--only PART,...] [--jobs N] [--dlaunch FILE]     (or $DLAUNCH_BIN)
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[:0] = [HERE, os.path.join(TESTS, "mpi"), os.path.join(TESTS, "cluster"), os.path.join(TESTS, "process")]
import lab  # noqa: E402
from runner import CaseSuite, main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(CaseSuite("containers", HERE, "container_sandbox.ContainerSandbox", lab.command(), why_skipped=lab.why_not()), __doc__))
