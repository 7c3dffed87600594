#!/usr/bin/python3
"""Runs the watch tests: what dlaunch says of ranks that stand still, with real programs; each case in a lab of its own (tests/cluster). As root.

  tests/watch/run.py [--only PART,...] [--jobs N] [--dlaunch FILE]     (or $DLAUNCH_BIN)
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[:0] = [HERE, os.path.join(TESTS, "cluster"), os.path.join(TESTS, "process")]
import lab  # noqa: E402
from runner import CaseSuite, main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(CaseSuite("watch", HERE, "watch_sandbox.WatchSandbox", lab.command(), jobs=3, why_skipped=lab.why_not()), __doc__))
