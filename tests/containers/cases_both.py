"""What is true of every container, tested with podman, docker and Charliecloud."""

import os
import signal
import subprocess

from case import case
from expectations import Skip, expect, expect_equal, expect_in
from processes import wait_until
from run_helpers import NOBODY, as_nobody

SECRET = "s3cr3t-v4lue"


def output(box, rank=0):
    """What the rank has printed so far; an empty text if there is no run folder yet."""
    return box.rank_output(rank).decode() if box.exists("runs") and box.runs() else ""


# --- variables

def variables(box, container):
    script = 'echo "$RANK $WORLD_SIZE $MINE $TOKEN"; [ -z "$ONLY_OUTSIDE" ] && echo clean; echo "$LINES"; touch here; kill -STOP $$; echo on'
    run = box.ranks_in(container, 2, "sh", "-c", script,
                       options=["--set", "framework=pytorch", "--set", "env={MINE: my value}", "--set", "env_secret=[TOKEN, LINES]"],
                       env={"TOKEN": SECRET, "LINES": "one\ntwo", "ONLY_OUTSIDE": "1"})
    wait_until(lambda: output(box, 0).count("\n") == 4 and output(box, 1).count("\n") == 4, "the ranks have said all", 30, 0.05)
    seen = [line for line in box.command_lines() if SECRET in line]
    expect_equal(seen, [], "command lines with a value")
    records = ""
    if box.engine:
        names = [line.split()[0] for line in box.containers()]
        expect_equal(len(names), 2, f"containers: {names}")
        records = subprocess.run([box.engine, "inspect", *names], capture_output=True, text=True, check=True, env=box.environment).stdout
        expect("RANK" not in records and SECRET not in records and "MINE" not in records, f"{box.engine} inspect shows a variable of the rank")
    for rank in range(2):
        expect_equal(output(box, rank), f"{rank} 2 my value {SECRET}\nclean\none\ntwo\n", f"output of rank {rank}")
    run.signal(signal.SIGTERM)
    run.end(143)
    expect(SECRET not in box.read(box.run_folder(), "plan.json").decode(), "the secret is in plan.json")
    box.expect_no_container()


@case
def podman_variables(box):
    variables(box, box.podman())


@case
def docker_variables(box):
    variables(box, box.docker())


@case
def charliecloud_variables(box):
    variables(box, box.charliecloud())


# --- ends

def exit_code(box, container):
    run = box.ranks_in(container, 2, "sh", "-c", "echo out; echo err >&2; exit 7").end(7)
    expect_in("exited with code 7", box.error_of(run), "report")
    both = {output(box, 0), output(box, 1)}
    expect("out\n" in both, f"output: {both}")
    box.expect_no_container()


def killed(box, container):
    run = box.ranks_in(container, 1, "sh", "-c", "kill -SEGV $$; sleep 1").end(139)
    expect_in("was killed by SIGSEGV", box.error_of(run), "report")
    box.expect_no_container()


@case
def podman_exit_code(box):
    exit_code(box, box.podman())


@case
def podman_of_an_ordinary_user(box):
    """Without root, podman makes a user namespace, in which the rank has the user's number."""
    user = as_nobody(box)
    os.chmod(box.folder, 0o755)
    container = box.podman_of(user)
    run = box.ranks_in(container, 2, "sh", "-c", "id -u; pwd; touch of-$DLAUNCH_RANK; exit 7", **user).end(7)
    expect_in("exited with code 7", box.error_of(run), "report")
    expect_in(f"{NOBODY}\n{user['cwd']}\n", "".join(box.rank_output(rank, runs="of-nobody/runs").decode() for rank in range(2)), "the output of both")
    made = [os.stat(os.path.join(user["cwd"], name)).st_uid for name in os.listdir(user["cwd"]) if name.startswith("of-")]
    expect(made and set(made) == {NOBODY}, f"owners of the files: {made}")


@case
def docker_exit_code(box):
    exit_code(box, box.docker())


@case
def charliecloud_exit_code(box):
    exit_code(box, box.charliecloud())


@case
def podman_signal(box):
    killed(box, box.podman())


@case(long=True)
def docker_signal(box):
    killed(box, box.docker())


@case
def charliecloud_signal(box):
    killed(box, box.charliecloud())


