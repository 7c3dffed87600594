"""Each a hang or what looks like one, and the verdict that it must get: by rank, host and line. `job`: where it runs."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sysconfig

import frozen
from expectations import Skip, expect, expect_equal, expect_in
from hangs import PAIR, PYPI, Job, end, environment, expect_verdict, line_of, mpi, pid_of, stalls, start, told, train
from processes import children_of, stat_of, wait_until
from watch_sandbox import HERE, PYTHON, CpuLimit

QUIET = os.path.join(HERE, "ranks", "quiet.py")
MPI_STEP = os.path.join(HERE, "ranks", "mpi_step.py")
STEPS = line_of("# of a step")
OF_ALL = f"all_reduce ({line_of('all_reduce(ones)  # of all')})"


def absent(box, job=Job()):
    run = train(box, "absent", job)
    expect_verdict(told(box, "hang"), [job.odd], job.subject(box) + f"is in forward ({line_of('time.sleep(1000)')})", job.rest() + OF_ALL)
    end(box, run)


def mismatch(box, job=Job()):
    run = train(box, "mismatch", job)
    expect_verdict(told(box, "hang"), [job.odd], job.subject(box) + f"waits in broadcast ({line_of('dist.broadcast(ones, 0)')})",
                   f"; {job.ranks - 1} ranks wait in {OF_ALL}")
    end(box, run)


def call_site(box, job=Job()):
    """The same function, called elsewhere, over another group."""
    run = train(box, "call_site", job)
    expect_verdict(told(box, "hang"), [job.odd], job.subject(box) + f"waits in all_reduce ({line_of('# of the evaluation')})",
                   f"; {job.ranks - 1} ranks wait in {OF_ALL}")
    end(box, run)


def halves(box, job=PAIR):
    run = train(box, "halves", job)
    expect_verdict(told(box, "hang"), [], f"rank 0 on {job.host(box, 0)} waits in {OF_ALL}",
                   f"rank 1 on {job.host(box, 1)} waits in barrier ({line_of('dist.barrier()')})")
    end(box, run)


def ended(box, job=Job()):
    """With success: its connections are closed, but the others are at the store, and wait for its address."""
    run = train(box, "ended", job)
    expect_verdict(told(box, "hang"), [job.odd], job.subject(box) + "has ended", job.rest() + f"new_group ({line_of('dist.new_group()  # of')})")
    end(box, run)


def stopped(box, job=Job()):
    run = train(box, "steps", job)
    victim = pid_of(box, run, job, job.odd)
    os.kill(victim, signal.SIGSTOP)
    wait_until(lambda: stat_of(victim)[0] == "T", "its stop")
    verdict = told(box, "hang")
    # Where in a step it was is a matter of the moment.
    expect_verdict(verdict, [job.odd], job.subject(box) + "is stopped by a signal in ", job.rest() + f"all_reduce ({STEPS})")
    expect_in_steps(verdict)
    end(box, run)


def expect_in_steps(verdict):
    """Where a rank stood that was stopped at some moment of its steps, or just before them."""
    found = re.search(r" is stopped by [^(]* (?:\(gdb\) )?in (\w+) \(astray.py:(\d+)\); ", verdict["headline"])
    expect(found, verdict["headline"])
    first = int(line_of('while what == "steps"').split(":")[1])
    last = int(line_of("ones[0] = float").split(":")[1])
    expect(found[1] == "tell" or (found[1] in ("main", "all_reduce") and first <= int(found[2]) <= last), verdict["headline"])


def debugger(box, job=Job()):
    """On the node of the rank, whose processes alone the agent sees."""
    gdb = shutil.which("gdb")
    if gdb is None:
        raise Skip("missing package: gdb")
    run = train(box, "steps", job)
    victim = pid_of(box, run, job, job.odd)
    words = [gdb, "-nx", "-iex", "set auto-solib-add off", "-p", status_of(victim, "NSpid")[-1]]
    with subprocess.Popen(box.cluster[int(job.host(box)[4:])].inside(*words) if job.nodes else words, stdin=subprocess.PIPE,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as parent:
        try:
            wait_until(lambda: stat_of(victim)[0] == "t", "the debugger holds it", 60, 0.1)
            tracer = status_of(victim, "TracerPid")[0]
            shown = status_of(tracer, "NSpid")[-1]
            verdict = told(box, "hang")
            os.kill(int(tracer), signal.SIGKILL)
        finally:
            parent.kill()
    expect_verdict(verdict, [job.odd], job.subject(box) + f"is stopped by a debugger: pid {shown} (gdb) in ", job.rest() + f"all_reduce ({STEPS})")
    expect_in_steps(verdict)
    end(box, run)


def status_of(pid, name):
    """The words of this line in /proc/PID/status."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return next(line.split()[1:] for line in file if line.startswith(name + ":"))


