"""The verdict on real programs that hang, each by rank, host and line; and none on those that work."""

import json
import os
import shutil
import signal
import subprocess
import time

import frozen
from case import case
from expectations import Skip, expect, expect_equal, expect_in
from processes import children_of, command_of, stat_of, wait_until
from watch_sandbox import CpuLimit, HERE, PYTHON

ASTRAY = os.path.join(HERE, "ranks", "astray.py")
QUIET = os.path.join(HERE, "ranks", "quiet.py")
MPI_STEP = os.path.join(HERE, "ranks", "mpi_step.py")
PYPI = os.path.expanduser("~/.cache/dlaunch-test/torch-venv/bin/python")
WATCHED = ["--set", "timeouts.stop=1s", "--set", "watch.after=2s"]
LOST_SOON = ["--set", "timeouts.fence_after=1500ms", "--set", "timeouts.lost_after=5s"]
NODE_LOST = 69
TWENTY_TIMES = 20


def line_of(text, program=ASTRAY):
    with open(program, encoding="utf-8") as file:
        name = os.path.basename(program)
        return f"{name}:{next(number for number, line in enumerate(file, 1) if text in line)}"


def needs_torch(python=PYTHON):
    if subprocess.run([python, "-c", "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"],
                      check=False, stderr=subprocess.DEVNULL).returncode != 0:
        raise Skip(f"no torch for {python} (python3-torch; docs/internals/testing.md)")


def needs(python):
    if not os.path.exists(python):
        raise Skip(f"missing: {python} (docs/internals/testing.md)")
    needs_torch(python)


def environment(box):
    """In which dlaunch finds py-spy."""
    return {"PATH": box.environment["PATH"] + ":" + box.py_spy()}


def until_ready(box, ranks):
    """An import of torch takes its time where all ranks do it at once."""
    box.expect_events([f"ready {rank}" for rank in range(ranks)], patience=max(40, 5 * ranks))


def train(box, what, ranks=3, python=PYTHON):
    needs(python)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    run = box.start("run", "-n", str(ranks), *WATCHED, "--set", "env={OMP_NUM_THREADS: '1'}", "--", python, ASTRAY, what,
                    env=environment(box))
    until_ready(box, ranks)
    return run


def stalls(box):
    with open(os.path.join(box.run_folder(), "events.jsonl"), encoding="utf-8") as file:
        events = [json.loads(line) for line in file if line.endswith("\n")]
    return [event for event in events if event["event"] == "stall"]


def told(box, kind):
    """The first verdict of this kind. None before it may call it a hang."""
    found = []

    def look():
        found[:] = stalls(box)
        return any(one["verdict"] == kind for one in found)
    try:
        wait_until(look, f"the verdict {kind}", 90, 0.2)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{json.dumps(found, indent=1)}") from None
    verdict = next(one for one in found if one["verdict"] == kind)
    for earlier in found[:found.index(verdict)]:
        expect(earlier["verdict"] != "hang", json.dumps(found, indent=1))
    show(box, verdict)
    return verdict


def show(box, verdict):
    """For docs/how-to/see-where-ranks-stand.md: tests/watch/screens.py."""
    if "SCREENS" not in os.environ:
        return
    with open(os.environ["SCREENS"], "a", encoding="utf-8") as file:
        json.dump({"folder": box.folder, **verdict}, file)
        file.write("\n")


def end(box, run):
    run.signal(signal.SIGTERM)
    run.end(143)


def host(box):
    return box.json("plan.json")["nodes"][0]["name"]


def expect_verdict(verdict, odd, *parts):
    text = json.dumps(verdict, indent=1)
    expect_equal(verdict["ranks"], odd, text)
    for part in parts:
        expect_in(part, verdict["headline"], text)


# --- one rank is odd

def absent(box, python=PYTHON):
    run = train(box, "absent", python=python)
    expect_verdict(told(box, "hang"), [1], f"rank 1 on {host(box)} is in forward ({line_of('time.sleep(1000)')})",
                   f"2 ranks wait for it in all_reduce ({line_of('all_reduce(ones)  # of all')})")
    end(box, run)


@case
def a_rank_that_never_joins_the_collective(box):
    absent(box)


@case(budget=120, long=True)
def a_rank_that_never_joins_with_pytorch_of_pypi(box):
    absent(box, PYPI)


