"""dlaunch runs, the fate of a run, and commands typed by habit."""

import json
import os
import re
import shlex
import signal

from case import case
from expectations import expect, expect_equal, expect_in
from processes import command_of, wait_until
from run_helpers import INTERNAL, NODE_LOST, TERM, USAGE, killed, listed, look, only_id, start, wait_for_screen


@case
def no_runs_is_a_friendly_line(box):
    run = box.run("runs")
    expect_in(b"no runs in runs yet; start one: dlaunch run", run.out, "what to do")
    expect_equal(json.loads(box.run("runs", "--json").out), [], "as JSON")
    expect_in("no such folder: nowhere", box.run("runs", "nowhere", code=USAGE).text, "a folder that is not there")


@case
def newest_first_with_state_and_exit_code(box):
    box.run("run", "--", "true")
    box.run("run", "-n", "3", "--", box.rank, "exit", "7", code=7)
    box.run("run", "--", "no-such-program", code=127)
    runs = listed(box)
    expect_equal([run["exit_code"] for run in runs], [127, 7, 0], "exit codes, newest first")
    expect_equal([run["state"] for run in runs], ["failed", "failed", "done"], "states")
    expect_equal(runs[1]["ranks"], 3, "ranks")
    expect_equal(runs[2]["name"], "true", "name")
    expect_equal(runs[0]["folder"], box.folder, "folder")
    table = box.run("runs").out.decode()
    expect_equal([line.split()[0] for line in table.splitlines()[1:]], [run["run"] for run in runs], "table")
    expect(all(len(line) <= 80 for line in table.splitlines()), f"wider than 80 columns:\n{table}")
    expect(re.search(r"7, rank [012]$", table, re.M), f"the rank that failed first:\n{table}")
    expect_equal(len(listed(box, "-n", "2")), 2, "-n 2")
    expect_in(b"dlaunch runs --all", box.run("runs", "-n", "1").out, "how to see the others")


@case
def a_run_that_goes_on_is_running(box):
    run = start(box, "tell", "ready", "gate")
    seen = listed(box)[0]
    expect_equal(seen["state"], "running", "state")
    expect_equal(seen["engine_pid"], run.chain()[0], "pid of the engine")
    expect_equal(seen["exit_code"], None, "exit code")
    box.open_gate()
    run.end(0)
    expect_equal(listed(box)[0]["state"], "done", "state after its end")


@case
def a_run_that_is_being_stopped_says_so(box):
    run = start(box, "notice", TERM, "term", "tell", "ready", "pause")
    run.signal(signal.SIGTERM)
    box.expect_all("term", 2)
    expect_equal(listed(box)[0]["state"], "stopping", "state")
    run.signal(signal.SIGTERM)
    run.end(143)
    expect_equal(listed(box)[0]["state"], "stopped", "state after its end")


@case
def run_json_is_private_and_holds_no_argument(box):
    box.run("run", "-n", "2", "--", "true", "password=hunter2")
    path = os.path.join(box.run_folder(), "run.json")
    expect_equal(os.stat(path).st_mode & 0o777, 0o600, "mode")
    expect(b"hunter2" not in box.read(path), "an argument of the job is in run.json")
    expect(not box.exists(box.run_folder(), "run.json.tmp"), "a temporary file is left")


@case
def logs_dir_of_the_job_file_is_looked_in(box):
    box.write("job.yaml", "command: echo there\nlogs: {dir: elsewhere}\n")
    box.run("run")
    expect_equal(len(listed(box)), 1, "runs found")
    expect_in(b"there", box.run("logs").out, "output")
    os.chdir(box.make_folder("other"))
    expect_equal(len(listed(box, box.folder)), 1, "runs of another folder")
    expect_equal(len(listed(box, box.path("elsewhere"))), 1, "the folder of run folders")


@case
def runs_that_fell_back_to_the_state_folder_are_found(box):
    box.write("runs", "in the way")
    box.run("run", "--", "echo", "kept")
    expect_equal(len(listed(box)), 1, "runs found")
    expect_in(b"kept", box.run("logs").out, "output")
    expect_equal(len(json.loads(box.run("runs", "--json", cwd=box.make_folder("other")).out)), 0, "from another folder")


