"""What a watch case works with: a run whose ranks stand still, and what `dlaunch stacks` says of it."""

import os

from cluster_sandbox import ClusterSandbox
from stack_looks import StackLooks, functions, main_thread

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "ranks", "stand.py")
PYTHON = "/usr/bin/python3"
__all__ = ["HERE", "PROGRAM", "PYTHON", "WatchSandbox", "functions", "main_thread"]


class WatchSandbox(StackLooks, ClusterSandbox):
    def stand(self, what, ranks=1, options=(), **more):
        """A run of ranks/stand.py, each of whose ranks has said that it is there."""
        run = self.start("run", "-n", str(ranks), "--set", "timeouts.stop=1s", *options, "--", PYTHON, PROGRAM, what, **more)
        self.expect_all("ready", ranks)
        return run
