"""dlaunch status: what ranks do, from outside."""

import fcntl
import json
import os
import signal
import struct
import termios

from case import case
from expectations import expect, expect_equal, expect_in
from processes import stat_of, wait_until
from run_helpers import NO_PERMISSION, USAGE, as_nobody
from screen import Screen
from watch_sandbox import PYTHON

TIME_LIMIT = 124
QUICK = ["--set", "watch.interval=200ms"]


def end(box, run):
    run.signal(signal.SIGTERM)
    run.end(143)


def status(box, *words, code=0, **more):
    return box.start("status", *words, **more).end(code, left=1000)


def status_json(box, *words, **more):
    return json.loads(status(box, "--json", *words, **more).out)


def until(box, holds, *words, **more):
    """A look of the agent comes a moment after what it sees."""
    last = []

    def look():
        last[:] = [status_json(box, *words, **more)]
        return holds(last[0])
    try:
        wait_until(look, "the state", 30, 0.2)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{json.dumps(last, indent=1)}") from None
    return last[0]


def program(box, text):
    """A program of Python whose ranks tell that they are ready before they wait for ever."""
    box.write("watched.py", text + "\nimport subprocess, time\n"
              f"subprocess.run([{box.rank!r}, 'tell', 'ready'], check=True)\ntime.sleep(1000)\n")
    return [PYTHON, "watched.py"]


# --- ranks

@case
def output_metrics_processes_and_memory_of_each_rank(box):
    command = program(box, "import os\nprint('step', 10 + int(os.environ['RANK']))\nprint('the last line', flush=True)")
    box.write("job.yaml", f"command: [{', '.join(command)}]\nprocesses: 2\nmetrics: {{step: 'step ([0-9]+)'}}\n"
                          "watch: {interval: 200ms}\ntimeouts: {stop: 1s}\n")
    run = box.start("run")
    box.expect_all("ready", 2)
    said = until(box, lambda said: all(rank["metrics"] and rank["memory"] for rank in said["ranks"]))
    expect_equal([said["state"], said["attempt"], said["watched"]], ["running", 0, True], "the run")
    expect_equal([rank["rank"] for rank in said["ranks"]], [0, 1], "ranks")
    for rank in said["ranks"]:
        expect_equal(rank["metrics"], {"step": 10 + rank["rank"]}, "metrics")
        expect_equal(rank["last_line"], "the last line", "last line")
        expect_equal(rank["output_bytes"], len("step 10\nthe last line\n"), "output")
        expect_equal(rank["processes"], 1, "processes")
        expect(rank["memory"] > 1 << 20, f"memory: {rank['memory']}")
    expect(said["nodes"][0]["cores"] > 0, "cores")
    lines = status(box).out.decode().splitlines()
    expect_in("running, started", lines[0], "the first line")
    expect_in(" 2 ranks on 1 node", lines[0], "the first line")
    titles = next(line for line in lines if line.startswith("rank "))
    expect_equal(titles.split(), "rank host state output step CPU % memory last line".split(), "titles")
    expect(lines[-1].endswith("the last line"), lines[-1])
    end(box, run)


@case
def the_age_of_the_last_output_grows(box):
    run = box.start("run", *QUICK, "--", *program(box, "print('once', flush=True)"))
    box.expect_all("ready", 1)
    first = until(box, lambda said: said["ranks"][0]["output_bytes"] == 5)["ranks"][0]["quiet_ms"]
    later = until(box, lambda said: said["ranks"][0]["quiet_ms"] > first)
    expect_equal(later["ranks"][0]["output_bytes"], 5, "it has printed nothing more")
    end(box, run)


@case
def a_stopped_rank_is_said_to_be_stopped(box):
    run = box.start("run", "-n", "2", *QUICK, "--", box.rank, "tell", "ready", "pause")
    box.expect_all("ready", 2)
    stopped = run.ranks()[1]
    os.kill(stopped, signal.SIGSTOP)
    said = until(box, lambda said: "stopped" in [rank["state"] for rank in said["ranks"]])
    expect_equal(sorted(rank["state"] for rank in said["ranks"]), ["stopped", "waiting"], "states")
    expect_in("  stopped  ", status(box).out.decode(), "the table")
    os.kill(stopped, signal.SIGCONT)
    until(box, lambda said: "stopped" not in [rank["state"] for rank in said["ranks"]])
    end(box, run)


@case
def processor_time_counts_what_the_rank_has_started(box):
    run = box.start("run", *QUICK, "--", "sh", "-c", f"sh -c 'while :; do :; done' & {box.rank} tell ready pause")
    box.expect_all("ready", 1)
    said = until(box, lambda said: said["ranks"][0]["cpu_percent"] > 5 and said["ranks"][0]["processes"] > 2)
    expect_equal(said["ranks"][0]["state"], "running", "state")
    end(box, run)


