"""What a cluster test case works with: the sandbox of the process tests, and a cluster beside it."""

import os
import subprocess

import lab
from cluster import Cluster
from expectations import expect
from processes import command_of, process_table, program_of, wait_until
from sandbox import Sandbox

LOOK = 0.01  # seconds between looks at processes that are to end


class ClusterSandbox(Sandbox):
    def __init__(self, folder, dlaunch, rank_program, namespaced):
        super().__init__(folder, dlaunch, rank_program, namespaced)
        self.cluster = None
        os.environ["PATH"] = lab.SEARCH

    def make_cluster(self, count):
        """The case's folder and the programs of the tests are on a file system that all nodes share."""
        self.cluster = Cluster(self.make_folder("cluster"), count, visible=[os.path.dirname(self.rank)]).up()
        return self.cluster

    def ssh(self, host, command, *options, check=True, patience=20.0, **more):
        """Plain ssh, as a user has it."""
        done = subprocess.run([self.cluster.ssh, *options, host, command], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=patience, check=False, env=self.environment, **more)
        expect(not check or done.returncode == 0, f"ssh {host} {command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def survivors(self):
        """Also on the nodes, whose processes are in the lab's PID namespace too. A session of sshd ends by itself, a little after the
        connection; finish() waits for that."""
        if self.cluster:
            self._own |= self.cluster.base()
        return [pid for pid in super().survivors() if not is_session(pid)]

    def expect_nodes_empty(self, what, patience=5.0, but=()):
        """Nothing runs on any node, except those named in `but`, that does not belong to the node itself."""
        def empty():
            return not [name for name in self.cluster.left() if name not in but]
        try:
            wait_until(empty, what, patience, LOOK)
        except AssertionError as error:
            left = [f"{name}: {pid} {command_of(pid)}" for name, pids in self.cluster.left().items() for pid in pids]
            raise AssertionError(f"{error}\n" + "\n".join(left)) from None

    def finish(self):
        super().finish()
        if self.cluster:
            self.expect_nodes_empty("the nodes are empty after the case")

    def close(self):
        super().close()
        if self.cluster:
            self.cluster.down()

    def table(self):
        return process_table()


def is_session(pid):
    return os.path.basename(program_of(pid)) == "sshd" and "[listener]" not in command_of(pid)
