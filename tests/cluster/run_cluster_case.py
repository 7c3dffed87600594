"""Like tests/process/run_case.py, in a process that is the init of a lab."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "process")]
import run_case  # noqa: E402
from cluster_sandbox import ClusterSandbox  # noqa: E402

if __name__ == "__main__":
    run_case.main(ClusterSandbox)