@case
def context_switches_are_counted(box):
    box.write("switches.py", f"import subprocess, time\nsubprocess.run([{box.rank!r}, 'tell', 'ready'], check=True)\n"
                             "while True:\n    time.sleep(0.01)\n")
    run = box.start("run", *QUICK, "--set", "timeouts.stop=1s", "--", PYTHON, "switches.py")
    box.expect_all("ready", 1)
    first = until(box, lambda said: said["ranks"][0]["switches"] > 0)["ranks"][0]["switches"]
    until(box, lambda said: said["ranks"][0]["switches"] >= first + 20)  # 200 ms of them
    end(box, run)


@case
def a_rank_that_has_ended_says_how(box):
    run = box.start("run", "-n", "2", "--", box.rank, "tell", "ready", "only", "0", "exit", "0")
    box.expect_all("ready", 2)
    said = until(box, lambda said: said["ranks"][0]["ended"])
    expect_equal(said["ranks"][0]["state"], "exited with code 0", "rank 0")
    expect_equal(said["ranks"][1]["ended"], False, "rank 1")
    end(box, run)


@case
def a_touched_heartbeat_file_is_counted(box):
    run = box.start("run", *QUICK, "--", *program(box, "import os, pathlib\npathlib.Path(os.environ['DLAUNCH_HEARTBEAT_FILE']).touch()"))
    box.expect_all("ready", 1)
    said = until(box, lambda said: said["ranks"][0]["heartbeats"] > 0)
    file = os.path.join(box.run_folder(), "attempt-0", "rank-0.heartbeat")
    os.utime(file, (1, 1))
    until(box, lambda later: later["ranks"][0]["heartbeats"] == said["ranks"][0]["heartbeats"] + 1)
    expect_in(" beat ", status(box).out.decode(), "the column")
    end(box, run)


@case
def without_watching_there_are_no_figures(box):
    run = box.start("run", "--set", "watch.after=none", "--", "sh", "-c",
                    f"{box.rank} tell ${{DLAUNCH_HEARTBEAT_FILE-ready}} pause")
    box.expect_all("ready", 1)
    said = status_json(box)
    expect_equal([said["watched"], said["ranks"][0]["processes"]], [False, 0], "what is known")
    expect_in("watch.after: none", status(box).out.decode(), "the table")
    end(box, run)


@case
def from_65_ranks_on_a_row_is_a_node(box):
    run = box.start("run", "-n", "65", "--set", "timeouts.stop=1s", "--", box.rank, "tell", "ready", "pause")
    box.expect_all("ready", 65)
    until(box, lambda said: all(rank["processes"] for rank in said["ranks"]))
    lines = status(box).out.decode().splitlines()
    titles = next(number for number, line in enumerate(lines) if line.startswith("node "))
    expect_equal(len(lines), titles + 2, "\n".join(lines))
    expect_in("0-64", lines[-1], "ranks")
    expect_in("65 waiting", lines[-1], "states")
    end(box, run)


# --- who may ask, and when

@case
def a_run_that_has_ended_says_so(box):
    box.run("run", "--", "true", code=0)
    expect_in("has already ended: done in", status(box, os.path.basename(box.run_folder()), code=USAGE).text, "of a run that has ended")
    expect_in("nothing is running", status(box, code=USAGE).text, "without a run")


@case
def an_ordinary_user_sees_its_own_ranks(box):
    options = as_nobody(box)
    os.chmod(box.folder, 0o755)
    run = box.start("run", *QUICK, "--", box.rank, "tell", "ready", "pause", **options)
    box.expect_all("ready", 1)
    said = until(box, lambda said: said["ranks"][0]["processes"] == 1, **options)
    expect(said["ranks"][0]["io_bytes"] > 0, "what only the user of a process may read")
    end(box, run)


@case
def another_user_is_refused(box):
    run = box.start("run", "--", box.rank, "tell", "ready", "pause")
    box.expect_all("ready", 1)
    os.chmod(box.folder, 0o755)
    refused = status(box, box.run_folder(), code=NO_PERMISSION, prefix=["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"])
    expect_equal(refused.out, b"", "what it has been told")
    end(box, run)


@case
def a_launcher_that_is_stopped_is_a_time_limit(box):
    run = box.start("run", "--", box.rank, "tell", "ready", "pause")
    box.expect_all("ready", 1)
    engine = run.chain()[0]
    os.kill(engine, signal.SIGSTOP)
    said = status(box, code=TIME_LIMIT).text
    os.kill(engine, signal.SIGCONT)
    expect_in("its launcher is stopped", said, "why")
    run.signal(signal.SIGTERM)
    run.end()


# --- several nodes

@case
def ranks_of_two_nodes_over_ssh(box):
    box.make_cluster(2)
    run = box.launch(box.rank, "tell", "ready", "pause", ranks=2, options=["--set", "timeouts.stop=1s"])
    box.expect_all("ready", 4)
    said = until(box, lambda said: all(rank["processes"] == 1 for rank in said["ranks"]))
    expect_equal([rank["host"] for rank in said["ranks"]], ["node1", "node1", "node2", "node2"], "hosts")
    expect_equal([node["host"] for node in said["nodes"]], ["node1", "node2"], "nodes")
    end(box, run)


# --- on a terminal

def watch(box, **more):
    viewer = box.start_on_terminal("status", "--watch", **more)
    return viewer, Screen(viewer)


