"""mpirun as the starter of the ranks (mpi.launcher: mpirun): Open MPI's mpirun and Hydra, on one machine and on nodes. Output, endings and leftovers
are the same as if dlaunch had started the ranks itself."""

import json
import os
import shutil
import signal

from case import case
from expectations import Skip, expect, expect_equal, expect_in
from file_schemas import check_all
from mpi_sandbox import summary
from processes import all_processes, program_of, wait_until

BY = ["--set", "mpi.launcher=mpirun", "--set", "mpi.torch_variables=true"]
# Ranks that are not MPI programs.
NO_MPI = ["--set", "framework=none"]


class Kind:
    def __init__(self, program, compiler):
        self.program, self.compiler = program, compiler

    def options(self, box):
        if shutil.which(self.program) is None:
            raise Skip(f"{self.program} is not installed")
        if not box.compiles(self.compiler):
            raise Skip(f"{self.compiler} has no headers")
        return [*BY, "--set", f"mpi.program={self.program}"]

    def here(self, box, ranks, *command, options=(), **more):
        return box.mpi_here(ranks, *command, options=[*self.options(box), *options], **more)

    def over(self, box, shape, *command, options=(), **more):
        return box.mpi(shape, *command, options=[*self.options(box), *options], **more)


OPEN_MPI = Kind("mpirun.openmpi", "mpicc.openmpi")
HYDRA = Kind("mpiexec.hydra", "mpicc.mpich")


def expect_no_join_folder(box):
    """Looks in the /tmp of each node, also for the files of Open MPI."""
    look = f"ls -d /tmp/dlaunch-*/join-* /tmp/ompi.*.{os.geteuid()}/* 2>/dev/null; true"
    left = []
    for node in box.cluster.names if box.cluster else ():
        left += [f"{node}:{name}" for name in box.ssh(node, look).stdout.split()]
    own = f"/tmp/dlaunch-{os.geteuid()}"  # the machine's /tmp has files of other cases
    left += [name for name in os.listdir(own) if name.startswith("join-")]
    expect_equal(left, [], "folders in which ranks come")


def world(box, run, ranks):
    run.end(0)
    outputs = [box.rank_output(rank) for rank in range(ranks)]
    expect_equal(b"".join(outputs), b"world ok %d\n" % ranks, "output of all ranks, in their own files")
    expect_in(b":0 | world ok %d" % ranks, run.out, "the prefix on the console")
    expect_in(f"{ranks} ranks ok", run.text, "summary")
    expect_equal([rank["how"] for rank in summary(box)["ranks"]], ["exited"] * ranks, "summary.json")
    expect_no_join_folder(box)


@case
def open_mpi_on_one_machine(box):
    world(box, OPEN_MPI.here(box, 3, box.program("world"), box.path("file")), 3)
    check_all(box, ["mpirun-ended"])


@case
def hydra_on_one_machine(box):
    world(box, HYDRA.here(box, 3, box.program("world", HYDRA.compiler), box.path("file")), 3)


@case
def open_mpi_over_two_nodes(box):
    box.make_cluster(2)
    world(box, OPEN_MPI.over(box, [2, 2], box.program("world"), box.path("file")), 4)


@case
def hydra_over_two_nodes(box):
    """Checks the variables that Hydra gives its ranks, and calls no MPI: MPICH 4.0 with UCX over TCP may wait in MPI_Finalize forever, under any
    launcher."""
    box.make_cluster(2)
    HYDRA.over(box, [2, 1], "sh", "-c", 'echo "$PMI_RANK of $PMI_SIZE, $MPI_LOCALRANKID on $(uname -n)"; [ -S /proc/self/fd/$PMI_FD ]',
               options=NO_MPI).end(0)
    expect_equal([box.rank_output(rank) for rank in range(3)],
                 [b"0 of 3, 0 on node1\n", b"1 of 3, 1 on node1\n", b"2 of 3, 0 on node2\n"], "ranks")
    expect_no_join_folder(box)


