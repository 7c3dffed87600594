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
        """Makes a cluster whose nodes all share the case's folder and the programs of the tests, but not the run directory and the `hidden`
        folders."""
        self.cluster = Cluster(self.make_folder("cluster"), count, visible=[os.path.dirname(self.rank)],
                               hidden=[self.make_folder("runs"), *hidden]).up()
        return self.cluster

    def ssh(self, host, command, *options, check=True, patience=20.0, **more):
        """Runs plain ssh, as a user would."""
        done = subprocess.run([self.cluster.ssh, *options, host, command], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=patience, check=False, env=self.environment, **more)
        expect(not check or done.returncode == 0, f"ssh {host} {command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def launch(self, *command, hosts=None, ranks=1, options=(), **more):
        """Starts dlaunch over ssh, with this many ranks on each host, by default on all nodes. Passes the variables that the tests' ranks need."""
        words = ["run", "--set", f"hosts=[{', '.join(hosts or self.cluster.names)}]", "--nproc-per-node", str(ranks),
                 "--set", f"connect.ssh={self.cluster.ssh}", "--set", "env_pass=[EVENTS, GATE, CASE]", *options]
        return self.start(*words, "--", *command, **more)

    def write_job(self, keys):
        """Writes job.yaml with these keys, for one rank on each node."""
        self.write("job.yaml", f"{keys}hosts: [{', '.join(self.cluster.names)}]\nprocesses_per_node: 1\nconnect: {{ssh: {self.cluster.ssh}}}\n")

    def people(self, node):
        """(guardian, agent, [children of the agent]) on a node; None, None and [] if there are none."""
        ours = [pid for pid in node.processes(sessions=False) if os.path.basename(program_of(pid)) == "dlaunch"]
        guardian = next((pid for pid in ours if (stat_of(pid) or ("Z", 0))[1] not in ours), None)
        agent = next((pid for pid in ours if guardian and (stat_of(pid) or ("Z", 0))[1] == guardian), None)
        return guardian, agent, children_of(agent) if agent else []

    def survivors(self):
        """Includes the processes of the nodes, which are also in the lab's PID namespace, except those of sshd: its sessions end by themselves, a
        little after the connection, and finish() waits for that."""
        if self.cluster:
            self._own |= self.cluster.base()
        return [pid for pid in super().survivors() if not is_sshd(pid)]

    def expect_nodes_empty(self, what, patience=5.0, but=()):
        """Waits until only the nodes' own processes run on all nodes except those named in `but`."""
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