def program_is_not_in_the_image(box, container):
    run = box.ranks_in(container, 1, "no-such-program").end(127)
    expect_in('cannot execute "no-such-program": No such file or directory', box.error_of(run), "report")
    box.expect_no_container()


@case
def podman_program_is_not_in_the_image(box):
    program_is_not_in_the_image(box, box.podman())


@case(long=True)
def docker_program_is_not_in_the_image(box):
    program_is_not_in_the_image(box, box.docker())


@case
def charliecloud_program_is_not_in_the_image(box):
    program_is_not_in_the_image(box, box.charliecloud())


# --- stopping

def grace(box, container):
    """The program gets TERM and takes its time; a helper of it ignores TERM."""
    script = ('trap "echo saving; sleep 1; echo saved; exit 3" TERM; (trap "" TERM; sleep 300) & echo ready; '
              'while :; do sleep 0.1; done')
    run = box.ranks_in(container, 2, "sh", "-c", script, options=["--set", "timeouts.stop=20s"])
    wait_until(lambda: "ready" in output(box, 0) and "ready" in output(box, 1), "both are ready", 30, 0.05)
    run.signal(signal.SIGTERM)
    run.end(143)
    for rank in range(2):
        expect_equal(output(box, rank), "ready\nsaving\nsaved\n", f"output of rank {rank}")
    box.expect_no_container()


@case
def podman_grace(box):
    grace(box, box.podman())


@case
def docker_grace(box):
    grace(box, box.docker())


@case
def charliecloud_grace(box):
    grace(box, box.charliecloud())


def no_grace(box, container):
    run = box.ranks_in(container, 1, "sh", "-c", 'trap "" TERM; echo ready; while :; do sleep 0.1; done',
                       options=["--set", "timeouts.stop=1s"])
    wait_until(lambda: "ready" in output(box), "it is ready", 30, 0.05)
    run.signal(signal.SIGTERM)
    run.end(143)
    box.expect_no_container()


@case
def podman_no_grace(box):
    no_grace(box, box.podman())


@case(long=True)
def docker_no_grace(box):
    no_grace(box, box.docker())


@case
def charliecloud_no_grace(box):
    no_grace(box, box.charliecloud())


# --- files

@case
def podman_stdin_and_large_output(box):
    data = b"".join(b"line %d\n" % i for i in range(50000))
    box.ranks_in(box.podman(), 1, "cat", options=["--set", "stdin=rank0"], stdin=data).end(0)
    expect(box.rank_output(0) == data, "output is not what was put in")
    box.expect_no_container()


@case
def docker_stdin_and_large_output(box):
    data = b"".join(b"line %d\n" % i for i in range(50000))
    box.ranks_in(box.docker(), 1, "cat", options=["--set", "stdin=rank0"], stdin=data).end(0)
    expect(box.rank_output(0) == data, "output is not what was put in")
    box.expect_no_container()


@case
def charliecloud_stdin_and_large_output(box):
    data = b"".join(b"line %d\n" % i for i in range(50000))
    box.ranks_in(box.charliecloud(), 1, "cat", options=["--set", "stdin=rank0"], stdin=data).end(0)
    expect(box.rank_output(0) == data, "output is not what was put in")
    box.expect_no_container()


def folders(box, container):
    box.write("job/input", "from outside\n")
    box.write("data/set", "mounted\n")
    script = "pwd; cat input /mnt/set; touch output; id -u; ulimit -n"
    run = box.start("run", "-n", "1", "--set", "framework=none", "--set", f"container.mounts=[{box.path('data')}:/mnt]", *container, "--",
                    "sh", "-c", script, cwd=box.path("job"))
    run.end(0)
    out = box.rank_output(0, runs="job/runs").decode().split("\n")
    expect_equal(out[:4], [box.path("job"), "from outside", "mounted", str(os.geteuid())], "what a rank sees")
    expect_equal(os.stat(box.path("job/output")).st_uid, os.geteuid(), "owner of a file")


@case
def podman_folders(box):
    folders(box, box.podman())


@case(long=True)
def docker_folders(box):
    folders(box, box.docker())


@case
def charliecloud_folders(box):
    folders(box, box.charliecloud())