@case
def mpi_abort_under_hydra_over_two_nodes(box):
    box.make_cluster(2)
    HYDRA.over(box, [1, 1], box.program("endings", HYDRA.compiler), "abort", "1", "9").end(9)
    expect_no_join_folder(box)


@case
def uneven_nodes(box):
    box.make_cluster(2)
    world(box, OPEN_MPI.over(box, [3, 1], box.program("world")), 4)


@case
def the_first_failing_rank_is_known_by_its_code(box):
    """mpirun's own exit code would be that of any rank, or 1."""
    run = OPEN_MPI.here(box, 3, "sh", "-c", f"[ $OMPI_COMM_WORLD_RANK = 1 ] && exit 7; exec {box.program('endings')} wait -1").end(7)
    expect_in("rank 1 on", run.words, "who")
    expect_in("exited with code 7, first of 3", run.words, "how")
    found = summary(box)
    expect_equal((found["exit_code"], found["origin"]), (7, "rank"), "summary.json")
    expect_no_join_folder(box)


@case
def a_signal_is_known_as_one(box):
    box.make_cluster(2)
    run = OPEN_MPI.over(box, [1, 2], box.program("endings"), "crash", "1").end(128 + signal.SIGSEGV)
    expect_in("rank 1 on node2 was killed by SIGSEGV", run.words, "summary")
    box.expect_no_files()


@case
def a_rank_that_is_killed(box):
    run = HYDRA.here(box, 2, "sh", "-c", '[ "$PMI_RANK" = 1 ] && kill -9 $$; exec sleep 1000').end(128 + signal.SIGKILL)
    expect_in("rank 1 on", run.words, "who")


@case
def mpi_abort_ends_the_job_with_its_code(box):
    OPEN_MPI.here(box, 3, box.program("endings"), "abort", "2", "7").end(7)
    expect_no_join_folder(box)


@case
def mpi_abort_under_hydra(box):
    HYDRA.here(box, 2, box.program("endings", HYDRA.compiler), "abort", "1", "9").end(9)


@case
def what_ranks_have_of_the_job(box):
    """The ranks get values from their agents; mpirun's command line has none."""
    script = box.write("show", 'echo "$OMPI_COMM_WORLD_RANK $WORD $DLAUNCH_RANK $(cat)"\n')
    run = OPEN_MPI.here(box, 2, "sh", script, options=[*NO_MPI, "--set", "env.WORD=a b", "--set", "env_secret=[SECRET]", "--set",
                                                       "stdin=rank0"],
                        env={"SECRET": "hush-hush"}, stdin=b"from outside\n").end(0)
    expect_equal([box.rank_output(rank) for rank in range(2)], [b"0 a b 0 from outside\n", b"1 a b 1 \n"], "output")
    plan = box.read(box.run_folder(), "plan.json").decode()
    line = json.loads(plan)["mpirun"]["argv"]
    expect_in(f"exec --join /tmp/dlaunch-{os.geteuid()}/join-", " ".join(line), "the line")
    expect("a b" not in " ".join(line), "a value is in the line")
    expect("hush-hush" not in plan, "a secret is in plan.json")
    expect(run.err.count(b"hush-hush") == 0, "a secret is on the console")


