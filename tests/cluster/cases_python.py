"""Which Python the ranks of a node would get, and what is known about it before anything starts. Environments are made below /run, of
which launcher and nodes each have their own."""

import os
import shutil
import subprocess

from case import case
from cases_sync import Job, last_run
from expectations import expect, expect_equal, expect_in

PYTHON = "/usr/bin/python3"
CANNOT_EXECUTE = 126


def make_environment(folder):
    """A real environment, as dlaunch finds it when it is active."""
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", folder], check=True)
    return {"VIRTUAL_ENV": folder, "PATH": f"{folder}/bin:/usr/bin:/bin"}


def started(box):
    """What the ranks of the last run left."""
    return os.listdir(os.path.join(last_run(box), "attempt-0"))


@case
def an_active_environment_that_a_node_lacks_is_refused(box):
    cluster = box.make_cluster(2)
    env = make_environment("/run/venv")
    shutil.copytree("/run/venv", cluster[1].path("/run/venv"), symlinks=True)
    show = ["python3", box.write("show.py", "import sys; print(sys.prefix)\n")]
    run = box.launch(*show, env=env).end(CANNOT_EXECUTE)
    expect_in("node2: the virtual environment /run/venv, active here, is not there: python3 would be /usr/bin/python3 (Python 3.",
              run.text, "what is missing and what would be taken")
    expect("node1" not in run.text.split("make it there")[0], run.text)
    expect_in("on node2: python3 -m venv /run/venv && /run/venv/bin/pip install", run.text, "what to do")
    expect_equal(started(box), [], "left by ranks")
    cluster[2].sh("python3 -m venv --without-pip /run/venv")  # as the message says
    run = box.launch(*show, env=env).end(0)
    expect_equal(run.out.count(b"| /run/venv"), 2, "the ranks' Python")


@case
def a_key_lets_nodes_use_their_own_python(box):
    box.make_cluster(2)
    env = make_environment("/run/venv")
    show = ["python3", box.write("show.py", "import sys; print(sys.prefix)\n")]
    run = box.launch(*show, env=env).end(CANNOT_EXECUTE)
    expect_in("--set active_env=optional", run.text, "what turns it off")
    run = box.launch(*show, env=env, options=["--set", "active_env=optional"]).end(0)
    expect_equal(run.out.count(b"| /usr"), 2, "the ranks' Python")
    expect("environment" not in run.text, run.text)


@case
def a_sync_leaves_the_environment_out_and_that_is_said(box):
    """As uv makes it: .venv in the workdir, with its own .gitignore. (uv also names itself in pyvenv.cfg.)"""
    cluster = box.make_cluster(2)
    job = Job(box)
    env = make_environment(job.path(".venv"))
    job.write(".venv/.gitignore", "*\n")
    with open(job.path(".venv/pyvenv.cfg"), "a", encoding="utf-8") as file:
        file.write("uv = 0.9.5\n")
    job.write("pyproject.toml", '[project]\nname = "job"\nversion = "1"\n')
    run = job.launch("python3", "show.py", env=env).end(CANNOT_EXECUTE)
    expect_in(f"node[1-2]: the virtual environment {job.path('.venv')}, active here, is not there: python3 would be /usr/bin/python3",
              run.text, "what is missing")
    expect_in(f"on node1: cd {job.root} && uv sync", run.text, "what to do")
    expect_in("sync: true copies nothing that a .gitignore file names", run.text, "why")
    expect(os.path.exists(job.on(cluster[1], "show.py")), "the workdir was copied")
    for line in ("cd . && python3 show.py", "./run.sh"):
        job.write("run.sh", "#!/bin/sh\nexec python3 show.py\n", 0o755)
        box.write_job(f"""
command: {line}
workdir: {job.root}
sync: true
""")
        run = box.run("run", "job.yaml", env=env, code=CANNOT_EXECUTE)
        expect_in("active here, is not there: python3 would be /usr/bin/python3", run.text, line)


@case
def an_environment_whose_python_is_not_there_is_none(box):
    cluster = box.make_cluster(2)
    env = make_environment("/run/venv")
    for node in cluster.nodes:
        shutil.copytree("/run/venv", node.path("/run/venv"), symlinks=True)
    cluster[2].sh("ln -sfn /opt/gone/python3.12 /run/venv/bin/python3")
    run = box.launch("python3", "-c", "pass", env=env).end(CANNOT_EXECUTE)
    expect_in("node2: the virtual environment /run/venv, active here, has no usable bin/python3 there "
              "(it leads to /opt/gone/python3.12: No such file or directory): python3 would be /usr/bin/python3", run.text, "why")
    expect("node1" not in run.text.split("make it there")[0], run.text)