def mismatch(box, python=PYTHON):
    run = train(box, "mismatch", python=python)
    expect_verdict(told(box, "hang"), [1], f"rank 1 on {host(box)} waits in broadcast ({line_of('dist.broadcast(ones, 0)')})",
                   f"2 ranks wait in all_reduce ({line_of('all_reduce(ones)  # of all')})")
    end(box, run)


@case
def a_rank_in_another_collective(box):
    mismatch(box)


@case(budget=120, long=True)
def a_rank_in_another_collective_with_pytorch_of_pypi(box):
    mismatch(box, PYPI)


def halves(box):
    run = train(box, "halves", ranks=2)
    expect_verdict(told(box, "hang"), [], "rank 0 on", "waits in all_reduce (", f"waits in barrier ({line_of('dist.barrier()')})")
    end(box, run)


@case
def two_halves_of_the_ranks_in_different_collectives(box):
    halves(box)


def stopped(box):
    run = train(box, "steps")
    victim = run.ranks()[1]
    os.kill(victim, signal.SIGSTOP)
    wait_until(lambda: stat_of(victim)[0] == "T", "its stop")
    expect_verdict(told(box, "hang"), [1], f"rank 1 on {host(box)} is stopped by a signal in ", "; 2 ranks wait for it in all_reduce (")
    end(box, run)


@case
def a_stopped_rank(box):
    stopped(box)


def busy(box):
    run = train(box, "busy")
    expect_verdict(told(box, "slow"), [1], f"rank 1 on {host(box)} is busy in compute (astray.py:", "; 2 ranks wait for it in all_reduce (")
    end(box, run)


@case
def a_rank_in_an_endless_loop(box):
    busy(box)


def loader(box):
    if not os.path.exists(box.path("data")):
        os.mkfifo(os.path.join(box.make_folder("data"), "shard"))
    run = train(box, "loader", ranks=2)
    expect_verdict(told(box, "hang"), [1], f"rank 1 on {host(box)} waits for data in ", "_get_data (astray.py:",
                   f"is opening {box.path('data/shard')} in load (", "; 1 rank waits for it in all_reduce (")
    end(box, run)


@case
def a_data_loader_whose_file_does_not_answer(box):
    loader(box)


@case
def a_file_system_that_does_not_answer(box):
    needs(PYTHON)
    with frozen.silent_server(box) as folder:
        os.symlink(folder, box.path("data"))
        run = train(box, "reading", ranks=2)
        expect_verdict(told(box, "hang"), [1], f"opening {box.path('data/shard')} in load (", "; 1 rank waits for it in all_reduce (")
        end(box, run)


def stopped_loader(box):
    run = train(box, "loader_computes", ranks=2)
    box.expect_events(["loading 1"], patience=40)
    (loading,) = children_of(run.ranks()[1])
    os.kill(loading, signal.SIGSTOP)
    expect_verdict(told(box, "hang"), [1], f"rank 1 on {host(box)} waits for data in ",
                   f"; its data loader, pid {loading}, is stopped by a signal in ", "; 1 rank waits for it in all_reduce (")
    end(box, run)


@case
def a_data_loader_that_is_stopped(box):
    stopped_loader(box)


@case(budget=120, long=True)
def a_data_loader_with_a_lock_that_was_held_when_it_was_forked(box):
    run = train(box, "loader_lock", ranks=2, python=PYPI)
    expect_verdict(told(box, "hang"), [1], f"rank 1 on {host(box)} waits for data in ", "; its data loader, pid ",
                   f"in read_locked ({line_of('with LOCK:')})", "; 1 rank waits for it in all_reduce (")
    end(box, run)


def gil(box):
    run = train(box, "gil", ranks=2)
    expect_verdict(told(box, "hang"), [1], f"rank 1 on {host(box)} is in hold_the_lock_of_python ({line_of('PyDLL(None)')})")
    end(box, run)


@case(long=True)
def a_rank_that_holds_the_lock_of_python_in_a_c_function(box):
    gil(box)


def deadlock(box):
    run = box.start("run", *WATCHED, "--", PYTHON, QUIET, "deadlock", env=environment(box))
    box.expect_all("ready", 1)
    place = line_of("with second:", QUIET)
    expect_verdict(told(box, "hang"), [], "it has threads that wait for locks", f"the main thread in take ({place})",
                   f"thread prefetch in take ({place})")
    end(box, run)


