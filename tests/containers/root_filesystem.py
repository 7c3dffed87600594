"""Makes root file systems of this machine's own programs, without a network and without foreign images."""

import fcntl
import glob
import os
import re
import shutil
import subprocess

# charliecloud(7), "ch-run": what must exist.
FOLDERS = ["bin", "dev", "etc", "home", "proc", "root", "run", "sys", "tmp", "usr/bin", "usr/lib", "var/tmp", "mnt", "opt/job"]
PYTHON = "/usr/bin/python3"


def libraries_of(paths):
    found = set()
    text = subprocess.run(["ldd", *paths], capture_output=True, text=True, check=False).stdout
    for path in re.findall(r"(/\S+) \(0x", text):
        found.add(path)
    return found


def put(root, path):
    """Copies the file to the same path below `root`; follows links."""
    target = root + path
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if not os.path.lexists(target):
        shutil.copy2(path, target)  # follows links


def put_tree(root, path):
    if os.path.isdir(path):
        shutil.copytree(path, root + path, symlinks=False, ignore_dangling_symlinks=True, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("test", "__pycache__", "idlelib", "ensurepip"))


def make(root, files=(), trees=()):
    """Makes a root file system with busybox, a few files of /etc, `files` with the libraries that they need, and `trees`."""
    for folder in FOLDERS:
        os.makedirs(os.path.join(root, folder), exist_ok=True)
    shutil.copy("/usr/bin/busybox", os.path.join(root, "bin/busybox"))
    for applet in subprocess.run(["/usr/bin/busybox", "--list"], capture_output=True, text=True, check=True).stdout.split():
        if applet != "busybox":
            os.symlink("busybox", os.path.join(root, "bin", applet))
    for name, text in {"passwd": "root:x:0:0:root:/root:/bin/sh\n", "group": "root:x:0:\n", "hosts": "127.0.0.1 localhost\n",
                       "resolv.conf": ""}.items():
        with open(os.path.join(root, "etc", name), "w", encoding="ascii") as file:
            file.write(text)
    wanted = set(files)
    for tree in trees:
        put_tree(root, tree)
        wanted |= {path for path in glob.glob(tree + "/**/*.so*", recursive=True) if os.path.isfile(path)}
    for path in set(files) | (libraries_of(sorted(wanted)) if wanted else set()):
        put(root, path)
    return root


def open_mpi():
    """(files, trees) that Open MPI's programs need in addition to what ldd finds."""
    libraries = glob.glob("/usr/lib/*/libmpi.so.40")[:1] + glob.glob("/usr/lib/*/libpmix.so.2")[:1]
    base = os.path.dirname(libraries[0]) if libraries else "/nowhere"
    return libraries, [f"{base}/openmpi", f"{base}/pmix2", "/usr/share/openmpi", "/usr/share/pmix2", "/etc/openmpi"]


def python():
    version = os.path.basename(os.path.realpath(PYTHON))
    return [os.path.realpath(PYTHON), PYTHON], [f"/usr/lib/{version}"]


def once(folder, name, build):
    """The path of NAME in `folder`, which all cases and nodes see. The first case that needs it builds it."""
    path = os.path.join(folder, name)
    with open(os.path.join(folder, name + ".lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(path):
            build(path + ".new")
            os.rename(path + ".new", path)
    return path
