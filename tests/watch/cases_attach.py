"""dlaunch attach: a terminal, or a command, beside a rank."""

import os
import shutil
import signal
import socket
import subprocess

from case import case
from cases_gpus import furnish
from expectations import Skip, expect, expect_equal, expect_in
from guests import beside, is_raw, modes, resize, sit_down, wait_on_screen
from processes import children_of, command_of, descendants_of, stat_of, wait_until
from run_helpers import INTERNAL, NO_PERMISSION, USAGE, killed
from watch_sandbox import PYTHON

NODE_LOST, LEFT = 69, 129
READY = ("tell", "ready", "pause")


def begin(box, ranks=2, options=()):
    run = box.start("run", "-n", str(ranks), "--set", "timeouts.stop=1s", *options, "--", box.rank, *READY)
    box.expect_all("ready", ranks)
    return run


def end(run):
    run.signal(signal.SIGTERM)
    run.end(143)


# --- without a terminal

@case
def a_command_has_the_environment_and_the_folder_of_its_rank(box):
    run = begin(box)
    said = beside(box, "1", "--", "sh", "-c", "echo $RANK $WORLD_SIZE; pwd; cat /proc/$1/cmdline | tr '\\0' ' '", "sh", "{pid}").out.decode().splitlines()
    expect_equal(said[0], "1 2", "variables")
    expect_equal(said[1], os.path.realpath(box.folder), "folder")
    expect_in(box.rank, said[2], "{pid} is the rank")
    run_id = os.path.basename(box.run_folder())
    expect_equal(beside(box, run_id, "0", "--", "printenv", "RANK").out, b"0\n", "of a run that is named")
    expect_equal(beside(box, run_id[-3:], "0", "--", "sh", "-c", "echo out; echo err >&2; exit 7", code=7).err, b"err\n", "stderr apart")
    expect_equal(beside(box, "0", "--", "sh", "-c", "kill -SEGV $$", code=139).out, b"", "a signal")
    end(run)
    expect_equal(box.json("summary.json")["leftovers"], 0, "left over")


@case
def many_bytes_go_through_in_both_directions(box):
    """More than all buffers on the way; every byte value."""
    run = begin(box, 1)
    data = bytes(range(256)) * 20_000
    box.write("data", data)
    with open(box.path("data"), "rb") as file:
        done = subprocess.run([box.dlaunch, "attach", "0", "--", "cat"], stdin=file, capture_output=True, check=False, timeout=50,
                              cwd=box.folder, env=box.environment)
    expect_equal(done.returncode, 0, done.stderr.decode())
    expect(done.stdout == data, f"{len(done.stdout)} of {len(data)} bytes, or others")
    end(run)


@case
def a_reader_that_stops_reading_stops_the_command_only(box):
    run = begin(box, 1)
    guest = subprocess.Popen([box.dlaunch, "attach", "0", "--", "yes"], stdout=subprocess.PIPE, cwd=box.folder, env=box.environment)
    guest.stdout.read(1 << 20)
    expect_equal(beside(box, "0", "--", "printenv", "RANK").out, b"0\n", "beside it")
    guest.stdout.close()
    expect_equal(guest.wait(20), 128 + signal.SIGPIPE, "exit code of the first")
    wait_until(lambda: not [pid for pid in descendants_of(run.pid) if command_of(pid) == "yes"], "the end of yes")
    end(run)


@case
def what_cannot_be_says_why(box):
    run = box.start("run", "-n", "2", "--set", "timeouts.stop=1s", "--", box.rank, "tell", "ready", "only", "0", "exit", "0")
    box.expect_all("ready", 2)
    expect_in("the run has no rank 2: its ranks are 0 to 1", beside(box, "2", code=USAGE).text, "no such rank")
    expect_in("attach to which rank?", beside(box, code=USAGE).text, "no rank")
    expect_in("is not a rank", beside(box, "x", code=USAGE).text, "a word")
    expect_in("nothing-here", beside(box, "1", "--", "nothing-here", code=127).text, "no such program")
    expect_in("cannot execute", beside(box, "1", "--", "/etc/passwd", code=126).text, "not executable")
    wait_until(lambda: len(run.ranks()) == 1, "the end of rank 0")
    wait_until(lambda: "rank 0 has ended" in beside(box, "0", "--", "true", code=USAGE).text, "that it has ended")
    run_id = os.path.basename(box.run_folder())
    end(run)
    expect_in("has already ended", beside(box, run_id, "0", code=USAGE).text, "the run")


