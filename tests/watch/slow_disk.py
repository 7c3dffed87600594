"""A real slow disk for a case: ext4 on a loop device whose writes the kernel throttles (blkio of cgroup v1, for the whole machine, since
the kernel's own threads write what a program has left in the page cache)."""

import contextlib
import os
import shutil
import subprocess

from expectations import Skip, expect

THROTTLE = "/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device"


def _said(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=False)


@contextlib.contextmanager
def slow_disk(box, size, bytes_per_second):
    """Its folder. Unmounting waits until everything is written, so it ends at full speed."""
    if shutil.which("mkfs.ext4") is None:
        raise Skip("missing: mkfs.ext4 (package e2fsprogs)")
    folder, image = box.make_folder("disk"), box.path("disk.img")
    with open(image, "wb") as file:
        file.truncate(size)
    made = _said("mkfs.ext4", "-q", image)
    mounted = _said("mount", "-o", "loop", image, folder) if made.returncode == 0 else made
    if mounted.returncode != 0:
        raise Skip(f"no loop device to be had: {mounted.stderr.strip()}")
    device = os.stat(folder).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    try:
        _limit(number, bytes_per_second)
        yield folder
    finally:
        with contextlib.suppress(Skip):
            _limit(number, 0)
        box.reap()
        expect(_said("umount", folder).returncode == 0 or _said("umount", "-l", folder).returncode == 0, "the disk can be unmounted")
        os.remove(image)


def _limit(number, bytes_per_second):
    try:
        with open(THROTTLE, "w", encoding="ascii") as file:
            file.write(f"{number} {bytes_per_second}")
    except OSError as error:
        raise Skip(f"no device can be throttled here: {error}") from error
