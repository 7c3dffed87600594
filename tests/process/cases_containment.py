"""The ways in which dlaunch ends every process of a job: it walks through the descendants (always), kills a cgroup v2 where one is delegated, or ends
a PID namespace (`isolation: pid-namespace`)."""

import ctypes
import errno
import json
import os
import re
import signal
import subprocess
import sys

from case import case
from cases_kernel import ALLOW, ERRNO, JUMP_IF_EQUAL, LOAD, RETURN, Instruction, Program
from expectations import Skip, expect, expect_equal, expect_in
from processes import wait_gone, wait_until
from run_helpers import NOBODY, as_nobody

TERM = str(int(signal.SIGTERM))
SOON = 10.0
ISOLATED = ("--set", "isolation=pid-namespace")
STUBBORN = ("ignore", TERM, "child", "daemon")


# --- the surroundings of a run

def need_namespaces():
    if subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"], capture_output=True, check=False).returncode \
            and subprocess.run(["unshare", "--user", "--map-current-user", "--pid", "--fork", "--mount-proc", "true"],
                               capture_output=True, check=False).returncode:
        raise Skip("the kernel allows no PID namespaces here")


class Cgroup:
    """A cgroup for one case, in which dlaunch is started. Other cases do not see what dlaunch makes there."""

    def __init__(self, parent, owner=0):
        self.path = f"{parent}/case-{os.getpid()}-{os.urandom(6).hex()}"
        try:
            os.mkdir(self.path)
        except OSError as reason:
            raise Skip(f"no cgroup can be made in {parent}: {reason}") from reason
        if owner:  # admin-guide/cgroup-v2.rst, "Delegation": the folder and these files
            for name in ("", "/cgroup.procs", "/cgroup.threads", "/cgroup.subtree_control"):
                os.chown(self.path + name, owner, owner)

    def enter(self):
        with open(f"{self.path}/cgroup.procs", "w", encoding="ascii") as file:
            file.write("0")

    def write(self, name, text):
        with open(f"{self.path}/{name}", "w", encoding="ascii") as file:
            file.write(text)

    def folders(self):
        return [name for name in os.listdir(self.path) if os.path.isdir(f"{self.path}/{name}")]

    def remove(self):
        # The kernel may need a moment after the last process has ended.
        for path in (*(f"{self.path}/{name}" for name in self.folders()), self.path):
            wait_until(lambda path=path: try_rmdir(path), "the cgroup of the case can be removed")


def try_rmdir(path):
    try:
        os.rmdir(path)
    except OSError as reason:
        if reason.errno == errno.EBUSY:
            return False
        raise
    return True


def own_cgroup2():
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file if line.startswith("0::")]
    for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        if lines and os.path.exists(f"{root}/cgroup.subtree_control"):
            return (root + lines[0][3:]).rstrip("/")
    raise Skip("no cgroup v2 is mounted")


class in_cgroup:
    """`with in_cgroup() as cgroup`: a cgroup v2 that is removed afterwards, even if the case fails."""

    def __init__(self, owner=0):
        self.cgroup = Cgroup(own_cgroup2(), owner)
        if not os.path.exists(f"{self.cgroup.path}/cgroup.kill"):
            self.cgroup.remove()
            raise Skip("this kernel has no cgroup.kill (Linux 5.14)")

    def __enter__(self):
        return self.cgroup

    def __exit__(self, kind, error, where):
        left = self.cgroup.folders()
        self.cgroup.write("cgroup.kill", "1")
        self.cgroup.remove()
        if kind is None:
            expect_equal(left, [], "cgroups that were left")


def events(box, name, runs="runs"):
    lines = box.read(box.run_folder(runs), "events.jsonl").decode().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == name]


# --- isolation: pid-namespace

def check_isolation(box, options, runs):
    # The pids in the events are those of the node; ranks see other pids, and no other user's processes.
    script = f"readlink /proc/self; ls /proc | grep -c '^[0-9]'; exec {box.rank} tell ready gate"
    run = box.start("run", "-n", "2", *ISOLATED, "--", "sh", "-c", f'test "$(readlink /proc/self)" != $$ && {script}', **options)
    box.expect_all("ready", 2)
    ranks = run.ranks()
    box.open_gate()
    run.end(0)
    expect_equal(sorted(event["pid"] for event in events(box, "rank-started", runs)), ranks, "pids in events.jsonl")
    for rank in range(2):
        pid, count = box.rank_output(rank, runs=runs).split()
        expect(int(pid) < min(ranks) or int(pid) < 50, f"pid that rank {rank} sees: {int(pid)}")
        expect(int(count) < 12, f"processes that rank {rank} sees: {int(count)}")


