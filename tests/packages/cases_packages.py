"""Each package is made from the dlaunch under test, installed, tried, and removed."""

import base64
import csv
import hashlib
import io
import os
import re
import shutil
import subprocess
import zipfile

from case import case
from expectations import Skip, expect, expect_equal, expect_in
from package_sandbox import JOB, TOP, by_kind, must_have


@case
def the_same_binary_gives_the_same_bytes(box):
    first = box.packages()
    copy = shutil.copyfile(box.dlaunch, box.path("elsewhere"))
    os.chmod(copy, 0o700)
    box.pack("second", binary=copy, cwd="/", before=lambda: os.umask(0o077) and None,
                      env={"TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONHASHSEED": "7", "COLUMNS": "40"})
    second = by_kind(box.path("second"))
    expect_equal(sorted(first), ["deb", "tar.gz", "whl"], "packages")
    for kind, path in first.items():
        expect_equal(os.path.basename(second[kind]), os.path.basename(path), "name")
        expect(box.read(second[kind]) == box.read(path), f"two packagings differ: {os.path.basename(path)}")
    box.pack("later", env={"SOURCE_DATE_EPOCH": "1700000000"})
    listing = subprocess.run(["tar", "tvzf", by_kind(box.path("later"))["tar.gz"]], env={"TZ": "UTC", "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True).stdout
    expect(all("2023-11-14 22:13" in line for line in listing.splitlines()), "SOURCE_DATE_EPOCH is the time of every file")


@case
def cpack_makes_the_same_packages(box):
    settings = os.path.join(TOP, "build", "release", "CPackConfig.cmake")
    if not os.path.exists(settings):
        raise Skip(f"no {settings}: CMake has not configured the release build here")
    must_have("cpack")
    box.run("--config", settings, "-B", box.path("packed"), "-D", f"CPACK_DLAUNCH={box.dlaunch}", program="cpack", patience=60)
    for path in box.packages().values():
        expect(box.read(box.path("packed", os.path.basename(path))) == box.read(path), f"cpack's {os.path.basename(path)} differs from that of packaging/make.py")


@case
def the_binary_names_no_folder_of_its_build(box):
    """So that builds in two folders can be the same."""
    with open(box.dlaunch, "rb") as file:
        expect(TOP.encode() not in file.read(), f"{TOP} is in the binary")


@case(budget=5400, long=True)
def builds_in_two_folders_give_the_same_bytes(box):
    """The sources twice, compiled without ccache, which would share results."""
    tracked = subprocess.run(["git", "-c", f"safe.directory={TOP}", "ls-files", "-z"], cwd=TOP, capture_output=True, check=False)
    if tracked.returncode != 0:
        raise Skip("the sources are in no git repository: " + tracked.stderr.decode().strip())
    names = [name for name in tracked.stdout.decode().split("\0") if name and os.path.isfile(os.path.join(TOP, name))]
    binaries = []
    for folder in ("first", "further/down/the-second"):
        for name in names:
            os.makedirs(os.path.dirname(box.path(folder, name)), exist_ok=True)
            shutil.copy2(os.path.join(TOP, name), box.path(folder, name))
        for step in (["cmake", "--preset", "release"], ["cmake", "--build", "--preset", "release", "--target", "dlaunch"]):
            done = subprocess.run(step, cwd=box.path(folder), env={**os.environ, "CCACHE_DISABLE": "1"}, capture_output=True, text=True, check=False)
            expect(done.returncode == 0, f"{step} in {folder}: {done.stdout[-2000:]}{done.stderr[-500:]}")
        binaries.append(box.read(folder, "build/release/bin/dlaunch"))
        shutil.rmtree(box.path(folder, "build"))
    expect(binaries[0] == binaries[1], f"the binaries differ: {len(binaries[0])} and {len(binaries[1])} bytes")


@case
def a_wheel_installs_without_a_network(box):
    wheel, programs = box.packages()["whl"], box.environment_of_pip()
    pip = os.path.join(programs, "pip")
    before = files_below(box.path("venv"))
    box.run("install", "--no-index", "--no-deps", wheel, program=pip, patience=60)
    box.runs_a_job(box.run(*JOB, program=os.path.join(programs, "dlaunch")))
    version = box.run("--version", program=os.path.join(programs, "dlaunch")).out.decode().split()[-1]
    shown = box.run("show", "dlaunch", program=pip, patience=60).out.decode()
    for line in (f"Version: {version}\n", "Requires: py-spy\n"):
        expect_in(line, shown, "what pip knows")
    for name in ("man/man1/dlaunch-run.1", "bash-completion/completions/dlaunch"):
        expect(box.exists("venv", "share", name), f"no share/{name}")
    box.run("uninstall", "--yes", "dlaunch", program=pip, patience=60)
    expect_equal(files_below(box.path("venv")) - before, set(), "files that pip has left")


@case
def a_wheel_suits_every_c_library(box):
    wheel, programs = box.packages()["whl"], box.environment_of_pip()
    machine = re.search(r"_(\w+)\.whl$", wheel.replace("_2_17", "").replace("_1_1", ""))[1]
    for platform in ("manylinux2014", "manylinux_2_17", "musllinux_1_1"):
        box.run("install", "--no-index", "--no-deps", "--only-binary=:all:", f"--platform={platform}_{machine}", "--target", box.path(platform), wheel,
                program=os.path.join(programs, "pip"), patience=60)
        expect(os.access(box.path(platform, "bin", "dlaunch"), os.X_OK), f"not installed for {platform}")


@case
def a_wheel_records_what_it_holds(box):
    with zipfile.ZipFile(box.packages()["whl"]) as wheel:
        files = {name: wheel.read(name) for name in wheel.namelist()}
    record = next(name for name in files if name.endswith("/RECORD"))
    rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(files[record].decode()))}
    expect_equal(sorted(rows), sorted(files), "files")
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        expect_equal(rows[name], ["", ""] if name == record else [f"sha256={digest}", str(len(content))], name)
    with open(os.path.join(TOP, "LICENSE"), "rb") as file:
        expect_equal(files[record.replace("RECORD", "licenses/LICENSE")], file.read(), "LICENSE")
    for library in ("libyaml-cpp", "libsodium", "CLI11"):
        expect_in(library.encode().lower(), files[record.replace("RECORD", "licenses/NOTICES")].lower(), "licences of libraries")


