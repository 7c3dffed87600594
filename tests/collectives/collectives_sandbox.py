"""What a case of the collective library works with: the sandbox of the MPI tests, and programs that are built once for all cases, against an
installed dlaunch, as a user would build them."""

import fcntl
import os
import shutil
import subprocess

from mpi_sandbox import MpiSandbox

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))


def run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")


def build(sources, folder, prefix):
    run("cmake", "-S", sources, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DDLAUNCH_SOURCES={TOP}/src")
    run("cmake", "--build", folder, "-j2")


class CollectivesSandbox(MpiSandbox):
    def built(self, name):
        """The path of a program of programs/, or of the example's `average`. All nodes see it."""
        folder = os.path.dirname(self.rank)
        prefix = os.path.join(folder, "prefix")
        with open(os.path.join(folder, "building"), "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.exists(os.path.join(folder, "built")):
                run("cmake", "--install", os.environ["DLAUNCH_BUILD"], "--prefix", prefix)
                build(os.path.join(HERE, "programs"), os.path.join(folder, "programs"), prefix)
                example = shutil.copytree(os.path.join(TOP, "examples/collectives-average"), os.path.join(folder, "example"))
                build(example, os.path.join(example, "build"), prefix)
                with open(os.path.join(folder, "built"), "w", encoding="ascii"):
                    pass
        return os.path.join(folder, *(("example", "build", name) if name == "average" else ("programs", name)))