@case
def an_environment_that_the_job_does_not_use_is_a_note(box):
    box.make_cluster(2)
    env = make_environment("/run/venv")
    run = box.launch("/bin/true", env=env).end(0)
    expect_in("note: the environment /run/venv, active here, is not on node[1-2]; this job does not seem to use it", run.text, "a note")
    box.launch("/usr/bin/python3", "-c", "pass", env=env).end(0)
    box.write("activate", "PATH=/usr/bin:/bin\n")
    box.write_job("""
command: python3 -c pass
setup: . ./activate
""")
    box.run("run", "job.yaml", env=env)


@case
def another_version_is_said_before_the_start(box):
    cluster = box.make_cluster(2)
    env = make_environment("/run/venv")
    for node in cluster.nodes:
        shutil.copytree("/run/venv", node.path("/run/venv"), symlinks=True)
    cluster[2].sh("sed -i 's/^version = .*/version = 3.9.1/' /run/venv/pyvenv.cfg")
    run = box.launch("python3", box.write("show.py", ""), env=env).end(0)
    expect_in("note: python3 is Python 3.", run.text, "a note")
    expect_in("3.9 on node2", run.text, "which")


@case
def a_module_that_other_nodes_have_is_said_before_the_start(box):
    cluster = box.make_cluster(3)
    env = make_environment("/run/venv")
    for node in cluster.nodes:
        shutil.copytree("/run/venv", node.path("/run/venv"), symlinks=True)
        if node is not cluster[2]:
            node.sh("for d in /run/venv/lib/python3.*/site-packages; do touch $d/helper.py; done")
    run = box.launch("python3", box.write("show.py", "import json\nimport helper\n"), env=env).end(1)
    expect_in('note: node2: no module "helper" was found for /run/venv/bin/python3; node[1,3] have it', run.text, "a note")
    expect("json" not in run.text, run.text)
    expect_in("  why     the interpreter was /run/venv/bin/python3 (Python 3.", run.text, "which Python")


@case
def scripts_and_modules_that_are_not_there_are_errors_before_the_start(box):
    cluster = box.make_cluster(2)
    box.write("train.py", "")
    box.write("trainer/task.py", "")
    run = box.launch(PYTHON, "trian.py").end(CANNOT_EXECUTE)
    expect_in(f'node[1-2]: cannot read "{box.path("trian.py")}": No such file or directory, did you mean "train.py"?', run.text, "the script")
    run = box.launch(PYTHON, "-m", "trainer.tsk").end(CANNOT_EXECUTE)
    expect_in('node[1-2]: no module "trainer.tsk" for /usr/bin/python3, did you mean "trainer.task"?', run.text, "the module")
    expect_equal(started(box), [], "left by ranks")
    box.launch(PYTHON, "-m", "trainer.task").end(0)
    cluster[2].sh("mkdir /var/tmp/lib && touch /var/tmp/lib/only2.py")
    run = box.launch(PYTHON, "-m", "only2", options=["--set", "env.PYTHONPATH=/var/tmp/lib"]).end(CANNOT_EXECUTE)
    expect_in('node1: no module "only2" for /usr/bin/python3', run.text, "on one node")
    expect("node2" not in run.text, run.text)


@case
def what_setup_makes_is_not_missing(box):
    box.make_cluster(2)
    box.write_job("""
command: python3 made.py
setup: echo "print('made')" > made.py
workdir: /var/tmp
""")
    expect_equal(box.run("run", "job.yaml").out.count(b"made"), 2, "ranks")


@case
def a_missing_workdir_could_be_copied(box):
    cluster = box.make_cluster(2)
    job = Job(box)
    job.write("data", "x" * 4000)
    job.write(".gitignore", "*.log\n")
    job.write("a.log", "x" * 1000)
    options = ["--set", f"workdir={job.root}"]
    run = box.launch(PYTHON, "show.py", options=options).end(CANNOT_EXECUTE)
    expect_in(f'node[1-2]: cannot enter the workdir "{job.root}": No such file or directory (it must exist on every node)', run.text, "what")
    expect_in("try: --sync, which copies it there first (3 files, 4.0 kB), or a folder that all nodes share", run.text, "what to do")
    box.launch(PYTHON, "show.py", options=[*options, "--sync"]).end(0)
    expect(os.path.exists(job.on(cluster[2], "data")), "the workdir was copied")
    run = box.launch("/bin/true", options=["--set", "workdir=/run/nowhere"]).end(CANNOT_EXECUTE)
    expect("sync" not in run.text, f"there is nothing to copy: {run.text}")
