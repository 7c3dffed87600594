"""What an MPI test case works with: the sandbox of the cluster tests, and programs of programs/."""

import json
import os
import signal
import socket
import subprocess
import time

import lab
from cluster_sandbox import ClusterSandbox
from expectations import expect, expect_equal
from mpi_programs import MpiPrograms


LOOK = ("ls -d /tmp/dlaunch-*/pmix-* /dev/shm/dlaunch-*/pmix-* /dev/shm/vader* /dev/shm/sm_segment* /dev/shm/*osc* /tmp/ompi.* /tmp/pmix* "
        "/var/tmp/dlaunch-*/pmix-* 2>/dev/null; true")


# On a node: as if OpenPMIx were not installed there.
HIDE_PMIX = "for f in /usr/lib/*/libpmix.so.2* /usr/lib/*/pmix2/lib/libpmix.so.2*; do mount --bind /dev/null \"$f\"; done"


def summary(box):
    return json.loads(box.read(box.run_folder(), "summary.json"))


def found_here():
    return set(subprocess.run(["sh", "-c", LOOK], capture_output=True, text=True, check=True).stdout.split())


class MpiSandbox(MpiPrograms, ClusterSandbox):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        # As on any machine: PMIx listens there.
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        # /tmp is the machine's, and other cases run beside this one.
        own = f"/tmp/dlaunch-{os.geteuid()}"
        os.makedirs(own, mode=0o700, exist_ok=True)
        lab.mount("tmpfs", own, "tmpfs", 0, "mode=700")
        lab.mount("tmpfs", "/dev/shm", "tmpfs", 0, "mode=1777")
        # Open MPI's folder there is that of all cases: one that another case makes or removes meanwhile is not this one's.
        os.makedirs(f"/tmp/ompi.{socket.gethostname()}.{os.geteuid()}/kept", mode=0o700, exist_ok=True)
        self._before = found_here()

    def own_files_of_mpirun(self):
        """Variables for Open MPI's mpirun: /tmp is the machine's, and Open MPI names its folder there after its pid, which other cases may share."""
        folder = self.path("mpirun")
        os.makedirs(folder, exist_ok=True)
        return {"OMPI_MCA_orte_tmpdir_base": folder}

    def mpi_here(self, ranks, *command, options=(), **more):
        """On the launcher's machine; more ranks than cores are allowed."""
        return self.start("run", "-n", str(ranks), "--set", "framework=mpi", "--set", "mpi.oversubscribe=true", *options, "--",
                          *command, **more)

    def mpi(self, shape, *command, options=(), **more):
        """Starts MPI ranks on the nodes that the case has created: `shape` is the number of ranks on each."""
        hosts = ", ".join(f"{{name: {name}, slots: {slots}}}" for name, slots in zip(self.cluster.names, shape))
        return self.start("run", "-n", str(sum(shape)), "--set", f"hosts=[{hosts}]", "--set", f"connect.ssh={self.cluster.ssh}",
                          "--set", "env_pass=[CASE]", "--set", "framework=mpi", *options, "--", *command, **more)

    def crash_at_once(self, program):
        """Rank 1 of `program` (endings.c) crashes on the second of two nodes, in a collective. The others would wait forever, so dlaunch must
        not wait for them, neither for their grace time nor for a limit. A successful run on this machine, with its current load, shows how long that
        may take."""
        began = time.monotonic()
        self.expect_code(self.mpi([1, 2], program, "fail", "0").end(patience=60), 3)
        usual = time.monotonic() - began
        began = time.monotonic()
        run = self.mpi([1, 2], program, "crash", "1", options=["--set", "timeouts.stop=10m"]).end(patience=60)
        took = time.monotonic() - began
        self.expect_code(run, 128 + signal.SIGSEGV)
        expect(took < 5 * usual + 20, f"the crash took {took:.1f} s, the exit of a rank {usual:.1f} s")
        return run

    def expect_code(self, run, code):
        """Of the rank that failed first. A library that sees another rank's connection close (Open MPI 5) fails, too, almost at once: within the error
        of the nodes' clocks dlaunch cannot tell which was first, and says so."""
        if "cannot tell which of ranks" in run.words:
            expect(run.code not in (0, None), f"exit code {run.code}")
        else:
            expect_equal(run.code, code, f"exit code\n{run.text}")

    def expect_no_files(self):
        """Nothing of PMIx or Open MPI is left here, or on any node."""
        left = {"launcher": found_here() - self._before}
        if self.cluster:
            left.update({name: self.ssh(name, LOOK).stdout for name in self.cluster.names})
        expect_equal({name: files for name, files in left.items() if files}, {}, "files left")