# --- on a terminal

@case
def a_terminal_has_the_size_of_the_users_and_follows_it(box):
    run = begin(box)
    guest = box.start_on_terminal("attach", "1", "--", "/bin/sh")
    resize(guest, 33, 101)
    wait_on_screen(guest, b"dlaunch: rank 1 of run", "that it runs")
    wait_until(lambda: is_raw(guest), "raw mode")
    guest.type(b"stty size; echo rank=$RANK tty=$(tty | cut -c-8)\r")
    wait_on_screen(guest, b"33 101\r\nrank=1 tty=/dev/pts", "the size, variables and terminal")
    resize(guest, 20, 70)
    os.kill(guest.pid, signal.SIGWINCH)
    guest.type(b"stty size\r")
    wait_on_screen(guest, b"20 70\r\n", "the new size")
    # Keys that mean something go to the program, not to dlaunch.
    guest.type(b"sleep 1000\r")
    wait_until(lambda: [pid for pid in descendants_of(run.pid) if command_of(pid).startswith("sleep ")], "sleep")
    guest.type(b"\x03")
    guest.type(b"echo st=$?\r")
    wait_on_screen(guest, b"st=130\r\n", "Ctrl-C ends the program only")
    guest.type(b"exit 5\r")
    guest.end(5, left=1000)
    end(run)


@case
def leaving_ends_everything_that_was_started_and_restores_the_terminal(box):
    run = begin(box)
    guest = box.start_on_terminal("attach", "0", "--", "sh", "-c", "trap '' HUP TERM; sleep 1000 & sleep 1001; true")
    before = modes(guest)
    wait_on_screen(guest, b"dlaunch: rank 0", "that it runs")
    wait_until(lambda: is_raw(guest), "raw mode")
    sleeping = lambda: [pid for pid in descendants_of(run.pid) if command_of(pid).startswith("sleep ")]  # noqa: E731
    wait_until(lambda: len(sleeping()) == 2, "both")
    guest.type(b"~.")
    guest.end(LEFT, left=1000)
    expect_equal(modes(guest), before, "modes of the terminal")
    wait_until(lambda: not sleeping(), "their end, though they ignore SIGHUP")
    wait_until(lambda: len(run.ranks()) == 2, "only the ranks are left, and go on")
    end(run)
    expect_equal(box.json("summary.json")["leftovers"], 0, "left over")


@case
def a_signal_to_the_client_restores_the_terminal(box):
    run = begin(box)
    guest = sit_down(box, "0")
    guest.signal(signal.SIGTERM)
    guest.end(143, left=1000)
    expect(not is_raw(guest), "modes of the terminal")
    wait_until(lambda: len(run.ranks()) == 2, "the end of the shell")
    end(run)


@case
def the_end_of_the_attempt_ends_the_terminal_and_does_not_wait_for_it(box):
    run = box.start("run", "--", box.rank, "tell", "ready", "gate", "exit", "0")
    box.expect_all("ready", 1)
    guest = box.start_on_terminal("attach", "0", "--", "sh", "-c", "trap '' HUP TERM INT; echo here; while :; do sleep 1000; done")
    wait_on_screen(guest, b"here", "the command")
    box.open_gate()
    run.end(0, left=1000)
    expect_equal(box.json("summary.json")["leftovers"], 0, "none of the job's")
    guest.end(USAGE, left=1000)
    expect_in(b"the attempt has ended", guest.screen, "why")
    expect(not is_raw(guest), "modes of the terminal")


