"""dlaunch stacks: where ranks stand."""

import json
import os
import re
import signal
import socket
import subprocess
import time

import frozen
from case import case
from expectations import expect, expect_equal, expect_in
from processes import children_of, descendants_of, program_of, stat_of, wait_until
from watch_sandbox import PROGRAM, PYTHON, functions, main_thread
from run_helpers import NO_PERMISSION, USAGE, as_nobody

NODE_LOST = 69


def end(box, run):
    run.signal(signal.SIGTERM)
    run.end(143)


def stands(rank):
    """What a thread does is read a moment before its frames, so it may not wait yet where the frames say that it does."""
    return functions(main_thread(rank))[:1] == ["innermost"] and main_thread(rank)["doing"]


def line_of(text):
    """Number of the line of ranks/stand.py that holds the text."""
    with open(PROGRAM, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


# --- the program

@case
def a_rank_asleep_is_named_with_function_file_and_line(box):
    py_spy = box.py_spy()
    run = box.stand("sleep", ranks=2)
    said = box.until_stacks(lambda said: all(map(stands, said["ranks"])), py_spy=py_spy)
    expect_equal([rank["rank"] for rank in said["ranks"]], [0, 1], "ranks")
    for rank in said["ranks"]:
        thread = main_thread(rank)
        expect_equal(functions(thread), ["innermost", "step", "<module>"], "frames")
        expect_equal(thread["frames"][0]["file"], PROGRAM, "file")
        expect_equal(thread["frames"][0]["line"], line_of("time.sleep(1000)"), "line")
        expect_equal(thread["doing"], "sleeping", "what it does")
    text = box.stacks(py_spy=py_spy).out.decode()
    host = said["ranks"][0]["host"]
    expect_equal(text.splitlines()[0], f"ranks 0, 1 ({host})", "one tree for both")
    expect_equal(len(text.splitlines()), 5, text)
    expect_in(f"  innermost  {PROGRAM}:{line_of('time.sleep(1000)')}", text, "the innermost frame")
    expect_in("  = sleeping", text, "what they do")
    end(box, run)


@case
def a_rank_that_stands_elsewhere_is_a_branch_with_the_file_it_waits_for(box):
    py_spy = box.py_spy()
    os.mkfifo(box.path("fifo"))
    run = box.stand("odd", ranks=3)
    said = box.until_stacks(lambda said: all(map(stands, said["ranks"])), py_spy=py_spy)
    expect_equal([main_thread(rank)["doing"] for rank in said["ranks"]],
                 ["sleeping", f"opening {box.path('fifo')}", "sleeping"], "what they do")
    text = box.stacks(py_spy=py_spy).out.decode()
    host = said["ranks"][0]["host"]
    at = text.index(f"\n  rank 1 ({host})\n")
    expect(text.index(f"  ranks 0, 2 ({host})\n") < at, text)
    expect_in(f"= opening {box.path('fifo')}", text[at:], "of rank 1")
    end(box, run)


@case
def a_thread_and_a_child_have_groups_of_their_own(box):
    py_spy = box.py_spy()
    run = box.stand("thread")
    said = box.until_stacks(lambda said: any("load" in functions(thread) for thread in said["ranks"][0]["processes"][0]["threads"]),
                            py_spy=py_spy)
    names = [thread["name"] for thread in said["ranks"][0]["processes"][0]["threads"]]
    expect_equal(names[0], "", "the main thread comes first")
    expect_in("thread prefetch", box.stacks(py_spy=py_spy).out.decode(), "the other thread")
    end(box, run)


@case
def a_data_loader_is_a_branch_of_its_rank(box):
    py_spy = box.py_spy()
    run = box.stand("loader")
    said = box.until_stacks(lambda said: len(said["ranks"][0]["processes"]) == 2 and
                            functions(main_thread(said["ranks"][0], 1))[:1] == ["load"], py_spy=py_spy)
    rank, loader = said["ranks"][0]["processes"]
    expect_equal(loader["parent"], rank["pid"], "its parent")
    expect_equal(main_thread(said["ranks"][0])["doing"], "waiting for a child process", "the rank")
    expect_in("child " + PYTHON, box.stacks(py_spy=py_spy).out.decode(), "the branch")
    # A worker that was killed and that its parent has not asked for.
    os.kill(rank["pid"], signal.SIGSTOP)
    wait_until(lambda: stat_of(rank["pid"])[0] == "T", "its parent stands still")  # else it may still ask, woken by the end
    os.kill(loader["pid"], signal.SIGKILL)
    wait_until(lambda: (stat_of(loader["pid"]) or "Z")[0] == "Z", "its end")
    text = box.stacks(py_spy=py_spy).out.decode()
    expect_in("= ended, but its parent has not reaped it", text, "the dead worker")
    os.kill(rank["pid"], signal.SIGCONT)
    run.end(0)  # there is no worker that it would wait for


@case
def a_stopped_rank_is_said_to_be_stopped_and_stays_so(box):
    py_spy = box.py_spy()
    run = box.stand("sleep", ranks=2)
    box.until_stacks(lambda said: all(functions(main_thread(rank))[:1] == ["innermost"] for rank in said["ranks"]), py_spy=py_spy)
    stopped = run.ranks()[0]
    os.kill(stopped, signal.SIGSTOP)
    wait_until(lambda: stat_of(stopped)[0] == "T", "its stop")
    text = box.stacks(py_spy=py_spy).out.decode()
    expect_in("= stopped by a signal", text, "the stopped one")
    expect_in("innermost", text, "its frames can be read all the same")
    expect_equal(stat_of(stopped)[0], "T", "state afterwards")
    os.kill(stopped, signal.SIGCONT)
    end(box, run)


@case
def a_rank_in_an_uninterruptible_wait_shows_where_in_the_kernel(box):
    with frozen.silent_server(box) as folder:
        os.symlink(os.path.join(folder, "file"), box.path("fifo"))
        run = box.stand("fifo")
        thread = main_thread(box.until_stacks(lambda said: main_thread(said["ranks"][0])["state"] == "D")["ranks"][0])
        expect(any("fuse" in function for function in functions(thread, "kernel")), f"functions of the kernel: {thread}")
        expect_equal(thread["doing"], f"opening {box.path('fifo')}", "its system call")
        text = box.stacks().out.decode()
        expect_in(f"  = in an uninterruptible wait: opening {box.path('fifo')}", text, "what it does")
        expect_in(f"  {functions(thread, 'kernel')[0]}", text, "the kernel's function")
        end(box, run)


@case
def what_is_known_without_py_spy(box):
    os.mkfifo(box.path("fifo"))
    run = box.stand("odd", ranks=2)
    text = box.stacks().out.decode()
    wait_until(lambda: {"sleeping", "opening"} <= set(re.findall(r"= (\w+)", box.stacks().out.decode())), "both calls")
    text = box.stacks().out.decode()
    expect_in("= sleeping", text, "rank 0")
    expect_in(f"= opening {box.path('fifo')}", text, "rank 1")
    expect_in("the node has no py-spy", text, "what is missing")
    end(box, run)


@case
def a_rank_that_has_ended_has_no_process(box):
    run = box.start("run", "-n", "2", "--", box.rank, "tell", "ready", "only", "0", "exit", "0")
    box.expect_all("ready", 2)
    said = box.until_stacks(lambda said: not said["ranks"][0]["processes"])
    expect_equal(len(said["ranks"][1]["processes"]), 1, "processes of rank 1")
    expect_in("= no process: ended, or not started", box.stacks().out.decode(), "rank 0")
    end(box, run)


@case
def a_shell_that_waits_for_its_command_stands_for_it(box):
    run = box.start("run", "--", "sh", "-c", f"{box.rank} tell ready pause; true")
    box.expect_all("ready", 1)
    said = box.stacks_json()
    expect_equal(len(said["ranks"][0]["processes"]), 2, "both are in the JSON")
    text = box.stacks().out.decode()
    expect("child" not in text, text)
    end(box, run)


# --- who may ask, and for what

@case
def only_some_ranks(box):
    run = box.start("run", "-n", "4", "--", box.rank, "tell", "ready", "pause")
    box.expect_all("ready", 4)
    expect_equal([rank["rank"] for rank in box.stacks_json("--rank", "1,3")["ranks"]], [1, 3], "ranks")
    expect_in("9", box.stacks("--rank", "9", code=USAGE).text, "of a rank that there is not")
    end(box, run)


@case
def the_answer_is_kept_in_the_run_folder_for_its_user_alone(box):
    run = box.start("run", "--", box.rank, "tell", "ready", "pause")
    box.expect_all("ready", 1)
    said = box.stacks_json()
    folder = os.path.join(box.run_folder(), "stacks")
    kept = os.listdir(folder)
    expect_equal(len(kept), 1, f"files: {kept}")
    expect_equal(json.loads(box.read(folder, kept[0])), said, "what is kept")
    expect_equal(os.stat(folder).st_mode & 0o777, 0o700, "the folder's mode")
    expect_equal(os.stat(os.path.join(folder, kept[0])).st_mode & 0o777, 0o600, "the file's mode")
    path = os.path.join(box.run_folder(), "questions.sock")
    expect_equal(os.stat(path).st_mode & 0o777, 0o600, "the socket's mode")
    end(box, run)
    expect(not os.path.exists(path), "the socket is gone with the run")


@case
def a_run_that_has_ended_says_so(box):
    box.run("run", "--", "true", code=0)
    expect_in("has already ended", box.stacks(os.path.basename(box.run_folder()), code=USAGE).text, "of a run that has ended")
    expect_in("nothing is running", box.stacks(code=USAGE).text, "without a run")


@case
def an_ordinary_user_sees_its_own_ranks(box):
    py_spy = box.py_spy()
    options = as_nobody(box)
    os.chmod(box.folder, 0o755)
    run = box.stand("sleep", **options)
    said = box.until_stacks(lambda said: stands(said["ranks"][0]), py_spy=py_spy, **options)
    expect_equal(main_thread(said["ranks"][0])["doing"], "sleeping", "its system call")
    end(box, run)


def in_a_pid_namespace(box, **options):
    """Frames of Python and below, of the rank and of its data loader."""
    py_spy = box.py_spy()
    run = box.stand("loader", options=["--set", "isolation=pid-namespace"], **options)
    said = box.until_stacks(lambda said: len(said["ranks"][0]["processes"]) == 2 and functions(main_thread(said["ranks"][0], 1))[:1] == ["load"] and
                            main_thread(said["ranks"][0], 1)["doing"] and functions(main_thread(said["ranks"][0]))[-2:] == ["step", "<module>"], py_spy=py_spy, **options)
    expect_equal(said["ranks"][0]["remarks"], [], "remarks")
    expect_equal(main_thread(said["ranks"][0], 1)["doing"], "sleeping", "the data loader")
    said = box.stacks_json("--native", py_spy=py_spy, **options)
    expect_in("clock_nanosleep", functions(main_thread(said["ranks"][0], 1), "native"), "libc's function below it")
    end(box, run)


@case
def ranks_in_a_pid_namespace(box):
    in_a_pid_namespace(box)


@case
def ranks_in_a_pid_namespace_of_an_ordinary_user(box):
    os.chmod(box.folder, 0o755)
    in_a_pid_namespace(box, **as_nobody(box))


@case
def another_user_is_refused(box):
    run = box.start("run", "--", box.rank, "tell", "ready", "pause")
    box.expect_all("ready", 1)
    os.chmod(box.folder, 0o755)
    refused = box.stacks(box.run_folder(), code=NO_PERMISSION, prefix=["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"])
    expect_equal(refused.out, b"", "what it has been told")
    # The engine does not hear such a peer even where all folders are open to it.
    folder = box.run_folder()
    os.chmod(os.path.dirname(folder), 0o755)
    os.chmod(folder, 0o755)
    os.chmod(os.path.join(folder, "questions.sock"), 0o666)
    asker = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", PYTHON, "-c",
             "import socket, sys; s = socket.socket(socket.AF_UNIX); s.settimeout(10); s.connect(sys.argv[1]); "
             "print(len(s.recv(1)))", "questions.sock"]
    heard = subprocess.run(asker, cwd=folder, capture_output=True, text=True, check=False, timeout=20)
    expect_equal(heard.stdout, "0\n", f"an end without a byte: {heard.stderr}")
    end(box, run)


