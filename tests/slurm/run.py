#!/usr/bin/python3
"""Runs the Slurm tests: real dlaunch, slurmctld, slurmd and munge, nodes in namespaces; each case in a lab of its own. As root.

  tests/slurm/run.py [--only PART,...] [--jobs N] [--dlaunch FILE]     (or $DLAUNCH_BIN)
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[:0] = [HERE, *(os.path.join(TESTS, name) for name in ("mpi", "cluster", "process"))]
import lab  # noqa: E402
import slurm  # noqa: E402
from runner import CaseSuite, main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(CaseSuite("slurm", HERE, "slurm_sandbox.SlurmSandbox", lab.command(), jobs=3, why_skipped=slurm.why_not()), __doc__))
