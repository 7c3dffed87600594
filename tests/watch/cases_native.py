"""dlaunch stacks: frames of C, C++ and Fortran, and a tracer that is killed."""

import os
import shutil
import signal
import struct
import subprocess

from case import case
from expectations import Skip, expect, expect_equal, expect_in
from processes import children_of, stat_of, wait_until
from run_helpers import as_nobody
from watch_sandbox import HERE, functions, main_thread

CAP_SYS_PTRACE = 19
COMPILERS = {".c": "gcc", ".cc": "g++", ".f90": "gfortran"}


def compiled(box, source, *options, compiler=None):
    """A program of ranks/; -O1 keeps no frame pointers."""
    compiler = compiler or COMPILERS[os.path.splitext(source)[1]]
    if not shutil.which(compiler):
        raise Skip(f"missing: {compiler}")
    path = box.path(source.replace(".", "-"))
    subprocess.run([compiler, "-O1", *options, "-o", path, os.path.join(HERE, "ranks", source)], check=True, cwd=box.folder)
    return path


TELLS = ["sh", "-c", 'echo "ready ${RANK-$OMPI_COMM_WORLD_RANK}" >"$EVENTS"; exec "$0" "$@"']  # as ranks/rank.c does


def stand(box, *command, ranks=1, options=(), **more):
    run = box.start("run", "-n", str(ranks), "--set", "timeouts.stop=1s", *options, "--", *TELLS, *command, **more)
    box.expect_all("ready", ranks)
    return run


def native(thread):
    return functions(thread, "native")


def until_native(box, wanted, *words, **more):
    """Until rank 0 has these frames, innermost first."""
    return box.until_stacks(lambda said: native(main_thread(said["ranks"][0])) == wanted, *words, **more)


def end(run):
    run.signal(signal.SIGTERM)
    run.end(143)


WAITS = ["read", "hidden_wait", "exported_step", "main"]


@case
def functions_of_c_are_named_and_those_before_main_are_not(box):
    program = compiled(box, "native.c")
    run = stand(box, program, "wait", "counter", ranks=2)
    said = box.until_stacks(lambda said: all(native(main_thread(rank)) == WAITS for rank in said["ranks"]))
    frames = main_thread(said["ranks"][0])["frames"]
    expect_equal([frame["file"] for frame in frames if frame["function"] in WAITS[1:]], [program] * 3, "their object")
    expect_equal(said["ranks"][0]["remarks"], [], "remarks")
    text = box.stacks().out.decode()
    expect_in(f"  hidden_wait  {program}\n", text, "a function that no other object may use")
    expect_in("= reading a pipe", text, "what it does")
    expect_equal(text.count("hidden_wait"), 1, "once for both ranks")
    end(run)


@case
def a_program_without_symbols_has_those_of_its_debug_file(box):
    program = compiled(box, "native.c", "-Wl,--build-id")
    subprocess.run(["objcopy", "--only-keep-debug", program, program + ".debug"], check=True)
    subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={program}.debug", program], check=True)
    run = stand(box, program, "wait", "counter")
    until_native(box, WAITS)
    # Another file under that name is none of it.
    subprocess.run(["gcc", "-O2", "-Wl,--build-id", "-o", program + ".debug", os.path.join(HERE, "ranks", "native.c")], check=True)
    expect_equal(native(main_thread(box.stacks_json()["ranks"][0])), ["read", ""], "without it")
    end(run)


@case
def a_program_that_was_replaced_is_not_taken_for_the_one_that_runs(box):
    program = compiled(box, "native.c", "-Wl,--build-id")
    run = stand(box, program, "wait", "counter")
    until_native(box, WAITS)
    os.unlink(program)
    shutil.copy("/usr/bin/true", program)
    expect_equal(native(main_thread(box.stacks_json()["ranks"][0])), WAITS, "by what /proc has of it")
    end(run)


@case
def names_of_c_plus_plus_are_demangled(box):
    run = stand(box, compiled(box, "native.cc"))
    until_native(box, ["pause", "solver::Grid<double>::exchange", "solver::(anonymous namespace)::step", "main"])
    end(run)


@case
def names_of_fortran(box):
    run = stand(box, compiled(box, "native.f90"))
    said = box.until_stacks(lambda said: "solver::exchange" in native(main_thread(said["ranks"][0])))
    names = native(main_thread(said["ranks"][0]))
    expect_equal(names[-1], "main", "where they begin: some versions of gfortran inline MAIN__")
    end(run)


@case
def a_rank_that_waits_for_a_message_of_mpi(box):
    program = compiled(box, "receive.c", compiler="mpicc.openmpi")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)  # Open MPI refuses to start without a network
    run = stand(box, program, ranks=2, options=["--set", "framework=mpi"])
    said = box.until_stacks(lambda said: "PMPI_Recv" in native(main_thread(said["ranks"][0])) and
                            "pause" in native(main_thread(said["ranks"][1])))
    names = native(main_thread(said["ranks"][0]))
    expect_equal(names[names.index("PMPI_Recv"):], ["PMPI_Recv", "wait_for_halo", "main"], "from the program into MPI")
    end(run)


