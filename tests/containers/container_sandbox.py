"""What a container test case works with: the sandbox of the MPI tests, a podman with its own store, a docker daemon of its own, and images."""

import os
import shutil
import signal
import subprocess

import lab
import root_filesystem
from expectations import Skip, expect, expect_equal
from mpi_sandbox import MpiSandbox
from processes import command_of, program_of, wait_until
from run_helpers import NOBODY
from stack_looks import StackLooks

STORE = "/run/dlaunch-test-store"  # /run is each lab's own
DOCKER = "/run/dlaunch-test-docker"
MS_BIND = 4096
DOCKERS_OWN = ("dockerd", "containerd", "containerd-shim-runc-v2")
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
        self._dockerd = None

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
            # dlaunch is the first process of every container, and with sanitizers it needs libraries.
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

    def tar_of(self, root):
        return root_filesystem.once(self.shared, os.path.basename(root) + ".tar",
                                    lambda path: subprocess.run(["tar", "-C", root, "-cf", path, "."], check=True))

    def podman_image(self, kind="plain", name="localhost/test:1", **more):
        self.needs("podman", "podman")
        return self.import_image(self.folder_image(kind), name, **more)

    def import_image(self, root, name, workdir="/"):
        """Makes the root file system an image in this case's podman store. `workdir`: its WORKDIR."""
        self.needs("podman", "podman")
        self.needs("runc", "runc")
        self._uses_podman = True
        command = f"podman import --quiet --change WORKDIR={workdir} {self.tar_of(root)} {name}"
        subprocess.run(["sh", "-c", command], check=True, capture_output=True, env=self.environment, timeout=120)
        return name

    def podman(self, kind="plain", **more):
        return ["--set", "container.runtime=podman", "--set", f"container.image={self.podman_image(kind, **more)}"]

    def podman_of(self, user, kind="plain", name="localhost/test:1"):
        """Like podman(), for an ordinary user (the options of as_nobody()), with its own store and ranges of ids."""
        self.needs("podman", "podman")
        self.needs("runc", "runc")
        self.needs("newuidmap", "uidmap")
        if not user:
            raise Skip("the tests do not run as root, so there is no other user")
        ranges = self.write("ranges-of-ids", "nobody:100000:65536\n")
        for path in ("/etc/subuid", "/etc/subgid"):
            lab.mount(ranges, path, None, MS_BIND)
        lab.mount("mqueue", self._made("/dev/mqueue"), "mqueue")
        runtime = self.make_folder("runtime-of-nobody")
        os.chown(runtime, NOBODY, NOBODY)
        self.environment.update(XDG_RUNTIME_DIR=runtime, USER="nobody", LOGNAME="nobody")
        self.write("runtime-of-nobody/containers.conf", FILES["containers.conf"].replace('"/run"', f'"{runtime}"'))
        self.environment["CONTAINERS_CONF"] = f"{runtime}/containers.conf"
        words = [*user["prefix"], "podman", "import", "--quiet", self.tar_of(self.folder_image(kind)), name]
        done = subprocess.run(words, check=False, capture_output=True, text=True, env=self.environment, timeout=120, cwd=user["cwd"])
        expect_equal(done.returncode, 0, f"podman import: {done.stderr}")
        self._own.add(int(self.read("runtime-of-nobody/libpod/tmp/pause.pid")))  # podman keeps its user namespace alive
        return ["--set", "container.runtime=podman", "--set", f"container.image={name}"]

    @staticmethod
    def _made(folder):
        os.makedirs(folder, exist_ok=True)
        return folder

    def docker(self, kind="plain", workdir="/", name="test:1"):
        """Makes an image in the store of this case's own docker daemon; returns the options of dlaunch for it."""
        self.needs("dockerd", "docker.io")
        self.needs("docker", "docker.io")
        if not self._dockerd:
            self._start_docker()
        self.ask_docker("import", "--change", f"WORKDIR {workdir}", self.tar_of(self.folder_image(kind)), name)
        return ["--set", "container.runtime=docker", "--set", f"container.image={name}"]

    def _start_docker(self):
        """Starts the daemon without a network of its own, because the containers have the node's."""
        self.environment["DOCKER_HOST"] = f"unix://{DOCKER}/socket"
        os.makedirs(DOCKER)
        words = ["dockerd", "--data-root", f"{DOCKER}/data", "--exec-root", f"{DOCKER}/run", "--pidfile", f"{DOCKER}/pid", "--host",
                 self.environment["DOCKER_HOST"], "--iptables=false", "--ip6tables=false", "--bridge=none"]
        with open(self.path("dockerd.log"), "wb") as log:
            self._dockerd = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment)
        try:
            wait_until(lambda: self._dockerd.poll() is not None or self.ask_docker("version", check=False).returncode == 0, "docker's daemon answers", 60, 0.2)
        except AssertionError:
            pass
        if self.ask_docker("version", check=False).returncode != 0:
            raise Skip("docker's daemon does not run here: " + self.read("dockerd.log").decode()[-300:])

    def ask_docker(self, *words, check=True):
        return subprocess.run(["docker", *words], capture_output=True, text=True, check=check, env=self.environment, timeout=120)

    # --- runs

    def survivors(self):
        return [pid for pid in super().survivors() if os.path.basename(program_of(pid) or "") not in DOCKERS_OWN]

    def close(self):
        super().close()
        if self._dockerd:
            self._dockerd.send_signal(signal.SIGTERM)
            self._dockerd.wait(30)

    def ranks_in(self, container, ranks, *command, options=(), **more):
        return self.start("run", "-n", str(ranks), "--set", "framework=none", "--set", "env_pass=[CASE]", *container, *options, "--",
                          *command, **more)

    def containers(self):
        """The names and states of the containers that podman or docker lists."""
        words = [self.engine, "ps", "--all", "--format", "{{.Names}} {{.Status}}"]
        return subprocess.run(words, capture_output=True, text=True, check=True, env=self.environment, timeout=60).stdout.splitlines()

    @property
    def engine(self):
        """The program that lists the containers; empty: there is none."""
        return "docker" if self._dockerd else "podman" if self._uses_podman else ""

    def entry_folders(self):
        return sorted(name for name in os.listdir("/tmp") if name.startswith("dlaunch-enter-") and
                      os.path.basename(self.run_folder()) in name)

    def expect_no_container(self):
        expect_equal(self.entry_folders(), [], "folders left in /tmp")
        if self.engine:
            wait_until(lambda: not self.containers(), f"{self.engine} lists no container", 10, 0.1)

    def command_lines(self):
        """The command lines of all processes that this case can see."""
        return [command_of(int(pid)) for pid in os.listdir("/proc") if pid.isdigit()]

    def error_of(self, run):
        expect(run.text.strip(), "nothing was said")
        return run.words
