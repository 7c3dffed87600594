"""Like tests/cluster/run_cluster_case.py; also provides container runtimes and images."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[:0] = [HERE, os.path.join(TESTS, "mpi"), os.path.join(TESTS, "cluster"), os.path.join(TESTS, "process")]
import run_case  # noqa: E402
from container_sandbox import ContainerSandbox  # noqa: E402

if __name__ == "__main__":
    run_case.main(ContainerSandbox)
