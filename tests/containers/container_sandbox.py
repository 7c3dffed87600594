"""What a container test case works with: the sandbox of the MPI tests, podman with its own store, and images."""

import os
import shutil
import subprocess

import lab
import root_filesystem
from expectations import Skip, expect, expect_equal
from mpi_sandbox import MpiSandbox
from processes import command_of
from stack_looks import StackLooks

STORE = "/run/dlaunch-test-store"  # /run is each lab's own
FILES = {
    "containers.conf": '[engine]\nruntime = "runc"\nevents_logger = "none"\nimage_copy_tmp_dir = "/run"\n[engine.runtimes]\nrunc = ["/usr/sbin/runc", "/usr/bin/runc"]\n',
    "storage.conf": f'[storage]\ndriver = "vfs"\nrunroot = "{STORE}/run"\ngraphroot = "{STORE}/graph"\n',
    "policy.json": '{"default": [{"type": "insecureAcceptAnything"}]}\n',
    "registries.conf": "",
}


class ContainerSandbox(StackLooks, MpiSandbox):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        lab.mount("tmpfs", "/run", "tmpfs", 0, "mode=755")
        os.makedirs("/etc/containers", exist_ok=True)
        lab.mount("tmpfs", "/etc/containers", "tmpfs", 0, "mode=755")
        for name, text in FILES.items():
            with open(os.path.join("/etc/containers", name), "w", encoding="ascii") as file:
                file.write(text)
        self.environment["PATH"] += ":/usr/sbin"
        self._uses_podman = False

    # --- images

    @property
    def shared(self):
        return os.path.dirname(self.rank)

    def needs(self, program, package):
        if not shutil.which(program, path=lab.SEARCH):
            raise Skip(f"missing package: {package}")

    def folder_image(self, kind="plain"):
        """The path of a root file system."""
        contents = {"plain": lambda: ((), ()), "mpi": self._mpi_contents, "python": root_filesystem.python}[kind]

        def make(path):
            files, trees = contents()
            # A dlaunch with sanitizers is not static, but it is the first process of every container.
            return root_filesystem.make(path, [*files, *root_filesystem.libraries_of([self.dlaunch])], trees)
        return root_filesystem.once(self.shared, f"image-{kind}", make)

    def _mpi_contents(self):
        files, trees = root_filesystem.open_mpi()
        programs = [self.program("world")]
        if self.compiles("mpicc.mpich"):
            programs.append(self.program("world", "mpicc.mpich"))
        return [*files, *root_filesystem.libraries_of(programs)], trees

    def charliecloud(self, kind="plain"):
        self.needs("ch-run", "charliecloud")
        return ["--set", "container.runtime=charliecloud", "--set", f"container.image={self.folder_image(kind)}"]

    def podman_image(self, kind="plain", name="localhost/test:1", **more):
        self.needs("podman", "podman")
        return self.import_image(self.folder_image(kind), name, **more)

    def import_image(self, root, name, workdir="/"):
        """The root file system as an image of podman's store of this case. `workdir`: its WORKDIR."""
        self.needs("podman", "podman")
        self.needs("runc", "runc")
        self._uses_podman = True
        tar = root_filesystem.once(self.shared, os.path.basename(root) + ".tar",
                                   lambda path: subprocess.run(["tar", "-C", root, "-cf", path, "."], check=True))
        command = f"podman import --quiet --change WORKDIR={workdir} {tar} {name}"
        subprocess.run(["sh", "-c", command], check=True, capture_output=True, env=self.environment, timeout=120)
        return name

    def podman(self, kind="plain", **more):
        return ["--set", "container.runtime=podman", "--set", f"container.image={self.podman_image(kind, **more)}"]

    # --- runs

    def ranks_in(self, container, ranks, *command, options=(), **more):
        return self.start("run", "-n", str(ranks), "--set", "framework=none", "--set", "env_pass=[CASE]", *container, *options, "--",
                          *command, **more)

    def containers(self):
        """The containers that podman lists."""
        done = subprocess.run(["podman", "ps", "--all", "--format", "{{.Names}} {{.Status}}"], capture_output=True, text=True,
                              check=True, env=self.environment, timeout=60)
        return done.stdout.splitlines()

    def entry_folders(self):
        return sorted(name for name in os.listdir("/tmp") if name.startswith("dlaunch-enter-") and
                      os.path.basename(self.run_folder()) in name)

    def expect_no_container(self):
        expect_equal(self.entry_folders(), [], "folders left in /tmp")
        if self._uses_podman:
            expect_equal(self.containers(), [], "containers left")

    def command_lines(self):
        """Of all processes that this case can see."""
        return [command_of(int(pid)) for pid in os.listdir("/proc") if pid.isdigit()]

    def error_of(self, run):
        expect(run.text.strip(), "nothing was said")
        return run.words
