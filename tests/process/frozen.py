"""A separate file system for a case, which can be frozen (ext4 on a loop device, fsfreeze(8)): a process that writes to
it waits in an uninterruptible system call, as on a network file system whose server is gone."""

import contextlib
import ctypes
import os
import subprocess

from expectations import Skip

SIZE = 48 << 20


def _run(*argv):
    try:
        return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    except OSError as error:  # the program is not installed
        return subprocess.CompletedProcess(argv, 127, f"{argv[0]}: {error.strerror}")


class Frozen:
    def __init__(self, folder):
        self.folder = folder
        self.is_frozen = False

    def freeze(self):
        done = _run("fsfreeze", "-f", self.folder)
        if done.returncode != 0:
            raise Skip(f"fsfreeze: {done.stdout.strip()}")
        self.is_frozen = True

    def thaw(self):
        if self.is_frozen:
            self.is_frozen = False
            _run("fsfreeze", "-u", self.folder)


@contextlib.contextmanager
def file_system(box):
    """Mounts the file system for the duration of a `with`; thaws and unmounts it at the end, whatever happens."""
    folder, image = box.make_folder("frozen"), box.path("frozen.img")
    with open(image, "wb") as file:
        file.truncate(SIZE)
    made = _run("mkfs.ext4", "-q", image)
    mounted = _run("mount", "-o", "loop", image, folder) if made.returncode == 0 else made
    if mounted.returncode != 0:
        raise Skip(f"no loop device to be had: {mounted.stdout.strip()}")
    frozen = Frozen(folder)
    try:
        yield frozen
    finally:
        frozen.thaw()
        box.reap()
        if _run("umount", folder).returncode != 0:
            _run("umount", "-l", folder)
        os.remove(image)


@contextlib.contextmanager
def silent_server(box):
    """A FUSE mount whose server never answers, so that every access to it waits."""
    folder = box.make_folder("silent")
    try:
        server = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise Skip(f"/dev/fuse: {error.strerror}") from error
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={server},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
    if libc.mount(b"silent", folder.encode(), b"fuse", 0, options.encode()) != 0:
        os.close(server)
        raise Skip(f"no FUSE mount: {os.strerror(ctypes.get_errno())}")
    try:
        yield folder
    finally:
        os.close(server)  # ends all requests
        libc.umount2(folder.encode(), 2)
