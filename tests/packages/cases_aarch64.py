"""dlaunch for aarch64, built by packaging/aarch64.sh on another machine and run by qemu."""

import glob
import hashlib
import os
import re
import socket
import struct
import subprocess
import threading

import emulated_machine
import root_filesystem
from case import case
from expectations import Skip, expect, expect_equal, expect_in
from package_sandbox import JOB, TOP, by_kind, must_have

QEMU = "qemu-aarch64-static"
COMPILER = "aarch64-linux-gnu-g++"
SYSROOT = os.path.join(TOP, "build", "sysroot", "aarch64")
TICKET = b"t" * 32


def need_cross_tools():
    for tool in (COMPILER, QEMU):
        must_have(tool)


class Giver(threading.Thread):
    """A node that has `program` and sends it to whoever shows the ticket."""

    def __init__(self, program):
        super().__init__(daemon=True)
        self.program, self.ticket = program, b""
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.start()

    def run(self):
        while True:
            guest, _ = self.socket.accept()
            with guest:
                self.ticket = guest.recv(len(TICKET), socket.MSG_WAITALL)
                guest.sendall(self.program)

    def order(self, program=None, port=None):
        """struct Order of src/node/fetch/fetch_order.h."""
        wanted = self.program if program is None else program
        address = struct.pack("<H", socket.AF_INET) + struct.pack(">H", port or self.socket.getsockname()[1]) + bytes([127, 0, 0, 1]) + bytes(8)
        order = (hashlib.blake2b(wanted, digest_size=32).digest() + struct.pack("<QII", len(wanted), 10, len(address)) + address.ljust(28, b"\0")
                 + TICKET + bytes(4))
        return order.hex().encode() + b"\n"


@case
def the_program_that_fetches_dlaunch_runs_on_aarch64(box):
    """It makes system calls by number and has its own entry point, so each kind of processor has code of its own."""
    need_cross_tools()
    fetcher = box.path("dlaunch-fetch")
    subprocess.run([COMPILER, "-std=c++20", "-O2", "-ffreestanding", "-fno-exceptions", "-fno-rtti", "-fno-stack-protector", "-nostdlib", "-static", "-no-pie",
                    f"-I{TOP}/src", f"{TOP}/src/node/fetch/main.cc", "-o", fetcher], check=True)
    giver = Giver(bytes(range(251)) * 12000)
    got = box.run(fetcher, program=QEMU, stdin=giver.order())
    expect(got.out == giver.program, f"{len(got.out)} bytes arrived, not the {len(giver.program)} that were sent")
    expect_equal(giver.ticket, TICKET, "the ticket")
    for order, words in ((giver.order(giver.program[1:] + b"x"), "the data received is not the launcher's program"),
                         (giver.order(giver.program + b"x"), "the connection ended too early"), (giver.order(port=1), "no connection (errno 111)"),
                         (b"no hexadecimal digits".ljust(300), "a malformed order")):
        expect_equal(box.run(fetcher, program=QEMU, stdin=order, code=1).text, words + "\n", "the reason")


