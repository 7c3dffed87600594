"""A file system of its own for a case, which can be made to answer nothing (ext4 on a loop device, fsfreeze(8)): whoever writes to
it waits in an uninterruptible system call, as on a network file system whose server is gone."""

import contextlib
import os
import subprocess

from expectations import Skip

SIZE = 48 << 20


def _run(*argv):
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


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
    """Mounted for the length of a with; thawed and unmounted at its end, whatever happens."""
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