@case
def secrets_pass_neither_launcher_nor_proxies(box):
    """Hydra sends its whole environment to its proxies, which give it to everything that they start."""
    box.make_cluster(2)
    run = HYDRA.over(box, [1, 1], "sh", "-c", f'{box.rank} tell "$SECRET"; {box.rank} tell ready gate', env={"SECRET": "hush-hush"},
                     options=["--set", "framework=pytorch", "--set", "env_secret=[SECRET]", "--set", "env_pass=[CASE, EVENTS, GATE]"])
    box.expect_all("hush-hush", 2)
    box.expect_all("ready", 2)
    seen = set()
    for pid, parent in all_processes().items():
        name = os.path.basename(program_of(pid))
        # dlaunch's own ssh has the environment that dlaunch was started with.
        if name.startswith(("mpiexec", "hydra_")) or os.path.basename(program_of(parent)).startswith("mpiexec"):
            seen.add(name)
            expect(b"hush-hush" not in everything_of(pid), f"a secret in the environment or on the command line of {name}")
    expect({"mpiexec.hydra", "hydra_pmi_proxy"} <= seen, f"what was looked at: {sorted(seen)}")
    box.open_gate()
    run.end(0)
    for path, _, names in os.walk(box.run_folder()):
        for name in names:
            expect(b"hush-hush" not in box.read(path, name), f"a secret in {name}")


def everything_of(pid):
    text = b""
    for name in ("environ", "cmdline"):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as file:
                text += file.read()
        except OSError:
            pass
    return text


# ---- ranks that do not meet


def expect_not_met(box, run, library):
    text = " ".join(run.end(65).text.split())
    expect_in("exited without having called MPI_Init", text, "how")
    expect_in(f"did not connect to mpirun ({library}", text, "why")
    expect_in("mpi.program", text, "what to do")
    expect_equal(summary(box)["cause"], "mpi", "summary.json")
    expect_no_join_folder(box)


@case
def a_program_of_mpich_under_open_mpi_is_no_success(box):
    """Each of its ranks is a world of one, which mpirun does not notice."""
    options = HYDRA.options(box)  # may skip the case
    expect(options, "Hydra is there")
    expect_not_met(box, OPEN_MPI.here(box, 2, box.program("init", HYDRA.compiler)), "Open MPI 4")


@case
def a_program_of_open_mpi_under_hydra_is_no_success(box):
    expect_not_met(box, HYDRA.here(box, 2, box.program("init")), "Hydra")


@case
def a_program_that_is_none_of_mpi_is_no_success(box):
    box.make_cluster(2)
    expect_not_met(box, OPEN_MPI.over(box, [1, 1], "hostname"), "Open MPI 4")


@case
def a_program_that_need_not_meet_mpirun(box):
    """mpirun ends, too, although the program never calls MPI_Init."""
    OPEN_MPI.here(box, 2, "hostname", options=["--set", "mpi.init=optional"]).end(0)
    expect_no_join_folder(box)


@case
def in_a_namespace_of_processes(box):
    world(box, OPEN_MPI.here(box, 2, box.program("world"), box.path("file"), options=["--set", "isolation=pid-namespace"]), 2)


@case
def in_namespaces_of_processes_over_nodes(box):
    """On other nodes, mpirun's daemons are outside the namespace."""
    box.make_cluster(2)
    world(box, OPEN_MPI.over(box, [1, 1], box.program("world"), box.path("file"), options=["--set", "isolation=pid-namespace"]), 2)


@case
def a_node_that_has_no_rank(box):
    box.make_cluster(3)
    hosts = ", ".join(f"{{name: {name}, slots: 1}}" for name in box.cluster.names)
    run = box.start("run", "-n", "2", "--set", f"hosts=[{hosts}]", "--set", f"connect.ssh={box.cluster.ssh}", "--set",
                    "env_pass=[CASE]", "--set", "framework=mpi", *OPEN_MPI.options(box), "--", box.program("world"), box.path("file"))
    world(box, run, 2)


@case
def a_second_attempt_over_nodes(box):
    """It has a new mpirun and a new folder, on the same nodes."""
    box.make_cluster(2)
    again = box.path("again")
    script = (f"[ -e {again}.$OMPI_COMM_WORLD_RANK ] && exec {box.program('world')}; touch {again}.$OMPI_COMM_WORLD_RANK; "
              f"[ $OMPI_COMM_WORLD_RANK = 0 ] && exec sleep 1000; until [ -e {again}.0 ]; do sleep 0.02; done; exit 3")
    run = OPEN_MPI.over(box, [1, 1], "sh", "-c", script,
                        options=["--set", "restart.max=1", "--set", "restart.backoff=0s..0s"]).end(0)
    expect_in("attempt 0: rank 1 exited with code 3", run.text, "summary")
    expect_in(b"world ok 2", run.out, "output of the second attempt")
    expect_no_join_folder(box)