@case(budget=240)
def a_wheel_brings_py_spy_and_runs_with_uvx(box):
    wheel, programs = box.packages()["whl"], box.environment_of_pip()
    box.needs_pypi(programs, "py-spy", "uv")
    box.run("install", wheel, "uv", program=os.path.join(programs, "pip"), patience=120)
    # The PATH lacks this environment: py-spy is found because it is beside dlaunch.
    parts = box.run("self-check", program=os.path.join(programs, "dlaunch")).out.decode()
    expect_in("ok       py-spy ", parts, "self-check")
    box.write("train.py", "import os\nprint('step of', os.environ['RANK'])\n")
    run = box.run("--from", wheel, "dlaunch", "run", "-n", "4", "--", "python3", "train.py", program=os.path.join(programs, "uvx"), patience=120)
    lines = sorted(line.split(" | ")[1] for line in run.out.decode().splitlines())
    expect_equal(lines, [f"step of {rank}" for rank in range(4)], "output of the ranks")


@case
def a_tarball_runs_where_there_is_only_busybox(box):
    root = box.bare_root()
    tarball = shutil.copy(box.packages()["tar.gz"], os.path.join(root, "tmp"))
    box.in_root(root, "tar", "-xzf", "/tmp/" + os.path.basename(tarball), "-C", "/opt")
    folder, = (name for name in os.listdir(os.path.join(root, "opt")) if name.startswith("dlaunch-"))
    box.runs_a_job(box.in_root(root, f"/opt/{folder}/bin/dlaunch", *JOB))
    said = box.in_root(root, f"/opt/{folder}/bin/dlaunch", "self-check").out.decode()
    expect_in("missing  ssh         not found: jobs run on this machine only", said, "self-check")
    expect_in("openssh-client", said, "what to install")
    expect_in("dlaunch works here", said, "the verdict")


@case
def a_deb_is_installed_and_removed_by_dpkg(box):
    must_have("dpkg")
    root, package = box.bare_root(), box.packages()["deb"]
    os.makedirs(os.path.join(root, "var/lib/dpkg/updates"))
    for name in ("status", "available"):
        box.write(f"root/var/lib/dpkg/{name}", "")
    dpkg = {"program": "dpkg", "env": {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}}
    before = files_below(root)
    box.run(f"--root={root}", "--force-script-chrootless", "--install", package, **dpkg)
    installed = files_below(root) - before
    for name in ("usr/bin/dlaunch", "usr/share/man/man1/dlaunch.1.gz", "usr/share/doc/dlaunch/copyright",
                 "usr/share/bash-completion/completions/dlaunch", "usr/share/zsh/vendor-completions/_dlaunch"):
        expect(name in installed, f"not installed: {name}")
    box.run(f"--root={root}", "--verify", "dlaunch", **dpkg)
    box.runs_a_job(box.in_root(root, "/usr/bin/dlaunch", *JOB))
    box.run(f"--root={root}", "--force-script-chrootless", "--purge", "dlaunch", **dpkg)
    expect_equal({name for name in files_below(root) - before if name.startswith("usr/")}, set(), "files that dpkg has left")


@case
def what_cannot_be_packed_is_refused(box):
    for binary, words in ((box.path("nowhere"), "build dlaunch first"), (box.write("text", "#!/bin/sh\n"), "is not a 64-bit program"),
                          ("/bin/true", "pack a static build")):
        run = box.pack("none", binary=binary, code=1)
        expect_in(words, run.text, "the error")
        expect_equal(len(run.text.splitlines()), 1, "lines")
    expect_in("SOURCE_DATE_EPOCH must be a number", box.pack("none", env={"SOURCE_DATE_EPOCH": "now"}, code=1).text, "the error")
    expect(not box.exists("none"), "a folder was made")


def files_below(folder):
    return {os.path.relpath(os.path.join(path, name), folder) for path, _, names in os.walk(folder) for name in names if not name.endswith(".pyc")}