@case
def damaged_and_foreign_folders_are_no_trouble(box):
    box.run("run", "--", "true")
    for name, content in {"20200101-000000-aaa/run.json": b"\x00\xff{", "20200101-000000-aab/notes": b"",
                          "20200101-000000-aac/summary.json": b"[" * 100_000, "notes.txt": b"mine",
                          "20200101-000000-aad/run.json": b'{"version": 99, "run": "x"}'}.items():
        box.write("runs/" + name, content)
    box.write("runs/20200101-000000-aae", "a file")
    run = box.run("runs")
    expect_equal(len(run.out.splitlines()), 2, "lines of the table")
    expect_in("skipped 20200101-000000-aa", run.text, "note")
    expect_in("has no run.json", box.run("logs", "runs/20200101-000000-aab", code=USAGE).text, "what is wrong")
    expect_in("version 99", box.run("logs", "20200101-000000-aad", code=USAGE).text, "what is wrong")


@case
def the_lines_of_several_runs_are_what_was_typed(box):
    runs = [start(box, "tell", "ready", "pause"), start(box, "tell", "ready", "pause")]
    ids = {run["run"] for run in listed(box)}
    for command, words in ((["attach", "0", "--", "echo", "a  b", "{pid}"], ["attach", "ID", "0", "--", "echo", "a  b", "{pid}"]),
                           (["stacks", "--rank", "0", "--json"], ["stacks", "ID", "--rank", "0", "--json"]),
                           (["status", "--json"], ["status", "ID", "--json"]), (["stop", "--now"], ["stop", "--now", "ID"])):
        message = look(box, *command, code=USAGE).text
        lines = [shlex.split(line.split(": ", 1)[1]) for line in message.splitlines() if ": dlaunch " in line]
        expect_equal(sorted(lines), sorted(["dlaunch"] + [run if word == "ID" else word for word in words] for run in ids), f"lines for {command}")
    for line in lines:
        look(box, *line[1:])
    for run in runs:
        run.end(143)


# --- an engine that is gone


def start_ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return int(file.read().rsplit(")", 1)[1].split()[19])


def all_say(box, words):
    for command in (["status"], ["stacks"], ["stop"], ["stop", "--now"], ["stop", "--checkpoint"]):
        expect_in(words, box.run(*command, only_id(box), code=USAGE).words, f"{command}")
    expect_in(words, box.run("attach", only_id(box), "0", code=USAGE).words, "attach")


@case
def an_engine_that_was_killed_is_in_the_summary(box):
    run = start(box, "tell", "ready", "pause")
    os.kill(run.chain()[0], signal.SIGKILL)
    run.end(INTERNAL)
    summary = box.json("summary.json")
    expect_equal((summary["exit_code"], summary["cause"], summary["origin"]), (INTERNAL, "internal", "dlaunch"), "summary")
    expect_in("killed by SIGKILL", summary["detail"], "what happened")
    expect_equal([(rank["how"], rank["node"]) for rank in summary["ranks"]], [("lost", os.uname().nodename)] * 2, "ranks")
    expect_equal(summary["run"], only_id(box), "run")
    expect_equal(listed(box)[0]["state"], "failed", "state")


@case
def a_run_that_lost_front_and_engine_is_lost(box):
    run = start(box, "tell", "ready", "pause")
    pids = [run.pid, run.chain()[0]]
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            os.kill(pid, number)
    killed(box, run)
    box.expect_nobody("after front and engine were killed")
    expect_equal(listed(box)[0]["state"], "lost", "state")
    expect_in(b"lost: its launcher was killed", box.run("runs").out, "what that means")
    expect_in("lost: its launcher was killed", box.run("logs", "-f").text, "how it ended")
    all_say(box, "has already ended: lost: its launcher was killed")


@case
def a_pid_that_somebody_else_has_by_now_is_left_alone(box):
    box.run("run", "--", "true")
    os.unlink(os.path.join(box.run_folder(), "summary.json"))
    path = os.path.join(box.run_folder(), "run.json")
    record = json.loads(box.read(path))
    record["engine"]["pid"] = os.getpid()
    box.write(path, json.dumps(record))
    expect_equal(listed(box)[0]["state"], "lost", "state")
    all_say(box, "has already ended: lost: its launcher was killed")