@case
def ranks_in_a_pid_namespace_see_only_themselves(box):
    need_namespaces()
    check_isolation(box, {}, "runs")


def need_user_namespace(box):
    if box.has_thread_of_sanitizer:
        raise Skip("ThreadSanitizer's own thread forbids unshare(CLONE_NEWUSER)")


@case
def the_namespace_needs_no_privileges(box):
    need_namespaces()
    need_user_namespace(box)
    check_isolation(box, as_nobody(box), "of-nobody/runs" if os.getuid() == 0 else "runs")


def all_of_dlaunch_in_one_instant(box, options, stopped_agent=False):
    need_namespaces()
    run = box.start("run", "-n", "2", *ISOLATED, "--", box.rank, *STUBBORN, "tell", "ready", "pause", **options)
    box.expect_all("ready", 2)
    everything = [run.pid, *run.chain()]
    for pid in everything:
        os.kill(pid, signal.SIGSTOP)
    for pid in everything[:3] if stopped_agent else everything:
        os.kill(pid, signal.SIGKILL)
    wait_gone([run.pid], "the front")
    box.reap()
    run.code = -signal.SIGKILL
    box.expect_nobody("after all of dlaunch was killed at once", SOON)


@case
def the_kernel_ends_all_when_all_of_dlaunch_is_killed_in_one_instant(box):
    all_of_dlaunch_in_one_instant(box, {})


@case
def and_for_an_unprivileged_user(box):
    need_user_namespace(box)
    all_of_dlaunch_in_one_instant(box, as_nobody(box))


@case
def and_when_the_agent_is_stopped_while_all_others_are_killed(box):
    all_of_dlaunch_in_one_instant(box, {}, stopped_agent=True)


@case
def only_processes_are_apart_in_the_namespace(box):
    need_namespaces()
    shared = ("net", "ipc", "uts", "user")
    look = "; ".join(f"readlink /proc/self/ns/{name}" for name in shared)
    shm = f"/dev/shm/of-case-{os.urandom(8).hex()}"
    script = f"{look}; stat -c %d /dev/null /dev/shm .; pwd; echo x > {shm}; cat; echo error >&2; exit 5"
    run = box.run("run", "-n", "1", "--set", "stdin=rank0", *ISOLATED, "--", "sh", "-c", script, stdin=b"to rank 0\n", code=5)
    expected = [os.readlink(f"/proc/self/ns/{name}") for name in shared]
    expected += [str(os.stat(path).st_dev) for path in ("/dev/null", "/dev/shm", box.folder)] + [box.folder, "to rank 0"]
    os.unlink(shm)
    expect_equal(run.out.decode().splitlines(), expected, "what the rank sees")
    expect_equal(box.rank_output(0, "err"), b"error\n", "its stderr")


@case
def a_stop_in_the_namespace_reaches_the_shell_and_its_children_only(box):
    need_namespaces()
    job = box.write("job.yaml", f"command: {box.rank} notice {TERM} stopped tell ready gate; {box.rank} tell after\n"
                    "processes: 2\nisolation: pid-namespace\n")
    run = box.start("run", job)
    box.expect_all("ready", 2)
    run.signal(signal.SIGTERM)
    box.expect_all("stopped", 2)
    box.open_gate()
    run.end(128 + signal.SIGTERM)


@case
def a_rank_may_kill_all_that_it_sees(box):
    # kill(2): -1 means every process but init, which is the agent.
    need_namespaces()
    run = box.start("run", "-n", "2", "--set", "timeouts.stop=1s", *ISOLATED, "--",
                    box.rank, *STUBBORN, "tell", "ready", "gate", "only", "1", "killall", "pause")
    box.expect_all("ready", 2)
    box.open_gate()
    run.end(128 + signal.SIGKILL)
    expect_in("was killed by SIGKILL", run.text, "how")


