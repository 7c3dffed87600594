"""A machine with another processor, emulated by qemu: Debian's kernel and busybox, and files of a case, all of it in memory. It has no disk and no network."""

import os
import subprocess

INIT = """#!/bin/sh
export PATH=/bin HOME=/root TMPDIR=/tmp
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp
mkdir /dev/pts /dev/shm; mount -t devpts pts /dev/pts; mount -t tmpfs shm /dev/shm; mount -t cgroup2 cgroup /sys/fs/cgroup
hostname arm; ifconfig lo 127.0.0.1 up; cd /root
echo "<begin>"; sh /script 2>&1 | cat; echo "<end>"
poweroff -f
"""


def archive(files):
    """Of the form that the kernel unpacks (its Documentation/driver-api/early-userspace/buffer-format.rst). `files`: path -> (mode, bytes)."""
    out = bytearray()
    for number, (path, (mode, content)) in enumerate([*files.items(), ("TRAILER!!!", (0, b""))]):
        name = path.encode() + b"\0"
        fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0)
        out += b"070701" + b"".join(b"%08x" % field for field in fields) + name
        out += bytes(-len(out) % 4) + content
        out += bytes(-len(out) % 4)
    return bytes(out)


def run(folder, sysroot, files, script, limit):
    """What the script prints in a machine that has these programs (path there -> path here) and busybox."""
    kernel = next(os.path.join(sysroot, "boot", name) for name in os.listdir(os.path.join(sysroot, "boot")) if name.startswith("vmlinuz-"))
    content = {name: (0o040755, b"") for name in ("bin", "dev", "proc", "sys", "tmp", "root")}
    content["bin/sh"] = (0o120777, b"busybox")
    content["init"] = (0o100755, INIT.encode())
    content["script"] = (0o100755, script.encode())
    for there, here in {"bin/busybox": os.path.join(sysroot, "bin", "busybox"), **files}.items():
        with open(here, "rb") as file:
            content[there] = (0o100755, file.read())
    memory = os.path.join(folder, "initrd")
    with open(memory, "wb") as file:
        file.write(archive(content))
    # This processor signs return addresses (pauth); the cheap signature makes the emulation fast.
    done = subprocess.run(["qemu-system-aarch64", "-M", "virt", "-cpu", "max,pauth-impdef=on", "-smp", "2", "-m", "1024", "-nographic", "-no-reboot",
                           "-nic", "none", "-kernel", kernel, "-initrd", memory, "-append", "console=ttyAMA0 quiet panic=-1"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit, check=False)
    text = done.stdout.decode(errors="replace").replace("\r", "")
    if "<end>\n" not in text:
        raise AssertionError("the machine did not come to its end:\n" + text[-3000:])
    return text.split("<begin>\n", 1)[1].split("<end>\n")[0]
