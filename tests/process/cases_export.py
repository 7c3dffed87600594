"""dlaunch export mpirun. The script is started as a user would start it."""

import json
import os
import re
import shutil

from case import case
from cases_exec import AS_ROOT, SHOW
from expectations import Skip, expect, expect_equal, expect_in


def need(program):
    if shutil.which(program) is None:
        raise Skip(f"{program} is not installed")


def environment(box):
    """Variables with dlaunch in PATH, where the script looks for it."""
    folder = box.make_folder("bin")
    if not os.path.exists(os.path.join(folder, "dlaunch")):
        os.symlink(box.dlaunch, os.path.join(folder, "dlaunch"))
    return {"PATH": folder + ":" + box.environment["PATH"], "CASE": box.folder}


def exported(box, *words, **options):
    return box.run("export", "mpirun", *words, env=environment(box), **options)


def check_script(box, program):
    need(program)
    run = exported(box, "--mpirun", program, "-n", "2", "--", "sh", "-c", SHOW)
    box.start(box.write("job.sh", run.out), program="/bin/sh", env={**environment(box), **AS_ROOT}).end(0)
    found = [box.read(f"found.{rank}").decode().split() for rank in range(2)]
    for rank, words in enumerate(found):
        expect_equal(words[:5], [str(rank), str(rank), "2", "2", "0"], f"RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, NODE_RANK of rank {rank}")
        expect_equal(words[5:], found[0][5:], f"where rank {rank} meets the others")


@case
def the_script_for_open_mpi_runs(box):
    check_script(box, "mpirun.openmpi")


@case
def the_script_for_hydra_runs(box):
    check_script(box, "mpiexec.hydra")


@case
def values_are_quoted_and_secrets_are_not_there(box):
    need("mpirun.openmpi")
    box.write("job.yaml", "name: job\ncommand: [echo, \"it's\"]\nenv: {GREETING: \"it's me\"}\nenv_secret: [TOKEN]\nprocesses: 2\nframework: none\n")
    text = box.run("export", "mpirun", "job.yaml", "--mpirun", "mpirun.openmpi", env={"TOKEN": "hush-hush"}).out.decode()
    expect_in("export GREETING='it'\\''s me'\n", text, "value of env")
    expect_in(" -x GREETING ", text, "name of env")
    expect_in(" -x TOKEN ", text, "name of the secret")
    expect("hush-hush" not in text, "the secret is in the script")
    expect_in("cat >job.hosts <<'END'\n", text, "hostfile")
    expect_in(" dlaunch exec --framework none -- echo 'it'\\''s'\n", text, "command")


FAKE_MPIRUN = '''#!/bin/sh
[ "$1" = --version ] && echo 'mpirun (Open MPI) 4.1.4' && exit
printf '%s\\0' "$@" >"$CASE/words"
'''
HOSTILE = ["x\n touch owned #", "$(touch owned)", "`touch owned`", "it's; touch owned; '", "a\"; touch owned; \"", "../../owned", "-owned", "/owned",
           "END\ntouch owned\n", "x" * 3000, "\x1b[2J\\", "&& touch owned", "~", "*"]


@case
def nothing_of_a_job_becomes_shell_code_or_a_path_elsewhere(box):
    program = box.write("bin/mpirun", FAKE_MPIRUN)
    os.chmod(program, 0o755)
    for text in HOSTILE:
        quoted = json.dumps(text)
        folder = box.make_folder("run")
        work = box.make_folder("work " + text.replace("/", "|")[:200])
        box.write("job.yaml", f"name: {quoted}\ncommand: [echo, {quoted}]\nenv: {{X: {quoted}}}\nworkdir: {json.dumps(work)}\nprocesses: 2\nframework: none\n")
        script = exported(box, "job.yaml", "--mpirun", program).out
        expect_equal(script.count(b"\ncat >"), 1, f"{text!r}: lines that write a hostfile\n{script}")
        before = set(os.listdir(box.folder))
        box.start(box.write("job.sh", script), program="/bin/sh", cwd=folder, env={**environment(box), **AS_ROOT}).end(0)
        made = os.listdir(folder)
        expect(len(made) == 1 and re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\.hosts", made[0]), f"{text!r}: files that it makes: {made}")
        new = {name for name in set(os.listdir(box.folder)) - before if not name.startswith(("stdout-", "stderr-"))}
        expect_equal(new - {"job.sh", "words"}, set(), f"{text!r}: files elsewhere")
        words = box.read("words").decode().split("\0")[:-1]
        expect_equal(words[:2], ["--hostfile", made[0]], f"{text!r}: the hostfile")
        expect_equal(words[words.index("--wdir") + 1], work, f"{text!r}: the folder")
        expect_equal(words[-2:], ["echo", text], f"{text!r}: the command")
        os.unlink(os.path.join(folder, made[0]))


@case
def what_cannot_be_exported_is_said(box):
    run = box.run("export", "mpirun", "--mpirun", "no-such-mpirun", "--", "true", code=127)
    expect_in('there is no "no-such-mpirun" on this machine', run.text, "no mpirun")
    run = box.run("export", "mpirun", "--mpirun", "/bin/echo", "--", "true", code=64)
    expect_in("is neither Open MPI 4 or 5 nor Hydra", run.text, "another program")
    run = box.run("export", "mpirun", "--set", "launch=per-node", "--", "true", code=65)
    expect_in("cannot be exported", run.text, "launch: per-node")
    run = box.run("export", "pbs", code=64)
    expect_in('unknown format "pbs"', run.text, "format")