def busy(box, job=Job()):
    run = train(box, "busy", job)
    verdict = told(box, "slow")
    loop = int(line_of("x += 1").split(":")[1])
    expect_verdict(verdict, [job.odd], job.subject(box) + "is busy in compute (astray.py:", job.rest() + OF_ALL)
    expect(any(f"compute (astray.py:{line})" in verdict["headline"] for line in (loop - 1, loop)), verdict["headline"])
    end(box, run)


@contextlib.contextmanager
def silent_data(box):
    """The folder of the data is a file system that does not answer. Before a cluster is made, whose nodes have it then."""
    with frozen.silent_server(box) as folder:
        if not os.path.islink(box.path("data")):
            os.symlink(folder, box.path("data"))
        yield


LOST_SOON = ["--set", "timeouts.fence_after=1500ms", "--set", "timeouts.lost_after=5s"]
NODE_LOST = 69
GET_DATA = f"waits for data in _MultiProcessingDataLoaderIter._get_data ({line_of('for _ in shards')})"


def loader(box, job=PAIR):
    if not os.path.exists(box.path("data")):
        os.mkfifo(os.path.join(box.make_folder("data"), "shard"))
    run = train(box, "loader", job)
    expect_loader(box, job, told(box, "hang"), f"is opening {box.path('data/shard')} in load ({line_of('open(FILE')})")
    end(box, run)


def expect_loader(box, job, verdict, trouble):
    expect_verdict(verdict, [job.odd], job.subject(box) + GET_DATA + "; its data loader, pid ", trouble, job.rest() + OF_ALL)


def loader_of_fuse(box, job=PAIR):
    with silent_data(box):
        run = train(box, "loader", job)
        expect_loader(box, job, told(box, "hang"), f"opening {box.path('data/shard')} in load ({line_of('open(FILE')})")
        end(box, run)


def fuse(box, job=PAIR):
    with silent_data(box):
        run = train(box, "reading", job)
        verdict = told(box, "hang")
        expect_verdict(verdict, [job.odd], f"opening {box.path('data/shard')} in load ({line_of('open(FILE')})", job.rest() + OF_ALL)
        expect(verdict["headline"].split(": ", 1)[1].startswith(job.subject(box) + "is "), verdict["headline"])
        end(box, run)


def stopped_loader(box, job=PAIR):
    run = train(box, "loader_computes", job)
    box.expect_events([f"loading {job.odd}"], patience=40)
    (loading,) = children_of(pid_of(box, run, job, job.odd))
    os.kill(loading, signal.SIGSTOP)
    expect_verdict(told(box, "hang"), [job.odd], job.subject(box) + GET_DATA + f"; its data loader, pid {loading}, is stopped by a signal in ",
                   job.rest() + OF_ALL)
    end(box, run)


def dead_loader(box, job=PAIR):
    run = train(box, "loader_dies", job)
    expect_verdict(told(box, "hang"), [job.odd],
                   job.subject(box) + GET_DATA.replace("data in", "data loaders that have ended in"), job.rest() + OF_ALL)
    end(box, run)


def loader_lock(box):
    job = Job(ranks=2, python=PYPI)
    run = train(box, "loader_lock", job)
    expect_loader(box, job, told(box, "hang"), f"in read_locked ({line_of('with LOCK:')})")
    end(box, run)


