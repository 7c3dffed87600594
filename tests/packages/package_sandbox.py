"""What a case about packages works with: the packages of the dlaunch under test, environments of pip, and root file systems to install into."""

import os
import re
import shutil
import subprocess

import root_filesystem
from expectations import Skip, expect_equal, expect_in
from sandbox import Sandbox

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PYTHON = "/usr/bin/python3"
NETWORK = ("pip_", "uv_", "ssl_cert_", "requests_ca_", "http_", "https_", "all_proxy", "no_proxy")
JOB = ["run", "-n", "2", "--", "sh", "-c", "echo rank $RANK of $WORLD_SIZE"]
# $0: the root; then the command in it.
IN_A_ROOT = 'mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"'


class PackageSandbox(Sandbox):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        # How this machine reaches PyPI: mirrors, proxies, certificates.
        self.environment.update({name: value for name, value in os.environ.items() if name.lower().startswith(NETWORK)})
        self.environment.update({"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"})

    def pack(self, out, *arguments, binary=None, code=0, **options):
        return self.run(os.path.join(TOP, "packaging", "make.py"), "--binary", binary or self.dlaunch, "--out", self.path(out), *arguments, program=PYTHON,
                        code=code, **{"patience": 120, **options})

    def packages(self):
        """Made by the first case that needs them: "whl", "deb", "tar.gz" -> path."""
        return by_kind(root_filesystem.once(os.path.dirname(self.rank), "packages", self.pack))

    def runs_a_job(self, run):
        lines = sorted(line.split(" | ")[1] for line in run.out.decode().splitlines())
        expect_equal(lines, ["rank 0 of 2", "rank 1 of 2"], "output of the ranks")
        expect_in("2 ranks ok", run.text, "the verdict")

    # --- pip

    def environment_of_pip(self, name="venv"):
        """A fresh environment with pip: the folder of its programs."""
        made = subprocess.run([PYTHON, "-m", "venv", self.path(name)], capture_output=True, text=True, check=False)
        if made.returncode != 0:
            raise Skip("environments with pip cannot be made here (python3-venv): " + made.stdout.strip()[:100])
        return self.path(name, "bin")

    def needs_pypi(self, programs, *names):
        """Skips the case where packages of PyPI cannot be fetched."""
        fetched = subprocess.run([os.path.join(programs, "pip"), "download", "--quiet", "--no-deps", "--retries", "0", "--timeout", "10",
                                  "--dest", self.path("fetched"), *names], capture_output=True, text=True, check=False)
        if fetched.returncode != 0:
            raise Skip("PyPI cannot be reached: " + (fetched.stderr.strip().splitlines() or [""])[-1])

    # --- roots

    def bare_root(self, name="root"):
        """Only busybox."""
        if self.namespaced is False or os.geteuid() != 0:
            raise Skip("chroot needs root")
        if not os.path.exists("/usr/bin/busybox"):
            raise Skip("no busybox here (busybox-static)")
        return root_filesystem.make(self.path(name))

    def in_root(self, root, *argv, **options):
        return self.run("--mount", "sh", "-c", IN_A_ROOT, root, *argv, program="unshare", env={"HOME": "/root", "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}, **options)


def by_kind(folder):
    return {re.search(r"\.(whl|deb|tar\.gz)$", name)[1]: os.path.join(folder, name) for name in os.listdir(folder)}


def must_have(program):
    if shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin") is None:
        raise Skip(f"no {program} here")
