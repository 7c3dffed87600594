"""Programs that do not succeed: which rank ended, with which code, and what is left."""

import fcntl
import os
import signal

from case import case
from expectations import expect, expect_equal, expect_in
from mpi_sandbox import HIDE_PMIX, summary
from processes import children_of, wait_until


def command_of(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read().split(b"\0")[0].decode()


@case
def mpi_abort_ends_the_job_with_its_code(box):
    box.make_cluster(2)
    run = box.mpi([2, 1], box.program("endings"), "abort", "2", "7").end(7)
    expect_in("rank 2 on node2 called MPI_Abort and ended with code 7", run.words, "summary")
    expect_equal(summary(box)["ranks"][2]["mpi"], "aborted", "summary.json")
    box.expect_no_files()


@case
def mpi_abort_with_a_code_that_looks_like_success(box):
    run = box.mpi_here(2, box.program("endings"), "abort", "1", "256").end(1)
    expect_in("rank 1", run.text, "who aborted")


@case
def mpi_abort_in_a_shell_that_goes_on(box):
    """mpirun also ends everything then."""
    box.mpi_here(2, "sh", "-c", f"{box.program('endings')} abort 0 7; sleep 1000").end(7)
    box.expect_no_files()


@case
def a_crash_in_a_collective_ends_the_job_at_once(box):
    box.make_cluster(2)
    run = box.crash_at_once(box.program("endings"))
    expect_in("rank 1 on node2 was killed by SIGSEGV", run.words, "summary")
    box.expect_no_files()


@case
def a_rank_that_leaves_without_finalize(box):
    run = box.mpi_here(2, box.program("endings"), "leave", "1").end(65)
    expect_in("rank 1", run.text, "who left")
    expect_in("MPI_Finalize", run.text, "why")
    expect_equal((summary(box)["cause"], summary(box)["origin"]), ("mpi", "dlaunch"), "summary.json")


@case
def spawning_is_refused(box):
    run = box.mpi_here(2, box.program("endings"), "spawn", "0")
    run.end()
    expect(run.code not in (0, 98), f"exit code {run.code}")
    expect_in("called MPI_Comm_spawn, which is not possible here", run.words, "note")
    expect_in(b"MPI_ERR_SPAWN", run.out + run.err, "the program's own error")


@case
def no_silent_singletons(box):
    """A program without MPI, or with an MPI library that dlaunch cannot serve, is not a success of N worlds of one."""
    run = box.mpi_here(2, "hostname").end(65)
    expect_in("exited without having called MPI_Init", run.words, "what happened")
    expect_in("not an MPI program", run.words, "why")
    expect_in("framework: none", run.words, "what to do")
    expect_equal(summary(box)["cause"], "mpi", "summary.json")


@case
def a_program_that_does_not_find_the_server(box):
    """For example, in a container that hides the server. Open MPI then starts as a world of one."""
    box.mpi_here(2, "env", "-u", "PMIX_NAMESPACE", "-u", "JSM_JSRUN_PORT", "-u", "PMIX_RANK", box.program("init")).end(65)


@case
def a_server_that_dies_before_mpi_init(box):
    """The kernel may kill it for lack of memory. Worlds of one that then exit with 0 are not a success."""
    run = box.mpi_here(2, "sh", "-c", f"{box.rank} tell ready gate; "
                       f"exec env -u PMIX_NAMESPACE -u JSM_JSRUN_PORT -u PMIX_RANK {box.program('init')}",
                       options=["--set", "mpi.torch_variables=true"])
    box.expect_all("ready", 2)
    servers = [pid for pid in children_of(run.chain()[2]) if command_of(pid) == "dlaunch-pmix"]
    expect_equal(len(servers), 1, "servers")
    os.kill(servers[0], signal.SIGKILL)
    wait_until(lambda: "dlaunch-pmix ended before its ranks" in run.words, "the note")
    box.open_gate()
    run.end(65)
    expect_equal(summary(box)["cause"], "mpi", "summary.json")
    box.expect_no_files()


@case
def open_mpi_fails_on_a_node_without_openpmix(box):
    """The job starts, because it might use MPICH. Its Open MPI ranks do not become worlds of one."""
    box.make_cluster(2)
    box.cluster[2].sh(HIDE_PMIX)
    run = box.mpi([1, 1], box.program("world"))
    run.end()
    expect(run.code != 0, "it failed")
    expect_in("node2: dlaunch-pmix cannot run: ", run.words, "why")
    expect_in("rank 1 on node2", run.words, "who has failed")


@case
def a_node_without_openpmix_is_named(box):
    box.make_cluster(2)
    box.cluster[2].sh(HIDE_PMIX)
    run = box.mpi([1, 1], box.program("world"), options=["--set", "mpi.pmi=pmix"]).end(75)
    expect_in("node2: dlaunch-pmix cannot run: ", run.words, "which node")
    expect_in("libpmix2", run.words, "what to install")
    expect("node1" not in run.words, f"only that one\n{run.words}")


@case
def the_plan_names_a_node_without_openpmix(box):
    """Each node is tested before anything is started."""
    cluster = box.make_cluster(2)
    hosts = ", ".join(f"{{name: {name}, slots: 1}}" for name in cluster.names)
    words = ["plan", "-n", "2", "--set", f"hosts=[{hosts}]", "--set", f"connect.ssh={cluster.ssh}", "--set", "framework=mpi"]
    run = box.start(*words, "--", "true").end(0)
    expect("dlaunch-pmix" not in run.out.decode() + run.text, "both can")
    cluster[2].sh(HIDE_PMIX)
    out = " ".join(box.start(*words, "--", "true").end(0).out.decode().split())
    expect_in("node2: dlaunch-pmix cannot run: ", out, "a note of the plan")
    text = " ".join(box.start(*words, "--set", "mpi.pmi=pmix", "--", "true").end(75).text.split())
    expect_in("node2: dlaunch-pmix cannot run: ", text, "an error where nothing else is wanted")
    run = box.start(*words, "--set", "mpi.pmi=pmi-1", "--", "true").end(0)
    expect("dlaunch-pmix" not in run.out.decode() + run.text, "no rank needs it")


@case
def more_ranks_than_cores_are_asked_for(box):
    cores = len(os.sched_getaffinity(0))
    run = box.start("run", "-n", str(4 * cores), "--set", "framework=mpi", "--", box.program("world")).end(65)
    expect_in(f"{4 * cores} MPI ranks are too many for", run.text, "what is wrong")
    expect_in("mpi.oversubscribe", run.text, "what to do")


@case
def nothing_is_left_when_the_agent_is_killed(box):
    run = box.mpi_here(2, "sh", "-c", f"{box.program('world')}; {box.rank} tell ready; sleep 1000",
                       options=["--set", "mpi.torch_variables=true"])
    box.expect_all("ready", 2)
    os.kill(run.chain()[2], signal.SIGKILL)
    run.end(69)
    box.expect_no_files()


@case
def what_agent_and_guardian_left_is_removed_by_the_next(box):
    """If both are killed at once, nothing is cleaned up. The next agent removes the folders that are not in use: those in use are locked or very
    new."""
    parents = [f"/tmp/dlaunch-{os.geteuid()}", f"/dev/shm/dlaunch-{os.geteuid()}"]
    stay, locks = [], []
    for parent in parents:
        os.makedirs(parent, mode=0o700, exist_ok=True)
        for name in ("left", "locked", "young"):
            path = os.path.join(parent, f"pmix-{name}-0")
            os.makedirs(os.path.join(path, "job"), mode=0o700)
            if name != "young":
                os.utime(path, (1, 1))
            if name != "left":
                stay.append(path)
        locks.append(os.open(os.path.join(parent, "pmix-locked-0"), os.O_RDONLY))
        fcntl.flock(locks[-1], fcntl.LOCK_EX)
    box.mpi_here(1, box.program("init")).end(0)
    found = [os.path.join(parent, name) for parent in parents for name in os.listdir(parent) if name.startswith("pmix-")]
    expect_equal(sorted(found), sorted(stay), "folders")
    for lock in locks:
        os.close(lock)


@case
def nothing_is_left_after_ctrl_c_in_a_collective(box):
    box.make_cluster(2)
    run = box.mpi([1, 1], "sh", "-c", f"{box.rank} tell ready; exec {box.program('endings')} wait -1",
                  options=["--set", "env_pass=[CASE, EVENTS, GATE]", "--set", "mpi.torch_variables=true"])
    box.expect_all("ready", 2)
    run.signal(signal.SIGINT)
    run.end(130)
    box.expect_no_files()


@case
def the_servers_listen_on_loopback_only(box):
    box.make_cluster(2)
    run = box.mpi([1, 1], "sh", "-c", f"{box.rank} tell ready gate; exec {box.program('world')}",
                  options=["--set", "env_pass=[CASE, EVENTS, GATE]", "--set", "mpi.torch_variables=true"])
    box.expect_all("ready", 2)
    servers = [one for one in box.cluster.listeners() if one.command.startswith("dlaunch-pmix")]
    box.open_gate()
    run.end(0)
    expect_equal({one.node for one in servers}, {"node1", "node2"}, "who listens")
    for one in servers:
        expect(one.kind == "unix" or one.address.startswith("127.0.0.1:"), f"listens: {one}")