def gil(box, job=PAIR):
    run = train(box, "gil", job)
    expect_verdict(told(box, "hang"), [job.odd], job.subject(box) + f"is in hold_the_lock_of_python ({line_of('PyDLL(None)')})", job.rest() + OF_ALL)
    end(box, run)


def extension(box, job=PAIR):
    """In a module of C that was built against Python's headers."""
    made = subprocess.run(["gcc", "-shared", "-fPIC", "-O1", f"-I{sysconfig.get_path('include')}", "-o", box.path("holding.so"),
                           os.path.join(HERE, "ranks", "holding.c")], check=False, capture_output=True, text=True)
    if made.returncode != 0:
        raise Skip(f"missing package: python3-dev ({made.stderr.splitlines()[0]})")
    run = train(box, "gil_extension", job)
    expect_verdict(told(box, "hang"), [job.odd], job.subject(box) + f"is in hold_it_in_an_extension ({line_of('holding.hold()')})",
                   job.rest() + OF_ALL)
    end(box, run)


def deadlock(box):
    run = start(box, Job(ranks=1), PYTHON, QUIET, "deadlock", env=environment(box))
    box.expect_all("ready", 1)
    place = line_of("with second:", QUIET)
    expect_verdict(told(box, "hang"), [], f"rank 0 on {os.uname().nodename} has not moved for ", "it has threads that wait for locks",
                   f"the main thread in take ({place})", f"thread prefetch in take ({place})")
    end(box, run)


def deadlock_of_one(box, job=PAIR):
    run = train(box, "deadlock", job)
    place = line_of("with second:")
    expect_verdict(told(box, "hang"), [job.odd],
                   job.subject(box) + f"has threads that wait for locks: the main thread in take ({place}), thread prefetch in take ({place})",
                   job.rest() + OF_ALL)
    end(box, run)


# --- networks and nodes

def cut_between_two(box):
    """Nothing comes through any more between two nodes, which both still reach the launcher."""
    job = Job(ranks=2, nodes=2)
    run = train(box, "steps", job)
    cut(box.cluster[2], [box.cluster[1]])
    expect_verdict(told(box, "hang"), [], f"no answer over the network between node1 and node2; 2 ranks wait in all_reduce ({STEPS})")
    end(box, run)
    box.cluster[2].drop_nothing()


def cut(node, others):
    for other in others:
        for direction in ("in", "out"):
            node.drop(direction, other)


def cut_off(box, job=Job(ranks=3, nodes=3)):
    """All other nodes get nothing from the odd rank's node, nor it from them."""
    run = train(box, "steps", job)
    name = job.host(box)
    node = next(one for one in box.cluster.nodes if one.name == name)
    cut(node, [one for one in box.cluster.nodes if one.name != name])
    verdict = told(box, "hang")
    # With which of the others it had just exchanged data is a matter of the moment: with one of them, it may be either's fault.
    from_it = f": no answer over the network from {name} to " in verdict["headline"]
    of_node = [rank for rank in range(job.ranks) if job.host(box, rank) == name]
    expect_verdict(verdict, of_node if from_it else [], "no answer over the network ", name, f"; {job.ranks} ranks wait in all_reduce ({STEPS})")
    end(box, run)
    node.drop_nothing()


def lost(box):
    """The launcher cannot look at its ranks; it names the node, and no rank of another one."""
    run = train(box, "steps", Job(ranks=2, nodes=2), LOST_SOON)
    node = box.cluster[2]
    node.link_down()
    wait_until(lambda: not node.processes(sessions=False), "the cut node has fenced itself", 20, 0.05)
    run.end(NODE_LOST, patience=40, left=1000)
    expect_in("node2 was lost: no sign of life for 5 s", run.words, "the report")
    expect_equal([one for one in box.json("summary.json")["stalls"] if 0 in one["ranks"]], [], "wrong names")
    node.kill_sessions()