def started_in(box, container, expected, *options):
    run = box.ranks_in(container, 1, "sh", "-c", "pwd -P", options=options).end(0)
    expect_equal(run.out.decode().split()[-1:], [expected], "current folder")
    return run


def workdir_of_the_image(box, container):
    started_in(box, container, box.folder)
    started_in(box, container, "/etc", "--set", "container.workdir=image")
    started_in(box, container, "/tmp", "--set", "container.workdir=/tmp")


@case
def podman_workdir_of_the_image(box):
    workdir_of_the_image(box, box.podman(workdir="/etc"))


@case(long=True)
def docker_workdir_of_the_image(box):
    workdir_of_the_image(box, box.docker(workdir="/etc"))


@case
def charliecloud_workdir_of_the_image(box):
    """Charliecloud does not report an image's WORKDIR, so dlaunch uses the job's workdir, and a note says so."""
    container = box.charliecloud()
    started_in(box, container, "/etc", "--set", "container.workdir=/etc")
    run = started_in(box, container, box.folder, "--set", "container.workdir=image")
    expect_in("charliecloud does not report an image's working directory", run.text, "note")


@case
def charliecloud_python(box):
    box.write("train.py", "import os, json\nprint(json.dumps({'rank': os.environ['RANK'], 'cwd': os.getcwd()}))\n")
    box.ranks_in(box.charliecloud("python"), 2, "python3", "train.py", options=["--set", "framework=pytorch"]).end(0)
    for rank in range(2):
        expect_in(f'"rank": "{rank}"', output(box, rank), "output")


# --- killed parts

def killed_part(box, container, part, code):
    """Whichever process is killed, nothing keeps running."""
    run = box.ranks_in(container, 2, "sh", "-c", "(trap '' TERM; sleep 600) & echo ready; sleep 600", options=["--set", "timeouts.stop=2s"])
    wait_until(lambda: "ready" in output(box, 0) and "ready" in output(box, 1), "both are ready", 30, 0.05)
    engine, guardian, agent = run.chain()
    whom = {"engine": [engine], "guardian": [guardian], "agent": [agent], "front": [run.pid], "runtime": run.ranks()[:1],
            "agent and guardian": [agent, guardian]}[part]
    for pid in whom:
        os.kill(pid, signal.SIGKILL)
    # All other parts end with it. The container engine's own work may take a moment longer.
    run.end(code, left=1000)
    wait_until(lambda: not box.survivors(), "nothing is left", 20, 0.05)


def register_killed_parts():
    expected = {"engine": 70, "guardian": None, "agent": None, "front": -9, "runtime": None, "agent and guardian": None}
    for runtime in ("podman", "docker", "charliecloud"):
        for part, code in expected.items():
            def run_it(box, runtime=runtime, part=part, code=code):
                killed_part(box, getattr(box, runtime)(), part, code)
                if part in ("guardian", "agent", "runtime"):
                    box.expect_no_container()
            run_it.__name__ = f"{runtime}_kill_{part.replace(' ', '_')}"
            run_it.__module__ = __name__
            is_long = runtime == "docker" and part not in ("agent", "agent and guardian")
            globals()[run_it.__name__] = case(long=is_long)(run_it)


register_killed_parts()


@case
def podman_what_two_kills_at_once_have_left_the_next_run_removes(box):
    container = box.podman()
    killed_part(box, container, "agent and guardian", None)
    for _ in range(5):  # each run spends about 2 s on it
        run = box.ranks_in(container, 1, "true").end(0)
        expect_in("1 rank ok", run.text, "summary")
        if not box.containers():
            break
    expect_equal(box.containers(), [], "containers left")


# --- several attempts, and several runs at a time