@case
def a_restart_ends_the_terminal_and_the_next_attempt_takes_one(box):
    box.write("once.sh", "if [ $DLAUNCH_ATTEMPT = 0 ]; then read x < fifo; exit 3; fi; " + f"exec {box.rank} tell again pause\n")
    os.mkfifo(box.path("fifo"))
    run = box.start("run", "--set", "restart.max=1", "--set", "restart.backoff=0s..0s", "--set", "timeouts.stop=1s", "--", "sh", "once.sh")
    with open(box.path("fifo"), "w", encoding="utf-8") as fifo:
        guest = sit_down(box, "0")
        fifo.write("go\n")
    guest.end(USAGE, left=1000)
    expect_in(b"the attempt has ended", guest.screen, "why")
    box.expect_all("again", 1)
    expect_equal(beside(box, "0", "--", "printenv", "DLAUNCH_ATTEMPT").out, b"1\n", "the next attempt")
    end(run)


@case
def an_engine_that_is_killed_leaves_the_terminal_as_it_was(box):
    run = begin(box)
    engine = run.chain()[0]
    guest = sit_down(box, "0")
    os.kill(engine, signal.SIGKILL)
    guest.end(INTERNAL, left=1000)
    expect_in(b"the run's launcher has ended", guest.screen, "why")
    expect(not is_raw(guest), "modes of the terminal")
    run.end(INTERNAL)


@case
def an_agent_that_is_killed_takes_the_terminal_along(box):
    run = begin(box)
    guest = sit_down(box, "0")
    os.kill(run.chain()[2], signal.SIGKILL)
    guest.end(NODE_LOST, left=1000)
    expect_in(b"the node is lost", guest.screen, "why")
    run.end(NODE_LOST)


@case
def a_debugger_and_a_profiler_take_the_pid(box):
    if not shutil.which("gdb"):
        raise Skip("missing: gdb")
    run = begin(box)
    said = beside(box, "1", "--", "gdb", "-p", "{pid}", "-batch", "-ex", "info proc")
    expect_in(f"process {run.ranks()[1]}", said.out.decode(), "what gdb is attached to")
    expect(stat_of(run.ranks()[1])[0] in "SR", "the rank goes on")
    end(run)


@case
def a_profiler_shows_the_rank_on_the_terminal(box):
    py_spy = box.py_spy()
    run = box.stand("sleep")
    guest = box.start_on_terminal("attach", "0", "--", f"{py_spy}/py-spy", "top", "--idle", "--nonblocking", "--pid", "{pid}")
    wait_on_screen(guest, b"innermost (stand.py", "the function in which the rank stands")
    guest.type(b"\x03")
    guest.end(130, left=1000)
    expect_equal(stat_of(run.ranks()[0])[0], "S", "the rank goes on")
    end(run)


@case
def without_a_command_it_is_the_users_shell(box):
    shell = box.write("shell", "#!/bin/sh\necho mine of $RANK\nexec cat\n", mode=0o755)
    for own, wanted in ((shell, b"mine of 0"), ("/nowhere", b"$0: /bin/sh")):
        run = box.start("run", "--set", "timeouts.stop=1s", "--", box.rank, *READY, env={"SHELL": own})
        box.expect_all("ready", 1)
        guest = box.start_on_terminal("attach", "0")
        wait_until(lambda: is_raw(guest), "raw mode")
        guest.type(b"echo '$0:' $0\r\x04")
        wait_on_screen(guest, wanted, "the shell")
        guest.end(0, left=1000)
        end(run)


@case
def the_gpus_of_the_rank_are_visible(box):
    visible = furnish(box)
    run = box.start("run", "-n", "2", "--set", "binding.gpus=one-per-process", "--set", "timeouts.stop=1s", "--", box.rank, *READY, env=visible)
    box.expect_all("ready", 2)
    expect_equal([beside(box, rank, "--", "printenv", "CUDA_VISIBLE_DEVICES").out for rank in "01"], [b"0\n", b"1\n"], "of each rank")
    end(run)


# --- detached, isolated, on other nodes, other users

