#!/usr/bin/python3
"""Runs real training with each framework, from the job files of examples/, on one machine and on two nodes in namespaces with real sshd
(tests/cluster). As root. tests/frameworks/setup.sh makes environments with what Debian lacks; rows whose environment is missing are skipped.

  tests/frameworks/run.py [--only PART,...] [--jobs N] [--dlaunch FILE]     (or $DLAUNCH_BIN)
  tests/frameworks/run.py --table     all rows; then rewrites the table of docs/reference/frameworks.md, unless one failed
"""

import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[:0] = [HERE, *(os.path.join(TESTS, name) for name in ("mpi", "cluster", "process", "support"))]
import lab  # noqa: E402
import results  # noqa: E402
import table  # noqa: E402
from runner import CaseSuite, main  # noqa: E402


def why_not():
    """Why this machine cannot have a lab; each row checks what else it needs."""
    return lab.why_not()


def run_suite():
    return main(CaseSuite("frameworks", HERE, "frameworks_sandbox.FrameworksSandbox", lab.command(), why_skipped=why_not()), __doc__)


def run_for_table():
    with tempfile.TemporaryDirectory(prefix="dlaunch-frameworks-table-") as folder:
        path = os.path.join(folder, "cases.json")
        sys.argv += ["--all", "--results", path]
        code = run_suite()
        if code == 0:
            table.write(results.read(path))
            print("written: docs/reference/frameworks.md")
        return code


if __name__ == "__main__":
    if "--table" in sys.argv[1:]:
        sys.argv.remove("--table")
        sys.exit(run_for_table())
    sys.exit(run_suite())
