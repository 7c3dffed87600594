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


# After this command, a node looks as if OpenPMIx were not installed.
HIDE_PMIX = "for f in /usr/lib/*/libpmix.so.2* /usr/lib/*/pmix2/lib/libpmix.so.2*; do mount --bind /dev/null \"$f\"; done"


def summary(box):
    return json.loads(box.read(box.run_folder(), "summary.json"))


def found_here():
    return set(subprocess.run(["sh", "-c", LOOK], capture_output=True, text=True, check=True).stdout.split())


class MpiSandbox(MpiPrograms, ClusterSandbox):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        # PMIx listens on loopback, which is up on any machine.
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        # /tmp is the machine's, and other cases run beside this one.
        own = f"/tmp/dlaunch-{os.geteuid()}"
        os.makedirs(own, mode=0o700, exist_ok=True)
        lab.mount("tmpfs", own, "tmpfs", 0, "mode=700")
        lab.mount("tmpfs", "/dev/shm", "tmpfs", 0, "mode=1777")
        # All cases share Open MPI's folder in /tmp. Keep it there, so that no other case makes or removes it meanwhile.
        os.makedirs(f"/tmp/ompi.{socket.gethostname()}.{os.geteuid()}/kept", mode=0o700, exist_ok=True)
        self._before = found_here()

    def own_files_of_mpirun(self):
        """Variables for Open MPI's mpirun. It would name its folder in /tmp after its pid, which an mpirun of another case may also have."""
        folder = self.path("mpirun")
        os.makedirs(folder, exist_ok=True)
        return {"OMPI_MCA_orte_tmpdir_base": folder}

    def mpi_here(self, ranks, *command, options=(), **more):
        """Starts MPI ranks on the launcher's machine; there may be more ranks than cores."""
        return self.start("run", "-n", str(ranks), "--set", "framework=mpi", "--set", "mpi.oversubscribe=true", *options, "--",
                          *command, **more)

    def mpi(self, shape, *command, options=(), **more):
        """Starts MPI ranks on the case's nodes. `shape`: the number of ranks on each node."""
        hosts = ", ".join(f"{{name: {name}, slots: {slots}}}" for name, slots in zip(self.cluster.names, shape))
        return self.start("run", "-n", str(sum(shape)), "--set", f"hosts=[{hosts}]", "--set", f"connect.ssh={self.cluster.ssh}",
                          "--set", "env_pass=[CASE]", "--set", "framework=mpi", *options, "--", *command, **more)

    def crash_at_once(self, program):
        """Rank 1 of `program` (endings.c) crashes on the second of two nodes, in a collective. The others would wait forever, so dlaunch must not
        wait for them until a grace time or limit is over. A run in which a rank exits shows how long an ending may take on this machine with its
        current load."""
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
        """Checks the exit code, which is that of the rank that failed first. If a library notices that another rank's connection has closed (Open MPI
        5), it fails almost at the same time. Within the error of the nodes' clocks, dlaunch then cannot tell which rank was first, and says so."""
        if "cannot tell which of ranks" in run.words:
            expect(run.code not in (0, None), f"exit code {run.code}")
        else:
            expect_equal(run.code, code, f"exit code\n{run.text}")

    def expect_no_files(self):
        """Checks that PMIx and Open MPI have left no files here or on any node."""
        left = {"launcher": found_here() - self._before}
        if self.cluster:
            left.update({name: self.ssh(name, LOOK).stdout for name in self.cluster.names})
        expect_equal({name: files for name, files in left.items() if files}, {}, "files left")
