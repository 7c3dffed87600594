"""For a sandbox whose cases run MPI programs: those of programs/, compiled once for all cases of a suite."""

import fcntl
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))


class MpiPrograms:
    """Needs the sandbox's `rank`: the folder of that program is seen by all cases and all nodes."""

    def compiles(self, compiler):
        """Debian's wrappers are there without the headers that they need."""
        return subprocess.run(["sh", "-c", f"echo '#include <mpi.h>' | {compiler} -E -x c - >/dev/null"], check=False,
                              capture_output=True).returncode == 0

    def program(self, name, compiler="mpicc.openmpi"):
        """Its path, the same on all nodes."""
        folder = os.path.dirname(self.rank)
        path = os.path.join(folder, f"{name}.{compiler.strip('/').replace('/', '-')}")
        with open(os.path.join(folder, "compiling"), "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.exists(path):
                source = os.path.join(HERE, "programs", f"{name}.c")
                # That of Intel MPI looks there for itself.
                env = {**os.environ, "I_MPI_ROOT": os.path.dirname(os.path.dirname(compiler))}
                subprocess.run([compiler, "-O1", "-Wall", "-Wextra", "-Werror", "-o", path, source], check=True, env=env)
        return path
