#!/usr/bin/python3
"""Packs a built dlaunch: a wheel for pip and uv, a .deb, and a tarball. Needs only Python's standard library.

  packaging/make.py [--binary FILE] [--out FOLDER] [--run-with PROGRAM] [--sysroot FOLDER]

The binary says its version, prints its manual pages and completions, and must be static. The same binary gives the
same bytes: every file gets the time SOURCE_DATE_EPOCH (seconds; default: the beginning of 1980). For a binary of
another processor (packaging/aarch64.sh), PROGRAM runs it, such as qemu-aarch64-static, and FOLDER has the libraries
that were linked into it, with their licences.
"""

import argparse
import errno
import os
import struct
import subprocess
import sys
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
sys.path.insert(0, HERE)
import deb  # noqa: E402
import tarball  # noqa: E402
import wheel  # noqa: E402

EARLIEST = 315532800  # 1980-01-01, the first that a zip file can hold
MACHINES = {62: "x86_64", 183: "aarch64"}  # e_machine of elf(5)
PT_INTERP = 3
SHELLS = {"bash": "share/bash-completion/completions/dlaunch", "zsh": "share/zsh/site-functions/_dlaunch",
          "fish": "share/fish/vendor_completions.d/dlaunch.fish"}


class Mistake(Exception):
    pass


@dataclass
class Release:
    """What all packages hold. `files`: path below the prefix -> bytes; those below bin/ are executable."""
    version: str
    machine: str
    time: int
    files: dict
    licence: bytes
    notices: bytes  # the licences of the libraries that are linked into the binary
    readme: bytes


def read(*path):
    with open(os.path.join(TOP, *path), "rb") as file:
        return file.read()


def machine_of(program, path):
    """The machine of a static ELF file, as uname(1) names it."""
    if program[:6] != b"\x7fELF\x02\x01":
        raise Mistake(f"{path} is not a 64-bit program of Linux")
    machine, = struct.unpack_from("<H", program, 18)
    headers, = struct.unpack_from("<Q", program, 32)
    size, count = struct.unpack_from("<HH", program, 54)
    if any(struct.unpack_from("<I", program, headers + i * size)[0] == PT_INTERP for i in range(count)):
        raise Mistake(f"{path} needs the libraries of this machine: pack a static build (cmake --preset release)")
    if machine not in MACHINES:
        raise Mistake(f"{path} is for a processor that the packages have no name for (e_machine {machine})")
    return MACHINES[machine]


def output_of(*argv):
    try:
        ran = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        advice = "; name an emulator with --run-with" if getattr(error, "errno", 0) == errno.ENOEXEC else ""
        raise Mistake(f"{' '.join(argv)}: {error}{advice}") from error
    if ran.returncode != 0:
        raise Mistake(f"{' '.join(argv)}: exit code {ran.returncode}: {ran.stderr.decode(errors='replace').strip()}")
    return ran.stdout


def manual_pages(dlaunch):
    names = [""] + [line.split("\t")[0] for line in output_of(*dlaunch, "complete", "").decode().splitlines()]
    return {f"share/man/man1/dlaunch{'-' if name else ''}{name}.1": output_of(*dlaunch, "man", *([name] if name else [])) for name in names}


def library_packages():
    """The packages of cmake/packages.txt that a build links, and those that come with the compiler."""
    rows = [line.split() for line in read("cmake", "packages.txt").decode().splitlines()]
    return ["libc6-dev", "g++"] + [row[1] for row in rows if row[:1] == ["build"] and row[1].endswith("-dev")]


def notices(sysroot):
    """Their licences. The compiler and its libraries are this machine's, even if the other libraries are in `sysroot`."""
    texts = []
    for package in library_packages():
        try:
            with open(f"{'' if package == 'g++' else sysroot}/usr/share/doc/{package}/copyright", "rb") as file:
                texts.append(f"==== {package}\n\n".encode() + file.read())
        except OSError as error:
            raise Mistake(f"the licence of {package} is missing ({error}): pack on the machine that built dlaunch") from error
    return b"\n".join(texts)


def collect(path, time, run_with, sysroot):
    try:
        program = read(os.path.abspath(path))
    except OSError as error:
        raise Mistake(f"{error}: build dlaunch first (cmake --build --preset release), or name it with --binary") from error
    machine, dlaunch = machine_of(program, path), [*run_with, os.path.abspath(path)]
    version = output_of(*dlaunch, "--version").decode().split()[-1]
    files = {"bin/dlaunch": program, **manual_pages(dlaunch)}
    files.update({where: output_of(*dlaunch, "completion", shell) for shell, where in SHELLS.items()})
    return Release(version, machine, time, files, read("LICENSE"), notices(sysroot), read("README.md"))


def time_of_files():
    text = os.environ.get("SOURCE_DATE_EPOCH", str(EARLIEST))
    if not text.isdecimal() or int(text) >= 2**32:
        raise Mistake(f"SOURCE_DATE_EPOCH must be a number of seconds since 1970, not {text!r}")
    return max(int(text), EARLIEST)


def write(folder, name, content):
    """A reader sees the whole file or none."""
    path = os.path.join(folder, name)
    with open(path + ".part", "wb") as file:
        file.write(content)
    os.replace(path + ".part", path)
    print(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=os.path.join(TOP, "build", "release", "bin", "dlaunch"))
    parser.add_argument("--out", default=os.path.join(TOP, "build", "packages"))
    parser.add_argument("--run-with", metavar="PROGRAM", nargs=1, default=[])
    parser.add_argument("--sysroot", metavar="FOLDER", default="")
    options = parser.parse_args()
    try:
        release = collect(options.binary, time_of_files(), options.run_with, options.sysroot)
        os.makedirs(options.out, exist_ok=True)
        for kind in (wheel, deb, tarball):
            write(options.out, *kind.pack(release))
    except (Mistake, OSError) as error:
        print(f"packaging/make.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
