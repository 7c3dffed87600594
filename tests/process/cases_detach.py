"""dlaunch run --detach: the run goes on without the process that started it."""

import fcntl
import json
import os
import signal

from case import case
from expectations import expect, expect_equal, expect_in
from processes import stat_of, wait_gone, wait_until

USAGE, JOB_FILE, NOT_FOUND = 64, 65, 127


def detach(box, *words, options=(), code=0):
    return box.start("run", "--detach", *options, "--", *words).end(code, left=1000)


def engine_of(box):
    return json.loads(box.read(box.run_folder(), "run.json"))["engine"]["pid"]


def wait_for_end(box):
    wait_gone([engine_of(box)], "the engine")
    box.expect_nobody("after the end of a detached run")
    return box.json("summary.json")


@case
def the_id_is_all_of_stdout_and_the_run_goes_on(box):
    run = detach(box, box.rank, "print", "hello\n", "tell", "ready", "gate", options=["-n", "2"])
    box.expect_all("ready", 2)
    expect_equal(run.out.decode(), os.path.basename(box.run_folder()) + "\n", "stdout")
    expect_in("dlaunch logs -f " + run.out.decode().strip(), run.text, "how to see it")
    expect_in("dlaunch stop " + run.out.decode().strip(), run.text, "how to end it")
    box.open_gate()
    expect_equal(wait_for_end(box)["exit_code"], 0, "exit code of the run")
    expect_in(b"done in", box.read(box.run_folder(), "dlaunch.log"), "its own words")
    expect_equal(os.stat(os.path.join(box.run_folder(), "dlaunch.log")).st_mode & 0o777, 0o600, "mode of dlaunch.log")
    expect_equal(box.rank_output(1), b"hello\n", "output of a rank")
    expect(b"hello" not in run.out + run.err, "output of a rank on the console")


@case
def quiet_is_the_id_only(box):
    run = detach(box, box.rank, "tell", "ready", "gate", options=["-q", "-n", "2"])
    expect_equal(run.err, b"", "stderr")
    box.open_gate()
    wait_for_end(box)


@case
def nobody_waits_for_its_end(box):
    """stdout and stderr in one pipe, as with $(... 2>&1) and sshd: end of file arrives while the run goes on."""
    read, write = os.pipe()
    run = box.start("run", "--detach", "-n", "2", "--", box.rank, "child", "tell", "ready", "gate", stdout=write,
                    before=lambda: os.dup2(1, 2))
    os.close(write)
    text = b""
    while data := os.read(read, 4096):
        text += data
    run.end(0, left=1000)
    box.expect_all("ready", 2)
    expect(stat_of(engine_of(box)), "the run is over")
    expect_in(os.path.basename(box.run_folder()).encode(), text, "id")
    box.open_gate()
    wait_for_end(box)


@case
def a_start_that_fails_is_shown_and_returned(box):
    run = box.start("run", "--detach", "-n", "2", "--", "no-such-program").end(NOT_FOUND)
    expect_in('cannot execute "no-such-program"', run.text, "what")
    expect_equal(run.out, b"", "stdout")
    box.write("job.yaml", "comand: x\n")
    expect_in("unknown key", box.run("run", "--detach", code=JOB_FILE).text, "a mistake in the file")


@case
def stdin_cannot_be_detached(box):
    run = box.run("run", "--detach", "--set", "stdin=rank0", "--", "cat", code=USAGE)
    expect_in("stdin: rank0", run.text, "why")
    expect(not box.exists("runs"), "a run folder was made")


@case
def a_failure_after_the_start_is_in_the_summary(box):
    detach(box, box.rank, "tell", "ready", "gate", "exit", "7", options=["-n", "2"])
    box.open_gate()
    expect_equal(wait_for_end(box)["exit_code"], 7, "exit code of the run")
    expect_in(b"FAILED", box.read(box.run_folder(), "dlaunch.log"), "its own words")
    expect_in(b"failed", box.run("runs").out, "state")