# --- nothing that goes wrong harms the run

@case
def nonsense_at_the_socket_changes_nothing(box):
    run = box.start("run", "--", box.rank, "tell", "ready", "pause")
    box.expect_all("ready", 1)
    os.chdir(box.run_folder())  # sun_path is short (unix(7))
    path = "questions.sock"
    for bytes_ in (b"", b"\xff" * 100, b"\xa1" * 200_000):
        with socket.socket(socket.AF_UNIX) as asker:
            asker.settimeout(10)
            asker.connect(path)
            try:
                asker.sendall(bytes_)
                asker.shutdown(socket.SHUT_WR)
                while asker.recv(65536):
                    pass
            except (BrokenPipeError, ConnectionResetError):
                pass
    silent = [socket.socket(socket.AF_UNIX) for _ in range(8)]
    for asker in silent:
        asker.connect(path)
    expect_equal(len(box.stacks_json()["ranks"]), 1, "an answer beside askers that say nothing")
    for asker in silent:
        asker.close()
    end(box, run)


@case
def a_py_spy_that_hangs_costs_at_most_five_seconds_and_leaves_nothing(box):
    folder = box.make_folder("bin")
    box.write("bin/py-spy", "#!/bin/sh\nexec sleep 1000\n", mode=0o755)
    run = box.stand("sleep")
    started = time.monotonic()
    said = box.stacks_json(py_spy=folder)
    expect(3 < time.monotonic() - started < 12, "within its limit")
    expect_equal(main_thread(said["ranks"][0])["doing"], "sleeping", "what /proc says")
    expect_in("py-spy took too long", " ".join(said["ranks"][0]["remarks"]), "why frames are missing")
    wait_until(lambda: not [pid for pid in descendants_of(run.pid) if os.path.basename(program_of(pid) or "") == "sleep"],
               "the end of py-spy")
    end(box, run)


