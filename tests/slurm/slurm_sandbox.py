"""What a Slurm test case works with: the sandbox of the cluster tests, and a Slurm over its nodes."""

import os
import time

import lab
from cluster import Cluster
from cluster_sandbox import ClusterSandbox
from expectations import expect
from mpi_programs import MpiPrograms
from slurm import Slurm, is_daemon


class SlurmSandbox(MpiPrograms, ClusterSandbox):
    def __init__(self, folder, dlaunch, rank_program, namespaced):
        super().__init__(folder, dlaunch, rank_program, namespaced)
        self.slurm = None

    def make_slurm(self, count, **settings):
        """Makes a cluster with Slurm. All nodes share the case's folder, including the run directory."""
        suite = os.path.dirname(self.rank)
        self.cluster = Cluster(self.make_folder("cluster"), count, visible=[suite]).up()
        self.slurm = Slurm(suite, self.cluster, **settings).up()
        self.environment.update(self.slurm.environment, PATH=lab.SEARCH)
        return self.slurm

    # --- jobs

    def allocate(self, *words, options=("-N2",), **more):
        """Starts `salloc OPTIONS dlaunch WORDS`, so that dlaunch is on a machine outside the allocation."""
        return self.start(*words, prefix=[lab.find("salloc"), "--quiet", *options], **more)

    def submit(self, *words, options=("-N2",), env=None, script=None):
        """Submits a batch script that executes `dlaunch WORDS`; returns the number of the job. The output of the script is in batch.out and
        batch.err."""
        text = script or "#!/bin/sh\nexec " + " ".join(quoted(word) for word in (self.dlaunch, *words)) + "\n"
        path = self.write("batch.sh", text, 0o755)
        said = self.slurm.command("sbatch", "--parsable", "-o", self.path("batch.out"), "-e", self.path("batch.err"), "-D", self.folder,
                                  *options, path, env={**self.environment, **(env or {})})
        return int(said.strip().split(";")[0])

    def batch_text(self):
        return "".join(self.read(name).decode(errors="replace") for name in ("batch.out", "batch.err") if self.exists(name))

    def end_of_job(self, number, code=None, state=None, patience=40.0):
        """Waits until the job is over, with this exit code and state."""
        job = self.slurm.wait_for_job(number, patience=patience)
        told = f"{job}\n{self.batch_text()}\n{self.slurm.logs()}"
        if state is not None:
            expect(job["JobState"] == state, f"the job is {job['JobState']} instead of {state}\n{told}")
        if code is not None:
            expect(job["ExitCode"] == f"{code}:0", f"exit code {job['ExitCode']} instead of {code}:0\n{told}")
        return job

    # --- processes

    def _nobody_is_left(self):
        """Never true with a Slurm, which may yet start the processes of a job in its queue."""
        return not self.slurm and super()._nobody_is_left()

    def survivors(self):
        if self.slurm:
            self._own |= set(self.slurm.pids())
        return [pid for pid in super().survivors() if not is_daemon(pid)]

    def expect_nodes_empty(self, what, patience=10.0, but=()):
        """Waits, because steps end a little after their processes."""
        deadline = time.monotonic() + patience
        while self.slurm and any(not is_daemon(pid) for pids in self.cluster.left().values() for pid in pids):
            expect(time.monotonic() < deadline, f"{what}: left {self.cluster.left()}")
            time.sleep(0.02)

    def close(self):
        super().close()
        if self.slurm:
            self.slurm.down()
            self.slurm = None


def quoted(word):
    return "'" + str(word).replace("'", "'\\''") + "'"
