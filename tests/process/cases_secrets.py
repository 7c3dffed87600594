"""No secret where it does not belong, no open port, nothing of the job on dlaunch's command lines."""

import os

from case import case
from expectations import expect, expect_equal, expect_in
from processes import command_of

SECRET = "hf_S3cretValueThatNobodyMaySee"
OTHER = "t0pS3cretFromEnvPass"


def write_job(box, command):
    box.write("job.yaml", f"command: {command}\nprocesses: 2\nenv_secret: [HF_TOKEN]\n")


def files_below(folder):
    return [os.path.join(path, name) for path, _, names in os.walk(folder) for name in names]


def expect_nowhere(box, secret, run=None):
    for path in files_below(box.run_folder()):
        with open(path, "rb") as file:
            expect(secret.encode() not in file.read(), f"the secret is in {os.path.basename(path)}")
    if run:
        expect(secret.encode() not in run.out + run.err, "the secret is on the console")


@case
def a_secret_reaches_the_ranks_and_nothing_else(box):
    write_job(box, 'test "$HF_TOKEN" = ' + SECRET[:2] + '"${HF_TOKEN#??}" && echo ${#HF_TOKEN}')
    run = box.run("run", env={"HF_TOKEN": SECRET})
    for rank in (0, 1):
        expect_equal(box.rank_output(rank), f"{len(SECRET)}\n".encode(), "length of the secret in the rank")
    expect_nowhere(box, SECRET, run)


@case
def a_secret_is_nowhere_after_a_failure(box):
    write_job(box, "exit 3")
    run = box.run("run", env={"HF_TOKEN": SECRET}, code=3)
    expect_nowhere(box, SECRET, run)


@case
def a_secret_is_in_no_plan(box):
    write_job(box, "'true'")
    for arguments in (["plan"], ["plan", "--json"], ["plan", "--env", "0"], ["run", "--dry-run"]):
        run = box.run(*arguments, env={"HF_TOKEN": SECRET})
        expect(SECRET.encode() not in run.out + run.err, f"dlaunch {' '.join(arguments)} shows the secret")


@case
def a_secret_that_is_not_set_is_said_in_the_plan(box):
    write_job(box, "'true'")
    expect_in(b"HF_TOKEN", box.run("plan").out, "plan")


@case
def the_whole_environment_is_not_recorded(box):
    """Variables of the caller's environment are passed to ranks but not recorded."""
    run = box.run("run", "-n", "2", "--", "true", env={"SOME_TOKEN": OTHER})
    expect_nowhere(box, OTHER, run)


@case
def no_part_shows_more_than_the_users_own_command_line(box):
    run = box.start("run", "-n", "2", "--set", "env.COLOUR=blue", "--", box.rank, "tell", "ready", "gate", env={"HF_TOKEN": SECRET})
    box.expect_all("ready", 2)
    front = command_of(run.pid)
    for pid in run.chain():
        shown = command_of(pid)
        of_front = shown in front or front.startswith(shown.split(" ")[0])
        expect((of_front or shown.startswith("dlaunch: ")) and "COLOUR" not in shown, f"process {pid} shows {shown!r}")
        expect(SECRET not in shown, "a secret on a command line")
    for pid in run.ranks():
        expect("blue" not in command_of(pid) and SECRET not in command_of(pid), f"a variable on a rank's command line: {command_of(pid)}")
    box.open_gate()
    run.end(0)


def listening_inodes():
    found = set()
    for table in ("/proc/self/net/tcp", "/proc/self/net/tcp6"):
        try:
            with open(table, encoding="utf-8") as file:
                rows = [line.split() for line in file.read().splitlines()[1:]]
        except OSError:
            continue
        found |= {row[9] for row in rows if row[3] == "0A"}  # TCP_LISTEN, proc(5)
    return found


def sockets_of(pid):
    inodes = set()
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{name}")
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    return inodes


@case
def nothing_of_ours_listens(box):
    run = box.start("run", "-n", "2", "--", box.rank, "tell", "ready", "gate")
    box.expect_all("ready", 2)
    for pid in (run.pid, *run.chain()):
        expect(not sockets_of(pid) & listening_inodes(), f"process {pid} ({command_of(pid)}) listens on a TCP port")
    box.open_gate()
    run.end(0)


@case
def the_run_folder_is_private_enough(box):
    """A job's output may be confidential: only its owner may write, and the umask decides who reads."""
    run = box.run("run", "--", "echo", "out", before=lambda: os.umask(0o077))
    expect_equal(run.code, 0, "exit code")
    for path in [box.run_folder(), *files_below(box.run_folder())]:
        expect_equal(os.stat(path).st_mode & 0o077, 0, f"permissions of {os.path.basename(path)} for others")