@case
def a_tracer_that_is_killed_in_the_middle_leaves_no_rank_stopped(box):
    """The process that looks is killed again and again, while it looks."""
    py_spy = box.py_spy()
    run = box.stand("spin")
    rank = run.ranks()[0]
    agent = run.chain()[2]
    killed = 0
    for _ in range(8):
        asker = box.start("stacks", env={"PATH": box.environment["PATH"] + ":" + py_spy})
        wait_until(lambda: set(children_of(agent)) - {rank} or asker_has_ended(asker), "the process that looks", 20, 0.001)
        for pid in set(children_of(agent)) - {rank}:
            try:
                os.kill(pid, signal.SIGKILL)
                killed += 1
            except ProcessLookupError:
                pass
        asker.end(left=1000)
        expect(stat_of(rank)[0] in "RS", f"state of the rank: {stat_of(rank)}")
    expect(killed > 0, "it was never seen")
    expect_equal(len(box.stacks_json(py_spy=py_spy)["ranks"]), 1, "it can be asked again")
    end(box, run)
    expect_equal(box.json("summary.json")["leftovers"], 0, "processes that had to be killed at the end")


def asker_has_ended(asker):
    return (stat_of(asker.pid) or "Z")[0] == "Z"


@case
def the_end_of_a_run_in_the_middle_of_an_answer(box):
    folder = box.make_folder("bin")
    box.write("bin/py-spy", "#!/bin/sh\nexec sleep 1000\n", mode=0o755)
    run = box.stand("sleep")
    agent = run.chain()[2]
    asker = box.start("stacks", env={"PATH": box.environment["PATH"] + ":" + folder})
    wait_until(lambda: len(children_of(agent)) > 1, "the process that looks", 20, 0.005)
    run.signal(signal.SIGTERM)
    asker.end(left=1000)
    run.end(143)
    expect_equal(box.json("summary.json")["leftovers"], 0, "a helper of dlaunch is no leftover of the job")


