"""Like tests/mpi/run_mpi_case.py; also provides the environments of the frameworks."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[:0] = [HERE, *(os.path.join(TESTS, name) for name in ("mpi", "cluster", "process"))]
import run_case  # noqa: E402
from frameworks_sandbox import FrameworksSandbox  # noqa: E402

if __name__ == "__main__":
    run_case.main(FrameworksSandbox)