def end_front_before_the_hand_over(box, number):
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETFL, os.O_NONBLOCK)
    try:
        while True:
            os.write(write, b"x" * 4096)
    except BlockingIOError:
        pass
    fcntl.fcntl(write, fcntl.F_SETFL, 0)
    # All ranks run, and the front cannot write the id.
    run = box.start("run", "--detach", "-n", "2", "--", box.rank, "tell", "ready", "pause", stdout=write)
    box.expect_all("ready", 2)
    run.signal(number)
    wait_gone([run.pid], "the front")
    box.reap()
    run.code = box.exit_code(run)
    box.expect_nobody("after the end of the front")
    expect_equal(box.json("summary.json")["cause"], "cancelled", "cause")
    os.close(read)
    os.close(write)
    return run.code


@case
def a_front_that_is_killed_before_the_hand_over_ends_the_run(box):
    end_front_before_the_hand_over(box, signal.SIGKILL)


@case
def a_front_that_gets_a_signal_before_the_hand_over_ends_the_run(box):
    # The front was already writing the id, or has forwarded the signal.
    expect(end_front_before_the_hand_over(box, signal.SIGTERM) in (-signal.SIGTERM, 143), "exit code")


@case
def a_reader_of_the_id_that_has_left_ends_nothing(box):
    read, write = os.pipe()
    os.close(read)
    run = box.start("run", "--detach", "-n", "2", "--", box.rank, "tell", "ready", "gate", stdout=write)
    os.close(write)
    run.end(0, left=1000)
    box.expect_all("ready", 2)
    box.open_gate()
    expect_equal(wait_for_end(box)["exit_code"], 0, "exit code of the run")


@case
def a_terminal_that_closes_later_ends_nothing(box):
    run = box.start_on_terminal("run", "--detach", "-n", "2", "--", box.rank, "notice", str(int(signal.SIGHUP)), "hup", "tell",
                                "ready", "gate", "tell", "went-on")
    box.expect_all("ready", 2)
    run.end(0, left=1000)
    os.kill(run.shell, signal.SIGKILL)  # the leader of the terminal's session
    if run.terminal:
        os.close(run.terminal)
        run.terminal = None
    expect(stat_of(engine_of(box)), "the run is over")
    box.open_gate()
    box.expect_all("went-on", 2)
    wait_gone([engine_of(box)], "the engine")
    expect(box.no_event("hup"), "a rank got SIGHUP")
    expect_equal(box.json("summary.json")["exit_code"], 0, "exit code of the run")


@case
def logs_and_stop_of_a_detached_run(box):
    detach(box, box.rank, "print", "hello\n", "tell", "ready", "pause", options=["-n", "2"])
    box.expect_all("ready", 2)
    wait_until(lambda: box.rank_output(0) and box.rank_output(1), "output in the files")
    expect_equal(box.start("logs").end(0, left=1000).out.count(b"| hello\n"), 2, "output of both ranks")
    view = box.start("logs", "-f")
    stop = box.start("stop")
    stop.end(0)
    view.end(0)
    expect_in("stopped by SIGTERM", view.text, "how it ended")
    expect_equal(wait_for_end(box)["exit_code"], 143, "exit code of the run")


@case
def a_detached_run_whose_engine_is_killed_is_lost(box):
    detach(box, box.rank, "child", "daemon", "tell", "ready", "pause", options=["-n", "2"])
    box.expect_all("ready", 2)
    os.kill(engine_of(box), signal.SIGKILL)
    box.expect_nobody("after the engine was killed")
    expect_in(b"lost: its launcher was killed", box.run("runs").out, "state")


@case
def where_the_other_commands_do_not_look_the_path_is_said(box):
    run = detach(box, "true", options=["--set", "logs.dir=elsewhere"])
    name = run.out.decode().strip()
    expect_in("dlaunch logs -f elsewhere/" + name, run.text, "path")
    box.expect_nobody("after its end")
    box.run("logs", "elsewhere/" + name)