def slow_node(box, job=Job(ranks=2, nodes=2)):
    """Its ranks have 2 % of a CPU, and their steps need more."""
    with CpuLimit(2) as little:
        run = train(box, "work", job)
        of_node = [rank for rank in range(job.ranks) if job.host(box, rank) == job.host(box)]
        little.hold(pid_of(box, run, job, rank) for rank in of_node)
        verdict = told(box, "slow")
        text = json.dumps(stalls(box), indent=1)
        for one in stalls(box):
            expect(one["verdict"] != "hang" and set(one["ranks"]) <= set(of_node), text)
        # Of two ranks that share so little, one may have come to the end of its step; and a rank may have come to the collective.
        late = re.search(r": ranks? ([0-9, ]+) on (\w+) (?:is|are) in (\w+ \(.*\)), waiting for a CPU most of the time.*; ", verdict["headline"])
        expect(late, text)
        expect_equal(late[2], job.host(box), text)
        expect(late[3] in (f"work ({line_of('sum(range')})", f"all_reduce ({line_of('# of all that work')})"), text)
        expect_equal(sorted(map(int, late[1].split(","))), verdict["ranks"], text)
        expect_in(f" in all_reduce ({line_of('# of all that work')})", verdict["headline"], text)
        end(box, run)


# --- MPI

def mpi_absent(box, compiler, job=Job()):
    run = mpi(box, compiler, "absent", job)
    expect_verdict(told(box, "hang"), [job.odd], job.subject(box) + "is in compute (ring)", job.rest() + "MPI_Allreduce (step in ring)")
    end(box, run)


def mpi_mismatch(box, compiler, job=Job()):
    run = mpi(box, compiler, "mismatch", job)
    expect_verdict(told(box, "hang"), [job.odd], job.subject(box) + "waits in MPI_Barrier (step in ring)",
                   f"; {job.ranks - 1} ranks wait in MPI_Allreduce (step in ring)")
    end(box, run)


def mpi_receive(box, compiler, job=Job(ranks=5)):
    """Two ranks each wait for the other's message, and so for each other; the others, which are the more, wait for both."""
    run = mpi(box, compiler, "receive", job)
    hosts = sorted({job.host(box, job.odd - 1), job.host(box)})
    expect_verdict(told(box, "hang"), [job.odd - 1, job.odd],
                   f"ranks {job.odd - 1}, {job.odd} on {', '.join(hosts)} wait in MPI_Recv (exchange in ring)",
                   f"; {job.ranks - 2} ranks wait in MPI_Allreduce (step in ring)")
    end(box, run)


def open_mpi(box):
    mpi_absent(box, "mpicc.openmpi")


def mpich(box):
    mpi_absent(box, "mpicc.mpich")


def open_mpi_mismatch(box):
    mpi_mismatch(box, "mpicc.openmpi")


def mpich_mismatch(box):
    mpi_mismatch(box, "mpicc.mpich")


def open_mpi_receive(box):
    mpi_receive(box, "mpicc.openmpi")


def mpich_receive(box):
    mpi_receive(box, "mpicc.mpich")


def mpi4py(box):
    if subprocess.run([PYTHON, "-c", "import mpi4py"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        raise Skip(f"no mpi4py for {PYTHON} (python3-mpi4py)")
    job = Job()
    run = start(box, job, PYTHON, MPI_STEP, options=["--set", "framework=mpi", "--set", "mpi.oversubscribe=true"], env=environment(box))
    box.expect_events([f"ready {rank}" for rank in range(job.ranks)], patience=60)
    expect_verdict(told(box, "hang"), [job.odd], job.subject(box) + f"is in compute ({line_of('time.sleep', MPI_STEP)})",
                   job.rest() + f"MPI_Allreduce ({line_of('WORLD.Allreduce', MPI_STEP)})")
    end(box, run)


# --- no alarm

def quiet(box, what, *parts, job=PAIR):
    run = start(box, job, PYTHON, QUIET, what, env=environment(box))
    box.expect_all("ready", job.ranks)
    expect_verdict(told(box, "working"), [], "nothing printed for ", " s, but ranks work: ", f" on {os.uname().nodename} ", *parts)
    end(box, run)


def evaluation(box):
    quiet(box, "evaluate", " in evaluate_one", f" ({line_of('sum(i * number', QUIET)})")


def silent_training(box):
    run = train(box, "steps", PAIR)
    expect_verdict(told(box, "working"), [], " s, but ranks work: ", f" on {os.uname().nodename} ", " (astray.py:")
    end(box, run)