def build(box):
    """(the binary, packages by kind), built by the first case that needs them, which takes minutes. The sysroot has a kernel, too."""
    need_cross_tools()

    def make(folder):
        for command in (["cmake/sysroot.sh", "aarch64", "build", "aarch64"], ["packaging/aarch64.sh", "--out", folder]):
            made = subprocess.run([os.path.join(TOP, command[0]), *command[1:]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False)
            if "apt-get could not fetch" in made.stdout:
                raise Skip(f"packages for aarch64 cannot be fetched: {made.stdout.strip()[-150:]}")
            expect(made.returncode == 0, made.stdout[-3000:])

    packages = root_filesystem.once(os.path.dirname(box.rank), "packages-aarch64", make)
    return os.path.join(TOP, "build", "release-aarch64", "bin", "dlaunch"), by_kind(packages)


@case(budget=5400, long=True)
def packages_for_aarch64_hold_a_dlaunch_that_works(box):
    """qemu-user runs only this program: the ranks are programs of this machine."""
    binary, packages = build(box)
    for kind, name in (("tar.gz", "-linux-aarch64.tar.gz"), ("deb", "_arm64.deb"),
                       ("whl", "-py3-none-manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64.whl")):
        expect(packages[kind].endswith(name), f"the name of {packages[kind]}")
    with open(binary, "rb") as file:
        expect(TOP.encode() not in file.read(), f"{TOP} is in the binary")
    box.pack("second", "--run-with", QEMU, "--sysroot", SYSROOT, binary=binary, patience=60, env={"TZ": "Asia/Tokyo", "PYTHONHASHSEED": "7"})
    for kind, path in by_kind(box.path("second")).items():
        expect(box.read(path) == box.read(packages[kind]), f"two packagings differ: {os.path.basename(path)}")
    subprocess.run(["tar", "-xzf", packages["tar.gz"], "-C", box.path()], check=True)
    installed, = glob.glob(box.path("dlaunch-*", "bin", "dlaunch"))
    run = {"program": QEMU, "patience": 60}
    expect_in("features   PMIx, collectives over MPI\n", box.run(installed, "version", "--verbose", **run).out.decode(), "what it carries")
    expect_in("dlaunch works here", box.run(installed, "self-check", **run).out.decode(), "self-check")
    box.runs_a_job(box.run(installed, *JOB, **run))
    failed = box.run(installed, "run", "-n", "2", "--", "sh", "-c", "[ $RANK = 0 ] || exit 7; exec sleep 1000", code=7, **run)
    expect_in("rank 1 on", failed.text, "who failed")
    expect_in("unknown option", box.run(installed, "run", "--no-such-option", code=64, **run).text, "a mistake, found by an exception")
    programs = box.environment_of_pip()
    box.run("install", "--no-index", "--no-deps", "--only-binary=:all:", "--platform=musllinux_1_1_aarch64", "--target", box.path("target"), packages["whl"],
            program=os.path.join(programs, "pip"), patience=60)
    expect_in("Architecture: arm64\n", subprocess.run(["dpkg-deb", "--info", packages["deb"]], capture_output=True, text=True, check=True).stdout, "the .deb")


SCRIPT = """
dlaunch self-check
dlaunch run -n 2 -- sh -c 'echo rank $RANK of $WORLD_SIZE on $(uname -m)'
dlaunch run -n 2 -- sh -c '[ $RANK = 0 ] || exit 7; exec sleep 1000'; echo "code $?"
dlaunch run -n 1 -- /nowhere
for program in plain signed; do
  dlaunch run -n 1 -- /$program wait /tmp/counter &
  until dlaunch stacks --native 2>/dev/null | grep "read  /$program"; do sleep 0.2; done >/dev/null
  echo "stack of $program"; dlaunch stacks --native
  dlaunch stop; wait
done
dlaunch run -n 2 -- /plain spin /tmp/spun & pid=$!
until [ -s /tmp/spun ]; do sleep 0.2; done
kill -9 $pid
while ps | grep -q '[s]pun'; do sleep 0.2; done; echo "nothing is left"
"""


@case(budget=5400, long=True)
def it_works_on_a_kernel_for_aarch64(box):
    """With what qemu-user does not emulate: vfork, clone3 into a cgroup, ptrace, signed return addresses."""
    must_have("qemu-system-aarch64")
    binary, _ = build(box)
    files = {"bin/dlaunch": binary}  # there -> here
    for name, options in (("plain", []), ("signed", ["-mbranch-protection=standard"])):
        files[name] = box.path(name)
        subprocess.run([COMPILER, "-x", "c", "-O1", "-static", "-Wl,--eh-frame-hdr", *options, os.path.join(TOP, "tests", "watch", "ranks", "native.c"), "-o", files[name]], check=True)
    said = emulated_machine.run(box.folder, SYSROOT, files, SCRIPT, limit=600)
    for words in ("ok       kernel      Linux 6.1", "ok       ptrace ", "ok       cgroup ", "ok       namespaces ", "dlaunch works here", "2 ranks ok",
                  "rank 0 of 2 on aarch64", "rank 1 of 2 on aarch64", "code 7\n", 'cannot execute "/nowhere": No such file or directory', "nothing is left"):
        expect_in(words, said, "what the machine printed")
    for name in ("plain", "signed"):
        frames = re.findall(rf"^ +(\w+)  /{name}$", said.split(f"stack of {name}\n", 1)[1], re.MULTILINE)
        expect_equal(frames[frames.index("main"):][:4], ["main", "exported_step", "hidden_wait", "read"], f"frames of {name}")
