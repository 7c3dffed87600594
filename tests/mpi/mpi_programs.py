"""For sandboxes whose cases run MPI programs: compiles those of programs/ once for all cases of a suite."""

import fcntl
import os
import shutil
import subprocess

from expectations import expect_equal

HERE = os.path.dirname(os.path.abspath(__file__))


def why_not():
    return "" if shutil.which("mpicc.openmpi") else "missing package: libopenmpi-dev"


class MpiPrograms:
    """Needs the sandbox's `rank`, because all cases and all nodes see the folder of that program."""

    def compiles(self, compiler):
        """Whether it can compile: Debian's wrappers may be installed without the headers that they need."""
        return subprocess.run(["sh", "-c", f"echo '#include <mpi.h>' | {compiler} -E -x c - >/dev/null"], check=False,
                              capture_output=True).returncode == 0

    def expect_world(self, ranks):
        """world.c has checked a ring, sums over all ranks and which ranks share a node; rank 0 prints the result."""
        outputs = b"".join(self.rank_output(rank) for rank in range(ranks))
        expect_equal(outputs, b"world ok %d\n" % ranks, "output of all ranks")

    def program(self, name, compiler="mpicc.openmpi"):
        """The path of the compiled program, the same on all nodes."""
        folder = os.path.dirname(self.rank)
        path = os.path.join(folder, f"{name}.{compiler.strip('/').replace('/', '-')}")
        with open(os.path.join(folder, "compiling"), "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.exists(path):
                source = os.path.join(HERE, "programs", f"{name}.c")
                # The compiler of Intel MPI looks there for its own files.
                env = {**os.environ, "I_MPI_ROOT": os.path.dirname(os.path.dirname(compiler))}
                subprocess.run([compiler, "-O1", "-Wall", "-Wextra", "-Werror", "-o", path, source], check=True, env=env)
        return path