def restart(box, container):
    """The second attempt has its own folder and containers. By then, nothing of the first attempt is left."""
    script = 'if mkdir first-$RANK 2>/dev/null; then [ $RANK = 1 ] || exec sleep 600; until [ -d first-0 ]; do sleep 0.05; done; exit 3; fi; echo again; sleep 600'
    run = box.ranks_in(container, 2, "sh", "-c", script, options=["--set", "framework=pytorch", "--set", "restart.max=1", "--set",
                                                                  "restart.backoff=1ms..1ms", "--set", "timeouts.stop=1s"])

    def runs_again(rank):
        if not (box.exists("runs") and box.runs()):
            return False
        path = os.path.join(box.run_folder(), "attempt-1", f"rank-{rank}.out")
        return os.path.exists(path) and box.read(path) == b"again\n"

    wait_until(lambda: runs_again(0) and runs_again(1), "the second attempt runs", 30, 0.05)
    folders = box.entry_folders()
    expect(len(folders) == 1 and folders[0].endswith("-1-0"), f"folders: {folders}")
    if box.engine:
        names = sorted(line.split()[0].rsplit("-", 2)[1] for line in box.containers())
        expect_equal(names, ["1", "1"], "attempts of the containers")
    run.signal(signal.SIGTERM)
    run.end(143)
    box.expect_no_container()


@case
def podman_restart(box):
    restart(box, box.podman())


@case
def docker_restart(box):
    restart(box, box.docker())


@case
def charliecloud_restart(box):
    restart(box, box.charliecloud())


def runs_at_once(box, container):
    """No run takes another run's new folder for an abandoned one."""
    runs = [box.ranks_in(container, 1, "true") for _ in range(4)]
    for run in runs:
        run.end(0)
    ids = box.runs()
    left = sorted(name for name in os.listdir("/tmp") if name.startswith("dlaunch-") and any(one in name for one in ids))
    expect_equal(left, [], "folders left in /tmp")


@case
def charliecloud_four_runs_begin_at_once(box):
    runs_at_once(box, box.charliecloud())


# --- MPI

@case
def charliecloud_open_mpi(box):
    program = box.program("world")
    box.mpi_here(2, program, box.path("file"), options=box.charliecloud("mpi")).end(0, patience=60)
    expect_equal(output(box, 0) + output(box, 1), "world ok 2\n", "output of both")


def open_mpi(box, container):
    options = [*container, "--set", f"container.mounts=[{box.shared}]"]
    box.mpi_here(2, box.program("world"), box.path("file"), options=options).end(0, patience=60)
    expect_equal(output(box, 0) + output(box, 1), "world ok 2\n", "output of both")
    box.expect_no_container()


@case
def podman_open_mpi(box):
    open_mpi(box, box.podman("mpi"))


@case
def docker_open_mpi(box):
    open_mpi(box, box.docker("mpi"))


@case
def charliecloud_mpich(box):
    if not box.compiles("mpicc.mpich"):
        raise Skip("missing package: libmpich-dev")
    program = box.program("world", "mpicc.mpich")
    box.mpi_here(2, program, options=box.charliecloud("mpi")).end(0, patience=60)
    expect_equal(output(box, 0) + output(box, 1), "world ok 2\n", "output of both")


@case
def podman_mpich(box):
    if not box.compiles("mpicc.mpich"):
        raise Skip("missing package: libmpich-dev")
    program = box.program("world", "mpicc.mpich")
    options = [*box.podman("mpi"), "--set", f"container.mounts=[{box.shared}]"]
    box.mpi_here(2, program, options=options).end(0, patience=60)
    expect_equal(output(box, 0) + output(box, 1), "world ok 2\n", "output of both")
    box.expect_no_container()


# --- nodes

@case(alone=True)
def charliecloud_two_nodes(box):
    image = box.charliecloud()
    box.make_cluster(2)
    run = box.launch("sh", "-c", 'echo "$RANK of $WORLD_SIZE in $(cat /etc/passwd | wc -l) lines"', ranks=2, options=image)
    run.end(0)
    for rank in range(4):
        expect_in(f"{rank} of 4 in ", output(box, rank), "output")


@case(alone=True)
def charliecloud_node_that_is_cut_off(box):
    """The lease expires, and the processes in the container end."""
    image = box.charliecloud()
    box.make_cluster(2)
    run = box.launch("sh", "-c", "echo ready; sleep 600", options=[*image, "--set", "timeouts.fence_after=1s", "--set", "timeouts.lost_after=5s"])
    wait_until(lambda: "ready" in output(box, 1), "it runs", 30, 0.05)
    _, agent, _ = box.people(box.cluster[2])
    os.kill(agent, signal.SIGKILL)
    run.end(69, patience=60)
    box.expect_nodes_empty("nothing is left on the nodes", 20)