@case
def a_detached_run_in_a_pid_namespace(box):
    run = box.start("run", "--detach", "--set", "isolation=pid-namespace", "--set", "timeouts.stop=1s", "--", box.rank, *READY)
    box.expect_all("ready", 1)
    run.end(0, left=1000)
    said = beside(box, "0", "--", "sh", "-c", "tr '\\0' ' ' < /proc/$1/cmdline; echo $RANK", "sh", "{pid}").out.decode()
    expect_in(box.rank, said, "the rank, as its namespace numbers it")
    guest = sit_down(box, "0")
    box.start("stop", "--now").end(left=1000)
    guest.end(USAGE, left=1000)


@case
def a_rank_of_another_node_over_ssh(box):
    box.make_cluster(2)
    run = box.launch(box.rank, *READY, ranks=2, options=["--set", "timeouts.stop=1s"])
    box.expect_all("ready", 4)
    said = beside(box, "3", "--", "sh", "-c", "echo $RANK $LOCAL_RANK; uname -n").out.decode().split()
    expect_equal(said[:2], ["3", "1"], "variables")
    guest = sit_down(box, "2")
    expect_in(b"on node2", guest.screen, "where it is")
    guest.type(b"exit 3\r")
    guest.end(3, left=1000)
    end(run)


@case
def another_user_is_refused(box):
    run = begin(box)
    os.chmod(box.folder, 0o755)
    folder = box.run_folder()
    other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    box.start("attach", folder, "0", "--", "true", prefix=other).end(NO_PERMISSION, left=1000)
    expect_equal(os.stat(os.path.join(folder, "terminals.sock")).st_mode & 0o777, 0o600, "the socket's mode")
    # The engine does not hear such a peer even where all folders are open to it.
    os.chmod(os.path.dirname(folder), 0o755)
    os.chmod(folder, 0o755)
    os.chmod(os.path.join(folder, "terminals.sock"), 0o666)
    asker = [*other, PYTHON, "-c",
             "import socket, sys; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.settimeout(10); s.connect(sys.argv[1]); "
             "print(len(s.recv(1)))", "terminals.sock"]
    heard = subprocess.run(asker, cwd=folder, capture_output=True, text=True, check=False, timeout=20)
    expect_equal(heard.stdout, "0\n", f"an end without a byte: {heard.stderr}")
    end(run)


@case
def nonsense_at_the_socket_changes_nothing(box):
    run = begin(box)
    os.chdir(box.run_folder())  # sun_path is short (unix(7))
    for bytes_ in (b"\xff" * 100, b"o", b"onothing\n\xa1", b"iabc", b"r", b"x" * 150_000):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asker:
            asker.settimeout(10)
            asker.connect("terminals.sock")
            try:
                asker.send(bytes_)
                while asker.recv(65536):
                    pass
            except (BrokenPipeError, ConnectionResetError):
                pass
    os.chdir(box.folder)
    expect_equal(beside(box, "1", "--", "printenv", "RANK").out, b"1\n", "a guest afterwards")
    end(run)


@case
def several_terminals_at_once(box):
    run = begin(box)
    guests = [sit_down(box, str(rank)) for rank in (0, 1, 1)]
    for guest, rank in zip(guests, (0, 1, 1)):
        guest.type(b"echo r=$RANK\r")
        wait_on_screen(guest, b"r=%d\r\n" % rank, "of its own rank")
    for guest in guests:
        guest.type(b"exit\r")
        guest.end(0, left=1000)
    expect_equal(len(children_of(run.chain()[2])), 2, "children of the agent")
    end(run)


# --- a rank with a terminal of its own

@case
def breakpoint_in_rank_1_of_4_holds_back_the_others(box):
    box.write("train.py", "import os, time\nrank = os.environ['RANK']\nif rank == '1':\n    breakpoint()\n    print('went on')\n"
                          "else:\n    while not os.path.exists('go'):\n        time.sleep(0.01)\n    print('busy', rank, flush=True)\n"
                          "    while not os.path.exists('end'):\n        time.sleep(0.01)\n")
    run = box.start_on_terminal("run", "-n", "4", "--pty", "1", "--", PYTHON, "train.py", env={"NO_COLOR": "1"})
    host = os.uname().nodename.encode()
    wait_on_screen(run, host + b":1 | (Pdb) ", "the prompt")
    box.write("go", "")
    wait_until(lambda: all(box.rank_output(rank) == b"busy %d\n" % rank for rank in (0, 2, 3)), "the others' output in their files")
    run.read_screen(0.5)
    expect(b"busy" not in run.screen, f"the others' output waits: {run.screen!r}")
    run.type(b"p 6 * 7\n")
    wait_on_screen(run, host + b":1 | 42", "the answer")
    wait_until(lambda: run.read_screen(0.05) and all(b"busy %d" % rank in run.screen for rank in (0, 2, 3)), "the others' output")
    run.type(b"c\n")
    box.write("end", "")
    run.end(0)
    expect_in(host + b":1 | went on", run.screen, "the rest of the program")
    expect_in(b"(Pdb) went on\n", box.rank_output(1), "its file, with line ends as the program wrote them")


