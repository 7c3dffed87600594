"""What a watch case works with: a run whose ranks stand still, and what `dlaunch stacks` says of it."""

import os
import signal

from cluster_sandbox import ClusterSandbox
from expectations import Skip
from processes import wait_until
from stack_looks import StackLooks, functions, main_thread

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "ranks", "stand.py")
PYTHON = "/usr/bin/python3"
__all__ = ["CpuLimit", "HERE", "PROGRAM", "PYTHON", "WatchSandbox", "functions", "main_thread"]


class WatchSandbox(StackLooks, ClusterSandbox):
    def stand(self, what, ranks=1, options=(), **more):
        """A run of ranks/stand.py, each of whose ranks has said that it is there."""
        run = self.start("run", "-n", str(ranks), "--set", "timeouts.stop=1s", *options, "--", PYTHON, PROGRAM, what, **more)
        self.expect_all("ready", ranks)
        return run


class CpuLimit:
    """A cgroup of either version whose processes have this share of a CPU."""

    def __init__(self, percent=5):
        self.quota = percent * 1000  # of a period of 100,000 us

    def __enter__(self):
        name = f"dlaunch-slow-{os.getpid()}-{os.urandom(6).hex()}"
        first = next((root for root in ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup") if os.path.exists(f"{root}/cgroup.procs")), None)
        if first is None:
            raise Skip("no cgroups here")
        self.path = os.path.join(first, name)
        limit = {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": str(self.quota)} if first.endswith("/cpu") else {"cpu.max": f"{self.quota} 100000"}
        try:
            os.mkdir(self.path)
            for file, text in limit.items():
                self._write(file, text)
        except OSError as reason:
            if os.path.isdir(self.path):
                os.rmdir(self.path)
            raise Skip(f"no limit of CPU time can be set in {first}: {reason}") from reason
        return self

    def hold(self, pids):
        for pid in pids:
            self._write("cgroup.procs", str(pid))

    def __exit__(self, kind, error, where):
        if error is not None:
            with open(os.path.join(self.path, "cgroup.procs"), encoding="ascii") as file:
                for pid in file.read().split():
                    os.kill(int(pid), signal.SIGKILL)

        def is_gone():
            try:
                os.rmdir(self.path)
            except OSError:
                return False
            return True
        wait_until(is_gone, "the cgroup can be removed")

    def _write(self, name, text):
        with open(os.path.join(self.path, name), "w", encoding="ascii") as file:
            file.write(text)
