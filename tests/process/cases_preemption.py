"""preemption: a command or a file gives notice that a node is about to be taken away."""

import os
import time

from case import case
from expectations import expect, expect_equal, expect_in
from file_schemas import check_all
from processes import wait_until
from run_helpers import TERM

PREEMPTED = 158


def start(box, preemption, words=("notice", TERM, "term", "tell", "ready", "pause"), more="", ranks=2):
    box.write("job.yaml", f"command: [{', '.join([box.rank, *words])}]\nprocesses: {ranks}\n"
                          f"preemption: {preemption}\n{more}")
    run = box.start("run")
    box.expect_all("ready", ranks)
    return run


def script(box, text):
    return box.write("notice.sh", "#!/bin/sh\n" + text, mode=0o755)


@case
def a_command_gives_notice(box):
    """The first line of its output is the reason, and the ranks get the time that is left instead of timeouts.stop."""
    script(box, "test -e taken || exit 1\necho Spot\necho deadline: 1.5\n")
    run = start(box, "{command: [./notice.sh], interval: 100ms}", more="timeouts: {stop: 1h}\n")
    box.write("taken", "")
    run.end(PREEMPTED)
    box.expect_all("term", 2)
    expect_in("is about to be taken away (Spot) in 1 s 500 ms, stopping 2 ranks (SIGTERM, up to 500 ms)", run.words,
              "the console")
    summary = box.json("summary.json")
    expect_equal((summary["cause"], summary["exit_code"], summary["origin"]), ("preempted", PREEMPTED, "dlaunch"), "summary")
    expect_in("(Spot)", summary["detail"], "detail")
    check_all(box, ["preempted"])


@case
def a_file_is_a_notice(box):
    """dlaunch sees it at once, long before the interval is over."""
    run = start(box, "{file: notice, interval: 1h}", more="timeouts: {stop: 1h}\n")
    box.write("notice.new", "Maintenance\ndeadline: 1.2\n")
    os.rename(box.path("notice.new"), box.path("notice"))
    run.end(PREEMPTED)
    expect_in("(Maintenance) in 1 s 200 ms", run.words, "the console")


@case
def a_file_in_a_folder_that_is_made_later(box):
    run = start(box, "{file: later/notice, interval: 100ms}", more="timeouts: {stop: 200ms}\n")
    box.make_folder("later")
    box.write("later/notice", "")
    run.end(PREEMPTED)
    expect_in("is about to be taken away, stopping 2 ranks (SIGTERM, up to 200 ms)", run.words, "the console")


@case
def ranks_read_their_time(box):
    """DLAUNCH_DEADLINE_FILE contains it before the ranks are signalled."""
    box.write("train.sh", "trap 'cat $DLAUNCH_DEADLINE_FILE > told; exit 0' TERM\n: > ready-here\n"
                          "while :; do sleep 0.05; done\n")
    box.write("job.yaml", "command: [sh, train.sh]\nprocesses: 1\n"
                          "preemption: {file: notice}\n")
    run = box.start("run")
    wait_until(lambda: box.exists("ready-here"), "the rank")
    before = time.time()
    box.write("notice.new", "deadline: 100\n")
    os.rename(box.path("notice.new"), box.path("notice"))  # it may be read as soon as it exists
    run.end(PREEMPTED)
    told = int(box.read("told"))
    expect(before + 90 < told <= time.time() + 97, f"{told - before} s are left")
    expect_equal(box.json("summary.json")["ranks"][0]["exit_code"], 0, "the rank, which has ended by itself")


@case
def other_exit_codes_are_no_notice(box):
    script(box, "echo >> calls\ntest $(wc -l < calls) -lt 4 || : > four\necho Preempt\nexit 1\n")
    run = start(box, "{command: ./notice.sh, interval: 100ms}", words=("tell", "ready", "gate"))
    wait_until(lambda: box.exists("four"), "four calls")
    box.open_gate()
    run.end(0)


@case
def a_command_that_cannot_run_is_told_once(box):
    for command, words in (("[./none]", 'cannot execute "'), ("nowhere-to-be-found", "exited with code 127")):
        run = box.start("run", "-n", "1", "--set", f"preemption.command={command}", "--set", "preemption.interval=100ms", "--",
                        box.rank, "sleep", "600")
        run.end(0)
        expect_equal(run.words.count("preemption.command gave no answer: " + words), 1, run.words)


@case
def a_command_that_hangs_is_killed_with_what_it_started(box):
    script(box, "sleep 1000 &\nyes &\nwhile :; do sleep 1000; done\n")
    run = start(box, "{command: ./notice.sh, interval: 100ms}", words=("tell", "ready", "gate"))
    wait_until(lambda: "it did not end within 1.0 s and was killed" in run.words, "what dlaunch says")
    box.open_gate()
    run.end(0)
    expect("leftover" not in run.words, "its processes are none of the job's")
    box.expect_nobody("after the run")


@case
def garbage_is_a_notice_without_a_time(box):
    script(box, "test -e taken || exit 1\nhead -c 3000000 /dev/zero | tr '\\0' '\\377'\nprintf '\\ndeadline: soon\\n'\n")
    run = start(box, "{command: ./notice.sh, interval: 1s}", more="timeouts: {stop: 300ms}\n")
    box.write("taken", "")
    run.end(PREEMPTED)
    expect_in("up to 300 ms", run.words, "the grace time")


@case
def a_restart_needs_another_node(box):
    run = start(box, "{file: notice}", more="restart: {max: 3}\ntimeouts: {stop: 200ms}\n")
    box.write("notice", "")
    run.end(PREEMPTED)
    expect_in("no restart: no node is left to replace the one that is taken away", run.words, "why")