@case
def a_run_of_before_a_reboot_is_lost(box):
    """This is so even if a process now has the pid and start time of its engine."""
    box.run("run", "--", "true")
    os.unlink(os.path.join(box.run_folder(), "summary.json"))
    path = os.path.join(box.run_folder(), "run.json")
    record = json.loads(box.read(path))
    record["boot_id"] = "another"
    record["engine"] = {"pid": os.getpid(), "start_ticks": start_ticks(os.getpid())}
    box.write(path, json.dumps(record))
    expect_equal(listed(box)[0]["state"], "lost", "state")
    all_say(box, "has already ended: lost: its machine was rebooted")


@case
def a_run_of_another_machine_is_not_known_from_here(box):
    box.run("run", "--", "true")
    os.unlink(os.path.join(box.run_folder(), "summary.json"))
    path = os.path.join(box.run_folder(), "run.json")
    record = json.loads(box.read(path))
    record.update(host="gpu77", boot_id="another")
    box.write(path, json.dumps(record))
    expect_equal(listed(box)[0]["state"], "unknown", "state")
    expect_in(b"on gpu77", box.run("runs").out, "where")
    expect_in("is on gpu77, not on this machine", box.run("stop", code=NODE_LOST).text, "stop")


# --- commands typed by habit


@case
def commands_of_other_launchers(box):
    for word, meant in (("ps", "runs"), ("kill", "stop"), ("tail", "logs")):
        expect_in(f"dlaunch {meant}", box.run(word, code=USAGE).text, word)


@case
def counts_that_are_none_are_mistakes_of_the_command_line(box):
    for words in (["-n", "zero"], ["-n", "0"], ["-n", "-1"], ["-n", "2.5"], ["-n", "100001"],
                  ["--nproc-per-node", "all"], ["--nnodes", "x"]):
        run = box.run("run", *words, "--", "true", code=USAGE)
        expect_in(f"{words[0]} {words[1]}: expected a number from 1 to 100000", run.text, "which option, and its limits")
    expect(not box.exists("runs"), "a run folder was made")


@case
def the_message_after_ctrl_c_has_a_line_of_its_own(box):
    run = box.start_on_terminal("run", "-n", "2", "--", box.rank, "notice", TERM, "term", "tell", "ready", "pause")
    box.expect_all("ready", 2)
    run.type(b"\x03")
    box.expect_all("term", 2)
    # The terminal echoes the next key at once, even while this message is still on its way.
    wait_for_screen(run, "stopping 2 ranks")
    run.type(b"\x03")
    run.end(130)
    expect_in(b"^C", run.screen, "echo of the terminal")
    expect(b"^Cdlaunch" not in run.screen, f"a message behind ^C: {run.screen}")


@case
def processes_say_what_they_are(box):
    run = start(box, "tell", "ready", "gate")
    names = [f"dlaunch: {role} {only_id(box)}" for role in ("engine", "guardian", "agent")]
    wait_until(lambda: [command_of(pid).rstrip() for pid in run.chain()] == names, "command lines", pause=0.05)
    comm = [open(f"/proc/{pid}/comm", encoding="utf-8").read().strip() for pid in run.chain()]
    expect_equal(comm, ["dlaunch-engine", "dlaunch-guardia", "dlaunch-agent"], "names")
    box.open_gate()
    run.end(0)


@case
def events_are_written_as_they_happen(box):
    run = start(box, "tell", "ready", "gate")
    path = box.path(box.run_folder(), "events.jsonl")
    wait_until(lambda: box.read(path).count(b'"rank-started"') == 2, "both starts in events.jsonl", patience=5, pause=0.02)
    box.open_gate()
    run.end(0)


@case
def a_new_folder_of_runs_is_kept_out_of_git(box):
    box.run("run", "--", "true")
    expect_in(b"\n*\n", box.read("runs", ".gitignore"), "runs/.gitignore")
    box.make_folder("mine")
    box.run("run", "--set", "logs.dir=mine", "--", "true")
    expect(not box.exists("mine", ".gitignore"), "a folder with other things was hidden from git")
