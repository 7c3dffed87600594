#!/usr/bin/python3
"""Runs the tests of the packages: packaging/make.py packs the dlaunch under test; each package is installed as a user does it, and runs a job.

  tests/packages/run.py [--only PART,...] [--jobs N] [--dlaunch FILE]     (or $DLAUNCH_BIN)
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[:0] = [os.path.join(TESTS, "process"), os.path.join(TESTS, "containers"), HERE]
import run as process_tests  # noqa: E402
from runner import CaseSuite, main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(CaseSuite("packages", HERE, "package_sandbox.PackageSandbox", process_tests.namespace_command()), __doc__))
