"""What a framework test case works with: the sandbox of the MPI tests, the examples, and an environment for each row."""

import os
import shutil
import subprocess

import environments
from cluster import TOP
from expectations import Skip, expect
from mpi_sandbox import MpiSandbox


# DeepSpeed gets the address of the first rank from `hostname -I`, which does not list loopback.
ADDRESS = "link add eth0 type veth peer name other\naddr add 10.78.0.1/24 dev eth0\nlink set other up\nlink set eth0 up\n"


class FrameworksSandbox(MpiSandbox):
    def run_row(self, row, place, *more):
        """Starts the row's job as its README says, in a copy of examples/ that the nodes see. The job runs on the case's nodes if there are any, else
        here. `more`: further arguments."""
        why = environments.why_not(row.environment, [*row.versions.values(), *row.needs])
        if not why and row.name == "deepspeed_once" and self.cluster and not shutil.which("pdsh"):
            why = "missing packages: pdsh"
        if why:
            raise Skip(why)
        if not self.exists("examples"):
            shutil.copytree(os.path.join(TOP, "examples"), self.path("examples"))
        words = ["run", f"examples/{row.job}", *place.options]
        active = environments.variables(row.environment)
        if row.without:
            active = environments.make_without(row.environment, row.without, self.path("without"))
        variables = {**active, "PYTHONDONTWRITEBYTECODE": "1"}
        if not self.cluster:
            subprocess.run(["ip", "-batch", "-"], input=ADDRESS, text=True, check=True)
        else:
            expect(len(self.cluster.names) == 2, "rows are for two nodes")
            self.write("examples/deepspeed/hosts.txt", "".join(f"{name} slots=2\n" for name in self.cluster.names))
            words += ["--set", f"connect.ssh={self.cluster.ssh}"]
            # Launchers that connect to the nodes themselves find the same ssh.
            variables["PATH"] = os.path.dirname(self.cluster.ssh) + ":" + variables["PATH"]
        behind = more or (("--", *place.arguments) if place.arguments else ())
        return self.start(*words, *behind, env=variables)
