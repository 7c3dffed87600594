"""As tests/cluster/run_cluster_case.py, with programs that stand still."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[:0] = [HERE, os.path.join(TESTS, "cluster"), os.path.join(TESTS, "process")]
import run_case  # noqa: E402
from watch_sandbox import WatchSandbox  # noqa: E402

if __name__ == "__main__":
    run_case.main(WatchSandbox)
