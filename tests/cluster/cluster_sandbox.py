"""What a cluster test case works with: the sandbox of the process tests, and a cluster beside it."""

import os
import subprocess

import lab
from cluster import Cluster
from expectations import expect
from node import is_sshd
from processes import children_of, command_of, program_of, stat_of, wait_until
from sandbox import Sandbox

LOOK = 0.01  # seconds between checks of processes that must end


class ClusterSandbox(Sandbox):
    def __init__(self, folder, dlaunch, rank_program, namespaced):
        super().__init__(folder, dlaunch, rank_program, namespaced)
        self.cluster = None
        os.environ["PATH"] = lab.SEARCH

    def make_cluster(self, count, hidden=()):
        """The case's folder and the programs of the tests are on a file system that all nodes share; the run directory and what is
        `hidden` are not."""
        self.cluster = Cluster(self.make_folder("cluster"), count, visible=[os.path.dirname(self.rank)],
                               hidden=[self.make_folder("runs"), *hidden]).up()
        return self.cluster

    def ssh(self, host, command, *options, check=True, patience=20.0, **more):
        """Plain ssh, as a user has it."""
        done = subprocess.run([self.cluster.ssh, *options, host, command], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=patience, check=False, env=self.environment, **more)
        expect(not check or done.returncode == 0, f"ssh {host} {command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def launch(self, *command, hosts=None, ranks=1, options=(), **more):
        """dlaunch over ssh, with this many ranks on each host; by default on all nodes. Passes the variables that the tests' ranks need."""
        words = ["run", "--set", f"hosts=[{', '.join(hosts or self.cluster.names)}]", "--nproc-per-node", str(ranks),
                 "--set", f"connect.ssh={self.cluster.ssh}", "--set", "env_pass=[EVENTS, GATE, CASE]", *options]
        return self.start(*words, "--", *command, **more)

    def write_job(self, keys):
        """job.yaml: these keys, for a rank on each node."""
        self.write("job.yaml", f"{keys}hosts: [{', '.join(self.cluster.names)}]\nprocesses_per_node: 1\nconnect: {{ssh: {self.cluster.ssh}}}\n")

    def people(self, node):
        """(guardian, agent, [what the agent has started]) on a node, each None or empty where there is none."""
        ours = [pid for pid in node.processes(sessions=False) if os.path.basename(program_of(pid)) == "dlaunch"]
        guardian = next((pid for pid in ours if (stat_of(pid) or ("Z", 0))[1] not in ours), None)
        agent = next((pid for pid in ours if guardian and (stat_of(pid) or ("Z", 0))[1] == guardian), None)
        return guardian, agent, children_of(agent) if agent else []

    def survivors(self):
        """Also on the nodes, whose processes are in the lab's PID namespace too. A session of sshd ends by itself, a little after the
        connection; finish() waits for that."""
        if self.cluster:
            self._own |= self.cluster.base()
        return [pid for pid in super().survivors() if not is_sshd(pid)]

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