@case
def a_stopped_rank_has_frames_and_stays_stopped(box):
    run = stand(box, compiled(box, "native.c"), "wait", "counter")
    until_native(box, WAITS)
    rank = run.ranks()[0]
    os.kill(rank, signal.SIGSTOP)
    wait_until(lambda: stat_of(rank)[0] == "T", "its stop")
    for _ in range(3):
        said = box.stacks_json()["ranks"][0]
        expect_equal(native(main_thread(said)), WAITS, "frames")
        expect_equal(main_thread(said)["state"], "T", "state that is told")
        wait_until(lambda: stat_of(rank)[0] == "T", "its state afterwards")
    os.kill(rank, signal.SIGCONT)
    wait_until(lambda: stat_of(rank)[0] == "S", "its going on")
    end(run)


@case
def one_held_by_a_debugger_is_left_to_it(box):
    run = stand(box, compiled(box, "native.c"), "wait", "counter")
    until_native(box, WAITS)
    rank = run.ranks()[0]
    debugger = subprocess.Popen(["strace", "-o", box.path("trace"), "-p", str(rank)], stderr=subprocess.DEVNULL) \
        if shutil.which("strace") else None
    if debugger is None:
        end(run)
        raise Skip("missing: strace")
    wait_until(lambda: f"TracerPid:\t{debugger.pid}\n" in box.read(f"/proc/{rank}/status").decode(), "its tracer")
    remarks = " ".join(box.stacks_json()["ranks"][0]["remarks"])
    expect_in(f"no native frames of pid {rank}", remarks, "why there are none")
    debugger.terminate()
    debugger.wait()
    end(run)


@case
def ranks_in_a_pid_namespace_have_frames(box):
    run = stand(box, compiled(box, "native.c"), "wait", "counter", options=["--set", "isolation=pid-namespace"])
    until_native(box, WAITS)
    end(run)


@case
def py_spy_may_trace_every_process_of_an_ordinary_users_pid_namespace(box):
    """CAP_SYS_PTRACE in that user namespace is what Yama asks for where a process is no ancestor (decision 14)."""
    options = as_nobody(box)
    os.chmod(box.folder, 0o755)
    folder = box.make_folder("bin")
    box.write("bin/py-spy", "#!/bin/sh\ngrep CapEff /proc/self/status\n", mode=0o755)
    run = box.stand("sleep", options=["--set", "isolation=pid-namespace"], **options)
    remarks = " ".join(box.stacks_json(py_spy=folder, **options)["ranks"][0]["remarks"])
    expect_in("CapEff:", remarks, "what the program beside it says")
    expect(int(remarks.split("CapEff:")[1].split()[0], 16) & 1 << CAP_SYS_PTRACE, remarks)
    end(run)


@case
def frames_of_the_c_library_stand_below_those_of_python(box):
    py_spy = box.py_spy()
    run = box.stand("sleep")
    said = box.until_stacks(lambda said: functions(main_thread(said["ranks"][0]))[:1] == ["innermost"], py_spy=py_spy)
    expect_equal(native(main_thread(said["ranks"][0])), [], "without being asked to")
    said = box.stacks_json("--native", py_spy=py_spy)
    frames = [frame for frame in main_thread(said["ranks"][0])["frames"] if frame["kind"] != "kernel"]
    kinds = [frame["kind"] for frame in frames]
    expect_equal(kinds, sorted(kinds), "those of C are the innermost")
    expect_equal(functions({"frames": frames}), ["innermost", "step", "<module>"], "frames of Python")
    expect_in("clock_nanosleep", native({"frames": frames}), "the function of libc")
    expect(not [name for name in native({"frames": frames}) if "Eval" in name], f"the interpreter: {frames}")
    end(run)


def counted(box):
    with open(box.path("counter"), "rb") as file:
        return struct.unpack("L", file.read(8))[0]


@case
def a_tracer_that_is_killed_at_random_moments_leaves_no_rank_stopped(box):
    """tests/unit/stacks/thread_snapshot_test.cc does it at every system call; here the whole chain is real."""
    run = stand(box, compiled(box, "native.c"), "spin", box.path("counter"))
    rank = run.ranks()[0]
    agent = run.chain()[2]
    killed = 0
    for _ in range(10):
        asker = box.start("stacks", "--json", env={"PATH": box.environment["PATH"]})
        wait_until(lambda: set(children_of(agent)) - {rank} or (stat_of(asker.pid) or "Z")[0] == "Z", "the process that looks", 20, 0.001)
        for looker in set(children_of(agent)) - {rank}:
            for pid in [*children_of(looker), looker]:
                try:
                    os.kill(pid, signal.SIGKILL)
                    killed += 1
                except ProcessLookupError:
                    pass
        asker.end(left=1000)
        before = counted(box)
        wait_until(lambda: counted(box) > before, "its going on")
        expect_in("TracerPid:\t0\n", box.read(f"/proc/{rank}/status").decode(), "its tracer")
    expect(killed > 0, "none was ever seen")
    until_native(box, ["spin_step", "main"])
    end(run)


@case
def a_rank_that_ends_while_it_is_looked_at_ends_well(box):
    run = stand(box, compiled(box, "native.c"), "wait", "counter", ranks=4)
    asker = box.start("stacks", "--json", env={"PATH": box.environment["PATH"]})
    os.kill(run.ranks()[0], signal.SIGKILL)  # the others end with it
    asker.end(left=1000)
    run.end(137)