def without_unshare():
    number = {"x86_64": 272, "aarch64": 97}.get(os.uname().machine)
    if number is None:
        raise Skip("the number of unshare(2) is not known here")

    def install():
        code = (Instruction * 4)((LOAD, 0, 0, 0), (JUMP_IF_EQUAL, 0, 1, number),
                                 (RETURN, 0, 0, ERRNO | errno.EPERM), (RETURN, 0, 0, ALLOW))
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
        if libc.prctl(22, 2, ctypes.byref(Program(4, code))) != 0:  # PR_SET_SECCOMP, filter
            raise OSError(ctypes.get_errno(), "seccomp")
    return install


@case
def where_namespaces_are_refused_nothing_is_started_and_it_is_said_why(box):
    run = box.run("run", *ISOLATED, "--", box.rank, "tell", "started", before=without_unshare(), code=75)
    expect_in("isolation: pid-namespace is not possible on", run.text, "what")
    expect_in("unshare(CLONE_NEWUSER | CLONE_NEWPID): Operation not permitted", run.text, "what was refused")
    expect_in("try: ", run.text, "what to do")
    expect(box.no_event("started"), "a rank was started")


# --- cgroup

@case
def ranks_live_in_a_cgroup_of_their_own_which_is_gone_afterwards(box):
    with in_cgroup() as cgroup:
        run = box.start("run", "-n", "3", "--", "sh", "-c", f"cat /proc/self/cgroup; exec {box.rank} {' '.join(STUBBORN)} tell ready gate",
                        before=cgroup.enter)
        box.expect_all("ready", 3)
        folders = cgroup.folders()
        expect_equal(len(folders), 1, "cgroups that were made")
        inside = box.read(f"{cgroup.path}/{folders[0]}/cgroup.procs").split()
        expect_equal(len(inside), 9, "processes in it: three ranks, each with a child and a daemon")
        box.open_gate()
        run.end(0)
        expect_in("6 leftover processes killed", run.text, "what was left")
        for rank in range(3):
            expect_in(f"/{folders[0]}\n".encode(), box.rank_output(rank), f"where rank {rank} was")


@case
def a_cgroup_that_is_delegated_to_a_user_is_used(box):
    options = as_nobody(box)
    if not options:
        raise Skip("only root can delegate one")
    with in_cgroup(NOBODY) as cgroup:
        run = box.start("run", "--", box.rank, *STUBBORN, "tell", "ready", "gate", before=cgroup.enter, **options)
        box.expect_all("ready", 1)
        expect_equal(len(cgroup.folders()), 1, "cgroups that were made")
        box.open_gate()
        run.end(0)


@case
def without_a_delegated_cgroup_it_works_as_well(box):
    options = as_nobody(box)
    if not options:
        raise Skip("a cgroup may be delegated to this user")
    with in_cgroup() as cgroup:
        box.run("run", "-n", "2", "--", box.rank, *STUBBORN, before=cgroup.enter, **options)


@case
def no_cgroup_is_left_whoever_is_killed(box):
    with in_cgroup() as cgroup:
        for killed in ((1,), (2,), (3,), (2, 3), (1, 2, 3)):
            runs = "runs-" + "-".join(map(str, killed))
            run = box.start("run", "-n", "2", "--set", f"logs.dir={runs}", "--", box.rank, *STUBBORN, "tell", "ready", "pause", before=cgroup.enter)
            box.expect_all("ready", 2)
            chain = (run.pid, *run.chain())
            expect_equal(len(cgroup.folders()), 1, "cgroups while it runs")
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for part in killed:
                    os.kill(chain[part], number)
            run.end(70 if 1 in killed else 69)
            expect_equal(cgroup.folders(), [], f"cgroups left after {killed} were killed")


@case
def the_next_run_ends_what_a_run_left_of_which_all_was_killed(box):
    with in_cgroup() as cgroup:
        run = box.start("run", "-n", "2", "--", box.rank, *STUBBORN, "tell", "ready", "pause", before=cgroup.enter)
        box.expect_all("ready", 2)
        everything = [run.pid, *run.chain()]
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in everything:
                os.kill(pid, number)
        wait_gone([run.pid], "the front")
        box.reap()
        run.code = -signal.SIGKILL
        box.start("run", "--set", "logs.dir=runs-2", "--", "true", before=cgroup.enter).end(0, left=4)
        box.expect_nobody("after the next run", SOON)