@case
def breakpoint_in_a_rank_of_another_node_over_ssh(box):
    box.make_cluster(2)
    box.write("train.py", "import os\nif os.environ['RANK'] == '1':\n    breakpoint()\n    print('went on')\n")
    run = box.start_on_terminal("run", "--set", "hosts=[node1, node2]", "--nproc-per-node", "1", "--set", f"connect.ssh={box.cluster.ssh}",
                                "--pty", "1", "--", PYTHON, box.path("train.py"), env={"NO_COLOR": "1"})
    wait_on_screen(run, b"node2:1 | (Pdb) ", "the prompt")
    run.type(b"p 6 * 7, os.isatty(0)\n")
    wait_on_screen(run, b"node2:1 | (42, True)", "the answer")
    run.type(b"c\n")
    run.end(0)
    expect_in(b"node2:1 | went on", run.screen, "the rest of the program")


@case
def a_rank_with_pty_has_a_controlling_terminal_and_the_others_have_none(box):
    script = "if test -t 0 && test -t 1 && test -t 2 && (: </dev/tty) 2>/dev/null; then echo terminal $(stty size); else echo none; fi; cat"
    run = box.start_on_terminal("run", "-n", "2", "--pty", "0", "--", "sh", "-c", script, env={"NO_COLOR": "1"})
    wait_on_screen(run, b":0 | terminal 24 80", "of rank 0")
    run.type(b"typed\n")
    wait_on_screen(run, b":0 | typed", "what cat has read")
    run.type(b"\x04")
    run.end(0)
    expect_in(b":1 | none", run.screen, "of rank 1")
    expect_in("gets no terminal (pty): dlaunch's stdin is not a terminal", box.run("run", "--pty", "0", "--", "true", code=USAGE).text, "without one")
    refused = box.run("run", "-n", "2", "--pty", "2", "--", "true", code=65)
    expect_in("there is no rank 2", refused.text, "no such rank")


@case
def ctrl_c_interrupts_the_program_of_the_rank_with_pty(box):
    box.write("train.py", "import os, sys, time\nprint('ready', flush=True)\nwhile True:\n    try:\n        time.sleep(1000)\n"
                          "    except KeyboardInterrupt:\n        print('caught', flush=True)\n")
    run = box.start_on_terminal("run", "-n", "2", "--pty", "1", "--set", "timeouts.stop=1s", "--", PYTHON, "train.py", env={"NO_COLOR": "1"})
    wait_on_screen(run, b":1 | ready", "rank 1")
    run.type(b"\x03")
    wait_on_screen(run, b":1 | caught", "in the program")
    expect(b":0 | caught" not in run.screen, "rank 0 gets none")
    run.type(b"\x1c")
    run.end(131)


@case
def stdin_goes_to_the_rank_that_is_named(box):
    run = box.run("run", "-n", "3", "--set", "stdin=rank2", "--", "sh", "-c", "echo $RANK: $(cat)", stdin=b"for two", code=0)
    expect_equal([box.rank_output(rank) for rank in range(3)], [b"0:\n", b"1:\n", b"2: for two\n"], "what each has read")
    box.write("job.yaml", "command: cat\nprocesses: 2\nstdin: rank 2\n")
    expect_in("job.yaml:3:1: error: there is no rank 2: processes is 2", box.run("run", code=65).text, "no such rank")
    expect(run.code == 0, "exit code")