def has_modes_of_a_shell(viewer):
    local = termios.tcgetattr(viewer.terminal)[3]
    return bool(local & termios.ICANON and local & termios.ECHO)


@case
def watch_draws_again_scrolls_and_leaves(box):
    run = box.start("run", "-n", "30", *QUICK, "--set", "timeouts.stop=1s", "--", box.rank, "tell", "ready", "pause")
    box.expect_all("ready", 30)
    viewer, screen = watch(box)

    def ranks(lines):
        return [int(line.split()[0]) for line in lines if line.strip()[:1].isdigit()]
    screen.wait_for(lambda lines: any("waiting" in line for line in lines) and 0 in ranks(lines), "the table")
    expect(not has_modes_of_a_shell(viewer), "keys arrive at once")
    expect_in(" of 30", screen.lines()[-1], "the last line")
    viewer.type(b"\x1b[6~\x1b[6~")
    screen.wait_for(lambda lines: 29 in ranks(lines) and 0 not in ranks(lines), "the last ranks")
    viewer.type(b"\x1b[5~\x1b[A\x1b[5~")
    screen.wait_for(lambda lines: 0 in ranks(lines), "the first ranks")
    viewer.type(b"q")
    viewer.end(0, left=1000)
    expect(has_modes_of_a_shell(viewer), "the mode of the terminal afterwards")
    expect(stat_of(run.pid), "the run goes on")
    end(box, run)


@case
def watch_follows_the_size_of_the_terminal(box):
    run = box.start("run", "-n", "30", *QUICK, "--set", "timeouts.stop=1s", "--", box.rank, "tell", "ready", "pause")
    box.expect_all("ready", 30)
    viewer, screen = watch(box)
    screen.wait_for(lambda lines: " of 30" in lines[-1], "a part of the table")
    screen.screen.resize(50, 100)
    fcntl.ioctl(viewer.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 100, 0, 0))
    screen.wait_for(lambda lines: any(line.split()[:1] == ["29"] for line in lines), "all of it")
    viewer.type(b"q")
    viewer.end(0, left=1000)
    end(box, run)


@case
def watch_shows_stacks_until_a_key(box):
    run = box.start("run", *QUICK, "--", box.rank, "tell", "ready", "pause")
    box.expect_all("ready", 1)
    viewer, screen = watch(box)
    screen.wait_for(lambda lines: any(line.startswith("rank ") for line in lines), "the table")
    viewer.type(b"s")
    screen.wait_for(lambda lines: lines[0].startswith("rank 0 (") and "any key" in lines[-1], "stacks")
    viewer.type(b"x")
    screen.wait_for(lambda lines: lines[0].startswith("run "), "the table again")
    viewer.type(b"q")
    viewer.end(0, left=1000)
    end(box, run)


@case
def a_signal_restores_the_terminal(box):
    run = box.start("run", *QUICK, "--", box.rank, "tell", "ready", "pause")
    box.expect_all("ready", 1)
    for number, keys in ((signal.SIGINT, b"\x03"), (signal.SIGTERM, None), (signal.SIGQUIT, b"\x1c")):
        viewer, screen = watch(box)
        screen.wait_for(lambda lines: any(line.startswith("rank ") for line in lines), "the table")
        if keys:
            viewer.type(keys)
        else:
            os.kill(viewer.pid, number)
        viewer.end(128 + number, left=1000)
        expect(has_modes_of_a_shell(viewer), f"the mode of the terminal after {number.name}")
    end(box, run)


@case
def ctrl_z_gives_the_terminal_back_until_fg(box):
    run = box.start("run", *QUICK, "--", box.rank, "tell", "ready", "pause")
    box.expect_all("ready", 1)
    viewer, screen = watch(box)
    screen.wait_for(lambda lines: any(line.startswith("rank ") for line in lines), "the table")
    viewer.type(b"\x1a")
    box.expect_events(["shell saw a stop"])
    expect(has_modes_of_a_shell(viewer), "the mode of the terminal meanwhile")
    os.kill(viewer.shell, signal.SIGUSR1)  # fg
    wait_until(lambda: not has_modes_of_a_shell(viewer), "the mode of the screen")
    viewer.type(b"q")
    viewer.end(0, left=1000)
    expect(has_modes_of_a_shell(viewer), "the mode of the terminal afterwards")
    end(box, run)


@case
def watch_ends_with_the_run_and_says_how_it_ended(box):
    run = box.start("run", *QUICK, "--", box.rank, "tell", "ready", "gate", "exit", "5")
    box.expect_all("ready", 1)
    viewer, screen = watch(box)
    screen.wait_for(lambda lines: any(line.startswith("rank ") for line in lines), "the table")
    box.open_gate()
    run.end(5)
    viewer.end(0)
    expect_in(b"failed", viewer.screen[-300:], "how the run ended")
    expect(has_modes_of_a_shell(viewer), "the mode of the terminal")


@case
def watch_needs_a_terminal(box):
    expect_in("--watch needs a terminal", status(box, "--watch", code=USAGE).text, "without one")