@case
def two_times_ctrl_c(box):
    """After the second signal, everything gets SIGKILL, including mpirun. Its files are removed nevertheless."""
    box.make_cluster(2)
    run = OPEN_MPI.over(box, [1, 1], box.rank, "notice", str(int(signal.SIGTERM)), "term", "tell", "ready", "pause",
                        options=["--set", "env_pass=[CASE, EVENTS, GATE]"])
    box.expect_all("ready", 2)
    run.signal(signal.SIGINT)
    box.expect_all("term", 2)  # they have received it, and go on
    run.signal(signal.SIGINT)
    run.end(130)
    expect_no_join_folder(box)
    box.expect_no_files()


@case
def mpirun_that_is_killed(box):
    run = OPEN_MPI.here(box, 2, "sh", "-c", f"{box.rank} tell ready; exec sleep 1000")
    box.expect_all("ready", 2)
    agent = run.chain()[2]
    os.kill(child_named(agent, "mpirun.openmpi"), signal.SIGKILL)
    run.end(128 + signal.SIGKILL)
    expect_in("was killed by SIGKILL", run.words, "summary")
    expect_equal((summary(box)["cause"], summary(box)["origin"]), ("mpirun", "dlaunch"), "summary.json")
    expect_no_join_folder(box)


def child_named(parent, name):
    with open(f"/proc/{parent}/task/{parent}/children", encoding="ascii") as file:
        children = [int(pid) for pid in file.read().split()]
    for pid in children:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            if os.path.basename(file.read().split(b"\0")[0].decode()) == name:
                return pid
    raise AssertionError(f"no child {name} of {parent}")


@case
def ctrl_c_leaves_nothing_on_any_node(box):
    box.make_cluster(2)
    run = OPEN_MPI.over(box, [1, 1], "sh", "-c", f"{box.rank} tell ready; exec {box.program('endings')} wait -1",
                        options=["--set", "env_pass=[CASE, EVENTS, GATE]"])
    box.expect_all("ready", 2)
    run.signal(signal.SIGINT)
    run.end(130)
    expect_no_join_folder(box)


@case
def a_time_limit(box):
    HYDRA.here(box, 2, "sleep", "1000", options=["--set", "timeouts.run=2s"]).end(124)
    expect_no_join_folder(box)


@case
def nothing_is_left_when_the_agent_is_killed(box):
    run = OPEN_MPI.here(box, 2, "sh", "-c", f"{box.rank} tell ready; exec sleep 1000")
    box.expect_all("ready", 2)
    os.kill(run.chain()[2], signal.SIGKILL)
    run.end(69)
    expect_no_join_folder(box)


@case
def a_second_attempt(box):
    script = f'[ -e {box.path("again")} ] && exec {box.program("world")}; touch {box.path("again")}; exit 3'
    run = OPEN_MPI.here(box, 1, "sh", "-c", script, options=["--set", "restart.max=1", "--set", "restart.backoff=0s..0s"]).end(0)
    expect_in("attempt 0: rank 0 exited with code 3", run.text, "summary")
    expect_in(b"world ok 1", run.out, "output of the second attempt")


RESTART = ["--set", "restart.max=1", "--set", "restart.backoff=0s..0s"]


@case
def mpi_abort_with_code_0_does_not_stop_a_restart(box):
    """mpirun ends the other ranks and exits with 0, so no failure of a rank is known."""
    run = OPEN_MPI.here(box, 3, box.program("endings"), "abort", "0", "0", options=RESTART).end()
    expect(run.code not in (0, None), f"exit code {run.code}")
    expect_in("restart 1 of 1", run.words, "what it says")


