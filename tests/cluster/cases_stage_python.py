"""Environments of Python are staged to nodes that have neither them nor a Python that works. All is below /run, of which launcher and
nodes each have their own."""

import os
import shutil
import subprocess

from case import case
from cases_stage import JOB_FILE, NOT_COPIED, launch, staged, write
from expectations import Skip, expect, expect_equal, expect_in

import environments

RELEASE = "python3.11"
BASE = "/run/pythons/cpython-3.11"  # as tools that bring a Python of their own (uv, conda) put it somewhere
VENV = "/run/venvs/train"
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHOW = "import sys, extra; print(sys.prefix, sys.base_prefix, extra.NAME)"


def make_python(folder=BASE):
    """A CPython that needs nothing of the system: it finds its library from where it is."""
    os.makedirs(f"{folder}/bin")
    shutil.copy(f"/usr/bin/{RELEASE}", f"{folder}/bin/{RELEASE}")
    left_out = shutil.ignore_patterns("test", "tests", "__pycache__", "config-*", "idlelib", "tkinter", "ensurepip", "dist-packages", "pydoc_data")
    shutil.copytree(f"/usr/lib/{RELEASE}", f"{folder}/lib/{RELEASE}", symlinks=False, ignore=left_out, ignore_dangling_symlinks=True)
    return f"{folder}/bin/{RELEASE}"


def make_environment(python, folder=VENV):
    """With a module of its own. The variables are those of an active environment."""
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
    write(f"{packages(folder)}/extra.py", b"NAME = 'synced'\n")
    return {"VIRTUAL_ENV": folder, "PATH": f"{folder}/bin:/usr/bin:/bin"}


def packages(folder):
    return f"{folder}/lib/{RELEASE}/site-packages"


def without_python(cluster):
    for node in cluster.nodes:
        node.sh(f"mount -t tmpfs tmpfs /usr/lib/{RELEASE} && mount --bind /dev/null /usr/bin/{RELEASE}")


@case(budget=120)
def an_environment_and_its_python_on_bare_nodes(box):
    cluster = box.make_cluster(2)
    make_environment(make_python())
    without_python(cluster)
    stage = f"[{{from: {VENV}/}}, {{from: {BASE}}}]"
    show = (f"{VENV}/bin/python", "-c", SHOW)
    run = launch(box, stage, command=show).end(0)
    expect_equal(run.out.count(f"| {VENV} {BASE} synced".encode()), 2, "the ranks' Python")
    expect("environment" not in run.text, run.text)
    launch(box, stage, command=show).end(0)
    expect_equal([event["bytes"] for event in staged(box).values()], [0, 0], "sent again")
    write(f"{packages(VENV)}/extra.py", b"NAME = 'newer'\n")
    run = launch(box, stage, command=show).end(0)
    expect_equal(run.out.count(b" newer"), 2, "a package that has changed")
    expect_equal([event["bytes"] for event in staged(box).values()], [15, 15], "sent")


@case(budget=120)
def a_python_that_nodes_lack_is_named_before_anything_is_sent(box):
    cluster = box.make_cluster(2)
    env = make_environment(make_python())
    without_python(cluster)
    stage = f"[{{from: {VENV}}}]"
    show = ("python", "-c", SHOW)
    run = launch(box, stage, command=show, env=env).end(NOT_COPIED)
    expect_in(f"node[1-2]: {BASE}/bin/{RELEASE} does not exist, but the environment {VENV} needs it", run.words, "what is missing")
    expect_in(f"stage it too, to the same path: {{from: {BASE}}}", run.words, "what to do")
    expect(not os.path.exists(cluster[1].path(VENV)), "something is on node1")
    run = launch(box, f"{stage[:-1]}, {{from: {BASE}}}]", command=show, env=env).end(0)  # as the message says
    expect_equal(run.out.count(f"| {VENV} {BASE} synced".encode()), 2, "the ranks' Python")


@case(budget=120)
def an_active_environment_is_copied_as_the_error_says(box):
    box.make_cluster(1)
    env = make_environment("/usr/bin/python3")
    run = box.launch("python", "-c", SHOW, env=env).end(126)
    expect_in(f"""copy it there: --set 'stage=[{{from: "{VENV}"}}]'""", run.words, "what to do")
    run = launch(box, f'[{{from: "{VENV}"}}]', command=("python", "-c", SHOW), env=env).end(0)
    expect_in(f"{VENV} /usr synced".encode(), run.out, "the rank's Python")


@case
def packages_in_other_folders_and_links_are_needed_too(box):
    cluster = box.make_cluster(1)
    make_environment("/usr/bin/python3")
    for name in ("one", "two words", "three", "here"):
        write(f"/run/src/{name}/code.py", b"")
    write(f"{packages(VENV)}/_one.pth", b"import sys\n/run/src/one\n/run/src/gone\n")
    write(f"{packages(VENV)}/two-1.0.dist-info/direct_url.json", b'{"dir_info": {"editable": true}, "url": "file:///run/src/two%20words"}')
    write(f"{packages(VENV)}/four-1.0.dist-info/direct_url.json", b'{"dir_info": {}, "url": "file:///run/src/here"}')  # installed from there
    write(f"{packages(VENV)}/five-1.0.dist-info/direct_url.json", b"{")
    os.symlink("/run/src/three/code.py", f"{packages(VENV)}/three.py")
    os.symlink("/run/src/gone", f"{packages(VENV)}/gone.py")  # of no use here, too
    stage = f"{{from: {VENV}}}"
    run = launch(box, f"[{stage}]").end(NOT_COPIED)
    expect_in("and 2 more", run.words, "how many")
    for path in ("/run/src/one", '"/run/src/two words"', "/run/src/three/code.py"):
        expect_in(f"{{from: {path}}}", run.words, path)
    os.makedirs(cluster[1].path("/run/src/one"))  # one that the node has
    run = launch(box, f"[{stage}, {{from: /run/src/two words}}, {{from: /run/src/three/code.py}}]").end(0)
    expect("needs" not in run.text, run.text)