@case
def two_threads_that_wait_for_each_others_lock(box):
    deadlock(box)


# --- MPI

def mpi(box, compiler, what):
    program = box.path("ring")
    made = subprocess.run([compiler, "-O1", "-o", program, os.path.join(HERE, "ranks", "mpi_step.c")], check=False,
                          capture_output=True, text=True) if shutil.which(compiler) else None
    if made is None or made.returncode != 0:
        raise Skip(f"missing: {compiler} (packages libopenmpi-dev, libmpich-dev)")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    run = box.start("run", "-n", "3", *WATCHED, "--set", "framework=mpi", "--set", "mpi.oversubscribe=true", "--", program, what)
    until_ready(box, 3)
    return run


def mpi_absent(box, compiler):
    run = mpi(box, compiler, "absent")
    expect_verdict(told(box, "hang"), [1], f"rank 1 on {host(box)} is in compute (ring)", "; 2 ranks wait for it in MPI_Allreduce (step in ring)")
    end(box, run)


def mpi_mismatch(box, compiler):
    run = mpi(box, compiler, "mismatch")
    expect_verdict(told(box, "hang"), [1], f"rank 1 on {host(box)} waits in MPI_Barrier (step in ring)",
                   "; 2 ranks wait in MPI_Allreduce (step in ring)")
    end(box, run)


def open_mpi(box):
    mpi_absent(box, "mpicc.openmpi")


def mpich(box):
    mpi_absent(box, "mpicc.mpich")


def open_mpi_mismatch(box):
    mpi_mismatch(box, "mpicc.openmpi")


def mpich_mismatch(box):
    mpi_mismatch(box, "mpicc.mpich")


@case
def a_rank_that_never_joins_with_open_mpi(box):
    open_mpi(box)


@case
def a_rank_that_never_joins_with_mpich(box):
    mpich(box)


@case
def a_rank_in_a_barrier_and_others_in_a_reduction_with_open_mpi(box):
    open_mpi_mismatch(box)


@case(long=True)
def a_rank_in_a_barrier_and_others_in_a_reduction_with_mpich(box):
    mpich_mismatch(box)