@case
def a_wrapper_that_loses_mpiruns_code(box):
    """The ranks of the second attempt keep running until two signals end the run."""
    wrapper = box.write("mpirun-of-the-site", '#!/bin/sh\n[ "$1" = --version ] && exec mpirun.openmpi --version\n'
                        f'mpirun.openmpi "$@" & echo $! > {box.path("mpirun")}; wait; exit 0\n')
    os.chmod(wrapper, 0o755)
    OPEN_MPI.options(box)  # may skip the case
    run = box.mpi_here(2, "sh", "-c", f"{box.rank} tell ready; exec sleep 1000", options=[*BY, "--set", f"mpi.program={wrapper}", *RESTART])
    box.expect_all("ready", 2)
    os.kill(int(box.read("mpirun")), signal.SIGKILL)
    box.expect_all("ready", 2)
    run.signal(signal.SIGINT)
    run.signal(signal.SIGINT)
    run.end(130)
    expect_no_join_folder(box)


@case
def mpiruns_own_complaint_is_shown(box):
    """The wrapper stands for an mpirun that refuses to start the ranks."""
    if shutil.which("mpirun.openmpi") is None:
        raise Skip("mpirun.openmpi is not installed")
    wrapper = box.write("mpirun-of-the-site", '#!/bin/sh\n[ "$1" = --version ] && exec mpirun.openmpi --version\n'
                        'echo "There are not enough slots available in the system" >&2\nexit 213\n')
    os.chmod(wrapper, 0o755)
    run = box.mpi_here(2, "true", options=[*BY, "--set", f"mpi.program={wrapper}"]).end(213)
    expect_in("exited with code 213", run.words, "summary")
    expect_in("There are not enough slots available", run.words, "its words")
    expect_in(b"There are not enough slots", box.read(box.run_folder(), "attempt-0", "mpirun.log"), "mpirun.log")


@case
def an_mpirun_that_starts_nobody(box):
    wrapper = box.write("mpirun-of-the-site", '#!/bin/sh\n[ "$1" = --version ] && echo "mpirun (Open MPI) 4.1.4"\nexit 0\n')
    os.chmod(wrapper, 0o755)
    run = box.mpi_here(2, "true", options=[*BY, "--set", f"mpi.program={wrapper}"]).end(75)
    expect_in("started 0 of 2 ranks and exited with code 0", run.words, "summary")


@case
def no_mpirun_there(box):
    run = box.mpi_here(2, "true", options=[*BY, "--set", "mpi.program=no-such-mpirun"]).end(69)
    expect_in('there is no "no-such-mpirun" on', run.words, "what")
    expect_in("openmpi-bin", run.words, "what to install")


@case
def ctrl_c_while_mpirun_starts(box):
    """This mpirun never starts a rank."""
    wrapper = box.write("mpirun-of-the-site", '#!/bin/sh\n[ "$1" = --version ] && echo "mpirun (Open MPI) 4.1.4" && exit\n'
                        f'touch {box.path("begun")}\nexec sleep 1000\n')
    os.chmod(wrapper, 0o755)
    run = box.mpi_here(2, "true", options=[*BY, "--set", f"mpi.program={wrapper}"])
    wait_until(lambda: box.exists("begun"), "mpirun runs")
    run.signal(signal.SIGINT)
    run.end(130)


@case
def the_plan_shows_the_line(box):
    if shutil.which("mpiexec.hydra") is None:
        raise Skip("mpiexec.hydra is not installed")
    text = box.run("plan", "-n", "2", "--set", "framework=mpi", "--set", "mpi.oversubscribe=true", *BY, "--set",
                   "mpi.program=mpiexec.hydra", "--", "true").out.decode()
    expect_in("mpiexec.hydra -f", text, "program and hostfile")
    expect_in("-n 2 -bind-to", text, "ranks and binding")
