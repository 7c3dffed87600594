"""The packages in bare root file systems of distributions, as a new user has them; the seconds to the first training run stay in
build/test-results/packages/first-run.txt."""

import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request

from case import case
from expectations import Skip, expect, expect_equal, expect_in
from package_sandbox import JOB, TOP, must_have

DEBIAN = ("bookworm", "http://deb.debian.org/debian", [])
# Debian has no key of Ubuntu's: what is fetched is only as trustworthy as the server, hence https.
UBUNTU = ("jammy", "https://archive.ubuntu.com/ubuntu", ["--no-check-gpg", "--components=main,universe"])
ALPINE = "https://dl-cdn.alpinelinux.org/alpine/v3.20/releases/x86_64/alpine-minirootfs-3.20.0-x86_64.tar.gz"
TRAIN = os.path.join(TOP, "tests", "packages", "train.py")
GOAL = 60  # seconds


def make_root(box, suite, mirror, options, *packages):
    must_have("debootstrap")
    root = box.make_folder("debian")
    include = [f"--include={','.join(packages)}"] if packages else []
    made = subprocess.run(["debootstrap", "--variant=minbase", *options, *include, suite, root, mirror], capture_output=True, text=True, check=False)
    if made.returncode != 0 and "InRelease" in made.stdout + made.stderr:
        raise Skip(f"{mirror} cannot be reached: {made.stderr.strip()[-100:]}")
    expect(made.returncode == 0, made.stdout[-2000:] + made.stderr[-500:])
    return root


def bring(box, root, kind):
    return "/tmp/" + os.path.basename(shutil.copy(box.packages()[kind], os.path.join(root, "tmp")))


def tarball_runs(box, root):
    box.in_root(root, "tar", "-xzf", bring(box, root, "tar.gz"), "-C", "/opt")
    folder, = (name for name in os.listdir(os.path.join(root, "opt")) if name.startswith("dlaunch-"))
    box.runs_a_job(box.in_root(root, f"/opt/{folder}/bin/dlaunch", *JOB))


def wheel_trains(box, root, what):
    """From the wheel, in an environment of pip, to the end of a training of two ranks, without a network: py-spy, which the wheel names, is left
    out, since training does not need it."""
    wheel = bring(box, root, "whl")
    shutil.copy(TRAIN, os.path.join(root, "root"))
    begun = time.monotonic()
    box.in_root(root, "python3", "-m", "venv", "/root/venv", patience=120)
    box.in_root(root, "/root/venv/bin/pip", "install", "--no-index", "--no-deps", wheel, patience=120)
    run = box.in_root(root, "/root/venv/bin/dlaunch", "run", "-n", "2", "--", "/root/venv/bin/python", "/root/train.py", patience=120)
    seconds = time.monotonic() - begun
    lines = [line.split(" | ")[1] for line in run.out.decode().splitlines()]
    learnt = sorted(line for line in lines if line.startswith("rank"))
    expect_equal(learnt, [f"rank {rank}: y = 3.0 x + -1.0" for rank in range(2)], "what was learnt")
    expect_in("2 ranks ok", run.text, "the verdict")
    folder = os.path.join(TOP, "build", "test-results", "packages")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "first-run.txt"), "a", encoding="utf-8") as file:
        file.write(f"{what}: {seconds:.1f} s from the wheel to the end of the first training run, with a load of {os.getloadavg()[0]:.0f}\n")
    others = max(1.0, os.getloadavg()[0] / os.cpu_count())  # a busy machine takes that many times as long
    expect(seconds < GOAL * others, f"{seconds:.1f} s from the wheel to the end of the first training run")


@case(budget=1200, long=True)
def a_bare_debian(box):
    root = make_root(box, *DEBIAN)
    box.in_root(root, "dpkg", "--install", bring(box, root, "deb"), patience=60)
    box.runs_a_job(box.in_root(root, "/usr/bin/dlaunch", *JOB))
    expect_in("dlaunch works here", box.in_root(root, "dlaunch", "self-check").out.decode(), "self-check")
    tarball_runs(box, root)


@case(budget=1200, long=True)
def a_debian_with_python(box):
    root = make_root(box, *DEBIAN, "python3-venv")
    wheel_trains(box, root, "Debian 12")


@case(budget=1200, long=True)
def an_ubuntu_with_python(box):
    root = make_root(box, *UBUNTU, "python3-venv")
    box.in_root(root, "dpkg", "--install", bring(box, root, "deb"), patience=60)
    box.runs_a_job(box.in_root(root, "/usr/bin/dlaunch", *JOB))
    tarball_runs(box, root)
    wheel_trains(box, root, "Ubuntu 22.04")


@case(budget=300, long=True)
def an_alpine(box):
    """musl; it has no Python, so the wheel's turn is a_wheel_suits_every_c_library."""
    root = box.make_folder("alpine")
    try:
        with urllib.request.urlopen(ALPINE, timeout=20) as answer, open(box.path("alpine.tar.gz"), "wb") as file:
            shutil.copyfileobj(answer, file)
    except (urllib.error.URLError, OSError) as error:
        raise Skip(f"{ALPINE} cannot be reached: {error}") from None
    subprocess.run(["tar", "-xzf", box.path("alpine.tar.gz"), "-C", root], check=True)
    tarball_runs(box, root)