def mpi4py(box):
    if subprocess.run([PYTHON, "-c", "import mpi4py"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        raise Skip(f"no mpi4py for {PYTHON} (python3-mpi4py)")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    run = box.start("run", "-n", "3", *WATCHED, "--set", "framework=mpi", "--set", "mpi.oversubscribe=true", "--", PYTHON, MPI_STEP,
                    env=environment(box))
    until_ready(box, 3)
    expect_verdict(told(box, "hang"), [1], f"rank 1 on {host(box)} is in compute ({line_of('time.sleep', MPI_STEP)})",
                   f"; 2 ranks wait for it in MPI_Allreduce ({line_of('WORLD.Allreduce', MPI_STEP)})")
    end(box, run)


@case
def python_that_spins_in_a_collective_of_mpi(box):
    mpi4py(box)


# --- over nodes

def over_nodes(box, nodes, ranks, what="absent", options=()):
    needs(PYTHON)
    path = environment(box)
    box.make_cluster(nodes)
    run = box.launch(PYTHON, ASTRAY, what, ranks=ranks, options=[*WATCHED, *options, "--set", "env={OMP_NUM_THREADS: '1'}"], env=path)
    until_ready(box, nodes * ranks)
    return run


@case
def one_of_the_ranks_of_two_nodes(box):
    run = over_nodes(box, 2, 1)
    expect_verdict(told(box, "hang"), [1], f"rank 1 on node2 is in forward ({line_of('time.sleep(1000)')}); 1 rank waits for it in all_reduce (")
    end(box, run)


@case(long=True, budget=300)
def one_of_sixteen_ranks_on_eight_nodes(box):
    run = over_nodes(box, 8, 2)
    expect_verdict(told(box, "hang"), [1], "rank 1 on node1 is in forward (", "; 15 ranks wait for it in all_reduce (")
    end(box, run)


def network_cut(box, nodes, cut):
    """Ranks that talk all the time, one on each node, until node2 gets nothing from these nodes any more, and they nothing from it; the
    launcher still reaches all."""
    run = over_nodes(box, nodes, 1, "steps")
    for number in cut:
        for direction in ("in", "out"):
            box.cluster[2].drop(direction, box.cluster[number])
    return run


@case(budget=120)
def the_network_between_two_nodes_is_cut(box):
    run = network_cut(box, 2, [1])
    expect_verdict(told(box, "hang"), [], "no answer over the network between node1 and node2; 2 ranks wait in all_reduce (")
    end(box, run)


@case(budget=120, long=True)
def the_network_between_a_node_and_all_others_is_cut(box):
    run = network_cut(box, 3, [1, 3])
    verdict = told(box, "hang")
    # What node2 and node3 had to say to each other is a matter of the moment.
    from_both = ": no answer over the network from node2 to node1, node3" in verdict["headline"]
    expect_verdict(verdict, [1] if from_both else [], "no answer over the network ", "node2", "; 3 ranks wait in all_reduce (")
    end(box, run)


@case(budget=120, long=True)
def a_node_that_nothing_reaches_any_more_is_lost(box):
    """The launcher cannot look at its ranks; it names the node, and no rank of another one."""
    run = over_nodes(box, 2, 1, "steps", options=LOST_SOON)
    node = box.cluster[2]
    node.link_down()
    wait_until(lambda: not node.processes(sessions=False), "the cut node has fenced itself", 20, 0.05)
    run.end(NODE_LOST, patience=40, left=1000)
    expect_in("node2 was lost: no sign of life for 5 s", " ".join(run.text.split()), "the report")
    expect_equal([one for one in box.json("summary.json")["stalls"] if 0 in one["ranks"]], [], "wrong names")
    node.kill_sessions()


# --- no alarm

def quiet(box, what, ranks=2):
    run = box.start("run", "-n", str(ranks), *WATCHED, "--", PYTHON, QUIET, what, env=environment(box))
    box.expect_all("ready", ranks)
    expect_verdict(told(box, "working"), [], "nothing printed for ", " s, but ranks work: ")
    end(box, run)


@case
def a_long_evaluation_is_no_hang(box):
    quiet(box, "evaluate")


@case
def a_checkpoint_to_a_slow_disk_is_no_hang(box):
    quiet(box, "save")


@case
def a_first_step_that_compiles_for_long_is_no_hang(box):
    quiet(box, "compile")


@case
def a_training_that_prints_nothing_is_no_hang(box):
    run = train(box, "steps", ranks=2)
    told(box, "working")
    end(box, run)


@case(budget=120)
def a_program_of_mpi_that_only_communicates_is_no_hang(box):
    """All ranks may be seen in the same call twice."""
    run = mpi(box, "mpicc.openmpi", "steps")
    wait_until(lambda: len(stalls(box)) > 1, "two verdicts", 90, 0.2)
    expect_equal([one for one in stalls(box) if one["verdict"] == "hang"], [], "hangs")
    end(box, run)


@case(budget=120)
def a_node_with_little_cpu_is_no_hang(box):
    """Its rank has 5 % of a CPU: the other one waits for it in each collective."""
    with CpuLimit() as little:
        run = over_nodes(box, 2, 1, "steps")
        little.hold(pid for pid in box.people(box.cluster[2])[2] if "astray.py" in command_of(pid))
        before = len(stalls(box))
        wait_until(lambda: len(stalls(box)) > before + 1, "two verdicts", 90, 0.2)
        told_since = stalls(box)[before:]
        for one in told_since:  # slow, where rank 0 waited in both snapshots
            expect((one["verdict"], one["ranks"]) in (("working", []), ("slow", [1])), json.dumps(told_since, indent=1))
        end(box, run)


# --- again and again

def repeat(scenario):
    """A long case: the scenario twenty times, or as often as $REPEAT says."""
    def repeated(box):
        for _ in range(int(os.environ.get("REPEAT", TWENTY_TIMES))):
            scenario(box)
            shutil.rmtree(box.path("runs"))
    repeated.__name__ = f"each_of_them_twenty_times_{scenario.__name__}"
    globals()[repeated.__name__] = case(long=True, budget=TWENTY_TIMES * 90)(repeated)


for each in (absent, mismatch, halves, stopped, busy, loader, stopped_loader, gil, deadlock, open_mpi, mpich, open_mpi_mismatch, mpich_mismatch,
             mpi4py):
    repeat(each)
