"""Like tests/process/run_case.py, in a process that is the init of a lab."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[:0] = [HERE, os.path.join(TESTS, "mpi"), os.path.join(TESTS, "cluster"), os.path.join(TESTS, "process")]
import run_case  # noqa: E402
from slurm_sandbox import SlurmSandbox  # noqa: E402

if __name__ == "__main__":
    run_case.main(SlurmSandbox)