@case(budget=120)
def an_environment_of_conda_has_its_own_python(box):
    cluster = box.make_cluster(1)
    make_python("/run/envs/train")
    os.symlink(RELEASE, "/run/envs/train/bin/python")
    write("/run/envs/train/conda-meta/history", b"")
    write(f"/run/envs/train/lib/{RELEASE}/extra.py", b"NAME = 'conda'\n")  # Debian's Python has no site-packages of its own
    without_python(cluster)
    show = ("/run/envs/train/bin/python", "-c", SHOW)
    run = launch(box, "[{from: /run/envs/train}]", command=show).end(0)
    expect_in(b"/run/envs/train /run/envs/train conda", run.out, "the rank's Python")
    run = launch(box, "[{from: /run/envs/train, to: /run/other}]", command=("/run/other/bin/python", "-c", SHOW)).end(0)
    expect_in("scripts in the environment /run/other contain its path on this machine", run.words, "what may not work")


@case
def paths_from_home_and_the_same_target_twice(box):
    cluster = box.make_cluster(1)
    home = box.path("home")
    write(f"{home}/data/file", b"content")
    launch(box, "[{from: ~/data, to: /run/data}]").end(0)
    with open(cluster[1].path("/run/data/file"), "rb") as file:
        expect_equal(file.read(), b"content", "the copy")
    write("/run/data/file", b"other")
    run = launch(box, "[{from: /run/data/}, {from: ~/data, to: /run/data}]").end(JOB_FILE)
    expect_in(f"/run/data/ and {home}/data have the same target: /run/data", run.words, "the mistake")
    run = launch(box, "[{from: ~/missing}]").end(JOB_FILE)
    expect_in(f"{home}/missing: No such file or directory", run.words, "the mistake")


@case
def a_check_before_the_start_does_not_miss_what_is_staged(box):
    box.make_cluster(2)
    make_environment("/usr/bin/python3")
    box.write_job(f"command: {VENV}/bin/python -c \"{SHOW}\"\nworkdir: /\npreflight: {{checks: [node]}}\nstage: [{{from: {VENV}}}]\n")
    run = box.run("run", "job.yaml")
    expect_equal(run.out.count(f"| {VENV} /usr synced".encode()), 2, "the ranks' Python")
    box.write_job(f"command: {VENV}/bin/other -c 1\nworkdir: /\npreflight: {{checks: [node]}}\n")
    expect_in(f"{VENV}/bin/other", box.run("run", "job.yaml", code=75).words, "what is not staged")


def pytorch_on_disk(box):
    """(a folder with a CPython and an environment of PyTorch from PyPI, the environment). The packages are those of the cache: the same
    files under other names."""
    top = box.make_folder("bare")
    python, venv = make_python(f"{top}/pythons/cpython-3.11"), f"{top}/venv"
    make_environment(python, venv)
    (theirs,) = environments.packages_folders("torch")
    copied = subprocess.run(["cp", "-al", f"{theirs}/.", packages(venv)], check=False, stderr=subprocess.DEVNULL)
    if copied.returncode != 0:  # the cache is on another disk
        subprocess.run(["cp", "-a", f"{theirs}/.", packages(venv)], check=True)
    return top, venv


@case(budget=900, alone=True, long=True)
def pytorch_on_bare_nodes_and_a_training_on_it(box):
    """6 GB with the libraries of CUDA, to the disks of four nodes that have neither Python nor PyTorch."""
    why = environments.why_not("torch", ["torch", "numpy", "scikit-learn"])
    if why:
        raise Skip(why)
    top, venv = pytorch_on_disk(box)
    cluster = box.make_cluster(4)
    for number, node in enumerate(cluster.nodes):
        node.sh(f"mount --bind {box.make_folder(f'disk{number}')} {top}")
    without_python(cluster)
    script = os.path.join(TOP, "examples", "pytorch-ddp", "train.py")
    options = ("--set", f"sync={{paths: [{venv}, {top}/pythons/cpython-3.11]}}", "--set", "timeouts.stop=2s", "--env", "OMP_NUM_THREADS=1")
    run = box.launch(f"{venv}/bin/python", script, options=options).end(0, patience=600)
    expect_in("world of 4 ranks", run.out.decode(), "the training")
    expect_in("equal weights on all 4 ranks", run.out.decode(), "the training")
    sizes = [event["bytes"] for event in staged(box).values()]
    expect(min(sizes) > 2e9 and len(sizes) == 4, f"bytes that were sent: {sizes}")
    box.launch(f"{venv}/bin/python", "-c", "import torch; print(torch.__version__)", options=options).end(0, patience=120)
    expect_equal([event["bytes"] for event in staged(box).values()], [0, 0, 0, 0], "sent again")
