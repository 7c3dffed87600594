#!/usr/bin/python3
"""Runs the cluster tests: real dlaunch, real ssh and sshd, nodes in namespaces; each case in a lab of its own. As root.

  tests/cluster/run.py [--only PART,...] [--jobs N] [--dlaunch FILE]     (or $DLAUNCH_BIN)
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, *(os.path.join(os.path.dirname(HERE), name) for name in ("process", "frameworks"))]
import lab  # noqa: E402
from runner import CaseSuite, main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(CaseSuite("cluster", HERE, "cluster_sandbox.ClusterSandbox", lab.command(), jobs=3, why_skipped=lab.why_not()), __doc__))