HOLD = '''
import ctypes, os, signal, sys
SEIZE, INTERRUPT = 0x4206, 0x4207  # of linux/ptrace.h
libc = ctypes.CDLL(None, use_errno=True)
with open(f"/proc/{os.getppid()}/stat", encoding="utf-8") as file:
    guardian = int(file.read().rpartition(")")[2].split()[1])
def hold(pid):
    if libc.ptrace(SEIZE, pid, None, None) != 0:
        return os.strerror(ctypes.get_errno())
    libc.ptrace(INTERRUPT, pid, None, None)
    return "held"
told = f"guardian: {hold(guardian)}, agent: {hold(os.getppid())}"
with open(sys.argv[1] + ".new", "w", encoding="utf-8") as file:
    file.write(told)
os.rename(sys.argv[1] + ".new", sys.argv[1])
while True:
    signal.pause()
'''


@case
def a_rank_that_holds_the_agent_by_ptrace_ends_with_the_job(box):
    """Runs as an ordinary user, who may trace their own dumpable processes."""
    options = as_nobody(box)
    if not options:
        raise Skip("needs root, to become another user")
    told = os.path.join(options["cwd"], "told")
    run = box.start("run", "--set", "timeouts.fence_after=2s", "--set", "timeouts.lost_after=6s", "--",
                    sys.executable, "-c", HOLD, told, **options)
    wait_until(lambda: os.path.exists(told), "the rank has tried", 15, 0.02)
    with open(told, encoding="utf-8") as file:
        words = file.read()
    expect_in("guardian: Operation not permitted", words, "what the rank could do")
    expect("agent: held" in words or "agent: Operation not permitted" in words, words)
    run.signal(signal.SIGKILL)
    wait_gone([run.pid], "the front")
    run.code = -signal.SIGKILL
    box.reap()
    box.expect_nobody("after the front's end", 15.0)


# --- how ranks run away, in every mode

def every_mode(box):
    """(name, options of Sandbox.start, options of dlaunch) of each mode that is available here."""
    yield "walk", as_nobody(box), ()
    if os.getuid() == 0:
        yield "cgroup", {}, ()
    need_namespaces()
    yield "namespace", {}, ISOLATED


@case(alone=True, budget=120)
def a_fork_storm_ends(box):
    # Half of the processes exist when the ranks end; the others are forked during the killing. Each has its own session, so no process group contains
    # them all.
    for name, options, more in every_mode(box):
        run = box.start("run", "-n", "1", "--set", f"logs.dir=runs-{name}", *more, "--", box.rank, "storm", "800", "exit", "3", **options)
        run.end(3)
        expect_in("leftover processes were killed", run.text, name)


@case(alone=True, budget=120)
def a_fork_storm_that_is_cancelled_twice_ends(box):
    for name, options, more in every_mode(box):
        run = box.start("run", "-n", "1", "--set", f"logs.dir=runs-{name}", *more, "--",
                        box.rank, "ignore", TERM, "storm", "800", "tell", "ready", "pause", **options)
        box.expect_all("ready", 1)
        run.signal(signal.SIGTERM)
        wait_until(lambda: "a second one kills" in run.words, "the first signal arrived")
        run.signal(signal.SIGTERM)
        run.end(128 + signal.SIGTERM)


@case(alone=True, budget=120)
def processes_that_never_stay_the_same_end(box):
    # Whoever looks for them one by one is always late. A process group can be killed at once, and so can a cgroup or a namespace, wherever in it the
    # processes have moved.
    hopping = "8" if box.sanitized else "50"  # they take CPU time from dlaunch, which is slower with a sanitizer
    for name, options, more in every_mode(box):
        word = "hop" if name == "walk" else "hopaway"
        run = box.start("run", "-n", "1", "--set", f"logs.dir=runs-{name}", *more, "--", box.rank, word, hopping, "exit", "3", **options)
        run.end(3)


@case
def a_rank_that_kills_its_own_process_group(box):
    for name, options, more in every_mode(box):
        run = box.start("run", "-n", "1", "--set", f"logs.dir=runs-{name}", *more, "--", box.rank, *STUBBORN, "killgroup", "pause", **options)
        run.end(128 + signal.SIGKILL)
        expect_in("was killed by SIGKILL", run.text, name)
        expect(re.search("the signal was (not sent|sent neither) by dlaunch", run.words), f"why: {run.text}")


@case
def a_rank_that_becomes_a_daemon_and_exits_well(box):
    for name, options, more in every_mode(box):
        run = box.start("run", "-n", "2", "--set", f"logs.dir=runs-{name}", *more, "--", box.rank, "daemon", "exit", "0", **options)
        run.end(0)
        expect_in("2 leftover processes killed", run.text, name)