# --- several nodes

@case
def ranks_of_two_nodes_over_ssh_in_one_tree(box):
    py_spy = box.py_spy()
    box.make_cluster(2)
    os.mkfifo(box.path("fifo"))
    run = box.launch(PYTHON, PROGRAM, "odd", ranks=2, options=["--set", "timeouts.stop=1s"])
    box.expect_all("ready", 4)
    said = box.until_stacks(lambda said: all(map(stands, said["ranks"])), py_spy=py_spy)
    expect_equal([rank["host"] for rank in said["ranks"]], ["node1", "node1", "node2", "node2"], "hosts")
    text = box.stacks(py_spy=py_spy).out.decode()
    expect_equal(text.splitlines()[0], "ranks 0-3 (node1, node2)", "all of them")
    expect_in("  ranks 0, 2, 3 (node1, node2)\n", text, "those that sleep")
    expect_in("  rank 1 (node1)\n", text, "the odd one")
    end(box, run)


@case
def a_node_that_does_not_answer_is_named(box):
    cluster = box.make_cluster(2)
    run = box.launch(box.rank, "tell", "ready", "pause", options=["--set", "timeouts.stop=1s"])
    box.expect_all("ready", 2)
    agent = box.people(cluster[2])[1]
    os.kill(agent, signal.SIGSTOP)
    said = box.start("stacks", "--json", env={"PATH": box.environment["PATH"]}).end(NODE_LOST, left=1000)
    said = json.loads(said.out)
    expect_equal([rank["rank"] for rank in said["ranks"]], [0], "who has answered")
    expect_in("node2: ", " ".join(said["silent"]), "who has not")
    try:
        os.kill(agent, signal.SIGCONT)
    except ProcessLookupError:
        pass
    run.signal(signal.SIGTERM)
    run.end()
