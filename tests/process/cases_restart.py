"""Attempts: failures are restarted with new ports and folders, except those that must not be."""

import os
import re
import resource
import signal
import socket

from case import case
from expectations import Skip, expect, expect_equal, expect_in
from file_schemas import check_all
from run_helpers import wait_for_screen

HOST = os.uname().nodename
# A rank that fails `times` times, which it counts in a file.
FAILS = """n=$(cat count.$RANK 2>/dev/null || echo 0); echo $((n+1)) > count.$RANK
echo "$TORCHELASTIC_RESTART_COUNT $TORCHELASTIC_MAX_RESTARTS $MASTER_PORT $TORCHELASTIC_ERROR_FILE $DLAUNCH_ATTEMPT"
[ $n -ge {times} ] || exit {code}
"""


def failing_job(box, times, code=7, ranks=1, **restart):
    keys = {"max": 3, "backoff": "1ms..2ms", **restart}
    listed = ", ".join(f"{key}: {value}" for key, value in keys.items())
    script = "".join(f"  {line}\n" for line in FAILS.format(times=times, code=code).splitlines())
    box.write("job.yaml", f"command: |\n{script}processes: {ranks}\nrestart: {{{listed}}}\n")


def attempts(box):
    return sorted(name for name in os.listdir(box.run_folder()) if name.startswith("attempt-"))


def output(box, attempt, rank=0):
    return box.read(box.run_folder(), f"attempt-{attempt}", f"rank-{rank}.out").decode()


@case
def a_failed_job_is_started_again_until_it_succeeds(box):
    failing_job(box, times=2)
    run = box.run("run", code=0)
    expect_equal(attempts(box), ["attempt-0", "attempt-1", "attempt-2"], "folders")
    ports = set()
    for number in range(3):
        count, most, port, error_file, own_count = output(box, number).split()
        expect_equal((count, most, own_count), (str(number), "3", str(number)), "TORCHELASTIC_RESTART_COUNT, MAX_RESTARTS, DLAUNCH_ATTEMPT")
        expect_in(f"/attempt-{number}/rank-0.error.json", error_file, "TORCHELASTIC_ERROR_FILE")
        ports.add(port)
    expect_equal(len(ports), 3, f"different ports in {ports}")
    expect_in("rank 0 exited with code 7", run.text, "what happened")
    expect_in("; restart 1 of 3 in 1 ms", run.text, "the first restart and its wait")
    expect_in("; restart 2 of 3 in 2 ms", run.text, "the second, whose wait is twice as long")
    expect(re.search(r"^dlaunch: attempt 1: rank 0 exited with code 7 after ", run.text, re.M), run.text)
    expect(re.search(r"dlaunch: done in .*, 1 rank ok after 2 restarts, logs in ", run.words), run.text)
    summary = box.json("summary.json")
    expect_equal((summary["attempt"], summary["exit_code"], summary["cause"]), (2, 0, "success"), "summary")
    expect_equal([(e["attempt"], e["cause"], e["exit_code"], e["first"], e["wait_s"]) for e in summary["earlier"]],
                 [(0, "exit-code", 7, 0, 0.001), (1, "exit-code", 7, 0, 0.002)], "earlier attempts")
    expect_equal(box.json("plan.json")["attempt"], 2, "attempt of plan.json")
    expect_equal(box.read(box.run_folder(), "events.jsonl").count(b'"event": "restart"'), 2, "restart events")


@case
def the_first_restart_is_immediate_and_the_time_is_accounted_for(box):
    # Attempt 0 reaches step 6, attempt 1 resumes after step 4.
    script = ("if [ $DLAUNCH_ATTEMPT = 0 ]; then for i in 1 2 3 4 5 6; do echo step $i; done; sleep 2; exit 3; fi; "
              "echo step 5; sleep 2; echo step 7; sleep 2")
    box.write("job.yaml", f"command: '{script}'\nrestart: {{max: 1}}\nmetrics: {{step: 'step (\\d+)'}}\nwatch: {{interval: 100ms}}\n")
    run = box.run("run", code=0)
    flat = " ".join(run.text.split())
    expect_in("; restart 1 of 1 now", flat, "no wait")
    expect(re.search(r"attempt 0: rank 0 exited with code 3 after .*; up again in \d+ ms, 2 steps redone", flat), run.text)
    expect(re.search(r"dlaunch: time: \d\.\d s productive \(\d\d %\), \d\.\d s recomputed \(\d\d %\)", flat), run.text)
    summary = box.json("summary.json")
    ledger, failed = summary["ledger"], summary["earlier"][0]
    expect(abs(sum(ledger.values()) - summary["elapsed_s"]) < 1e-6, f"the sum of {ledger} is not {summary['elapsed_s']}")
    expect(ledger["productive_s"] > 1.0 and ledger["recomputed_s"] > 1.0, f"{ledger}")
    expect_equal((failed["steps_lost"], failed["unnoticed_s"], failed["wait_s"]), (2, None, 0), "the failed attempt")
    expect(0 <= failed["stopped_s"] <= failed["again_s"], f"again after the stop: {failed}")


@case
def the_last_attempts_code_is_the_runs(box):
    box.write("job.yaml", "command: exit $((10 + DLAUNCH_ATTEMPT))\nrestart: {max: 2, backoff: 0s..0s}\n")
    run = box.run("run", code=12)
    expect_in("restart.max of 2 is used up", run.text, "why it ends")
    expect(re.search(r"earlier attempt 0: rank 0 exited with code 10 after .*\n\s+attempt 1: rank 0 exited with code 11",
                     run.text), run.text)
    expect_in("attempt-2/", run.text, "the folder to look into")


@case
def without_the_key_nothing_is_restarted(box):
    box.run("run", "--", "false", code=1)
    expect_equal(attempts(box), ["attempt-0"], "folders")


@case
def codes_that_never_restart(box):
    failing_job(box, times=9, code=3, not_on_exit="[2, 3]")
    expect_in("exit code 3 is in restart.not_on_exit", box.run("run", code=3).text, "why")
    expect_equal(attempts(box), ["attempt-0"], "folders")


@case
def a_missing_program_is_not_tried_again(box):
    run = box.run("run", "--set", "restart.max=3", "--", "no-such-program", code=127)
    expect("restart 1" not in run.text, run.text)
    box.write("other/job.yaml", "command: no-such-program; exit $?\nrestart: {max: 3}\n")
    run = box.run("run", cwd=box.path("other"), code=127)
    expect_in("no restart: exit code 127", run.text, "why")


@case
def causes_that_are_not_named_are_not_restarted(box):
    failing_job(box, times=9, on="[hang]")
    expect_in('restart.on does not include "failure"', box.run("run", code=7).text, "why")


@case
def healthy_running_gives_the_budget_back(box):
    failing_job(box, times=3, max=1, reset_after="1ms")
    run = box.run("run", code=0)
    expect_equal(run.text.count("restart 1 of 1 in 1 ms"), 3, f"restarts, each the first one: {run.text}")


@case
def ctrl_c_in_the_wait_ends_it_at_once(box):
    failing_job(box, times=9, backoff="1h..1h")
    run = box.start_on_terminal("run")
    wait_for_screen(run, "restart 1 of 3 in 1 h")
    run.type(b"\x03")
    run.end(130)
    expect(re.search(r"attempt 0: rank 0 exited with code 7 after .* dlaunch: stopped by Ctrl-C after .* while waiting for restart 1 of 3", run.words),
           run.text)
    expect_equal(box.json("summary.json")["earlier"][0]["exit_code"], 7, "the attempt that failed")
    expect_equal(attempts(box), ["attempt-0"], "folders")


@case
def a_wait_beyond_the_time_limit_is_not_begun(box):
    failing_job(box, times=9, backoff="1h..1h")
    run = box.run("run", "--set", "timeouts.run=30m", code=7)
    expect_in("no restart: the wait of 1 h would end after the time limit of 30 min", run.text, "why")


@case
def nothing_of_an_attempt_is_left_when_the_next_begins(box):
    box.write("look.py", "import glob\nfor f in glob.glob('/proc/[0-9]*/cmdline'):\n"
              "    try:\n        words = open(f, 'rb').read().split(b'\\0')\n    except OSError:\n        continue\n"
              "    if words[0] == b'daemon':\n        print('left over:', f)\nprint('looked')\n")
    box.write("job.yaml", f"command: if [ $DLAUNCH_ATTEMPT = 0 ]; then exec {box.rank} daemon child exit 1; fi; exec /usr/bin/python3 look.py\n"
              "processes: 2\nrestart: {max: 1, backoff: 0s..0s}\n")
    box.run("run", code=0)
    for rank in range(2):
        expect_equal(output(box, 1, rank), "looked\n", "processes of the first attempt, seen by the second")


@case
def a_later_attempt_goes_on_with_the_stdin_that_is_left(box):
    reads, writes = os.pipe()
    box.write("job.yaml", "command: |\n  echo \"ready $DLAUNCH_ATTEMPT\" > $EVENTS\n"
              "  if [ $DLAUNCH_ATTEMPT = 0 ]; then read line; echo got $line; exit 1; fi\n  cat\n"
              "stdin: rank0\nrestart: {max: 1, backoff: 0s..0s}\n")
    run = box.start("run", stdin=reads)
    os.write(writes, b"first\n")
    box.expect_events(["ready 0", "ready 1"])
    os.write(writes, b"second\n")
    os.close(writes)
    os.close(reads)
    run.end(0)
    expect_equal(output(box, 0), "got first\n", "the first attempt")
    expect_equal(output(box, 1), "second\n", "the second attempt")


@case
def a_later_attempt_sees_the_end_of_stdin(box):
    box.write("job.yaml", "command: cat; [ $DLAUNCH_ATTEMPT = 1 ]\nstdin: rank0\nrestart: {max: 1, backoff: 0s..0s}\n")
    box.run("run", stdin=b"all of it\n", code=0)
    expect_equal(output(box, 0), "all of it\n", "the first attempt")


@case
def the_output_of_all_attempts_is_on_the_console(box):
    box.write("job.yaml", f"command: {box.rank} lines 2000; [ $DLAUNCH_ATTEMPT = 2 ]\nrestart: {{max: 2, backoff: 0s..0s}}\n")
    run = box.run("run", code=0)
    expect_equal(run.out, b"".join(output(box, number).encode() for number in range(3)), "stdout")
    expect_equal(run.out.count(b"R0 001999 "), 3, "last lines")


# ---- ports

BINDS = """import fcntl, os, socket, sys
port = int(os.environ["MASTER_PORT"])
if os.environ["DLAUNCH_ATTEMPT"] == "0":
    with open(os.environ["EVENTS"], "w") as events:
        events.write(f"port {port}\\n")
    fcntl.flock(open(os.environ["GATE"]), fcntl.LOCK_SH)
server = socket.socket(socket.AF_INET6)
server.bind(("::", port))
server.listen()
print("listening")
"""


def take_its_port(box, run):
    """This process, which is not part of the job, takes the port before rank 0 does."""
    event = box.next_event()
    expect(event and event.startswith("port "), f"no port: {event}\n{run.report()}")
    port = int(event.split()[1])
    thief = socket.socket(socket.AF_INET6)
    thief.bind(("::", port))
    thief.listen()
    box.open_gate()
    return port, thief


@case
def a_port_that_somebody_took_costs_no_attempt(box):
    box.write("rank.py", BINDS)
    run = box.start("run", "--", "/usr/bin/python3", "rank.py")  # restart.max is 0
    port, thief = take_its_port(box, run)
    run.end(0)
    thief.close()
    expect(re.search(rf"dlaunch: port {port} was taken by pid {os.getpid()} \(.*, user .*\) before the job could listen; "
                     "trying another port", run.words), run.text)
    expect_equal(output(box, 1), "listening\n", "the second attempt")
    earlier = box.json("summary.json")["earlier"]
    expect_equal([(e["cause"], e["port"]) for e in earlier], [("port-taken", port)], "earlier attempts")
    check_all(box, ["port-taken"])


@case
def a_chosen_port_that_somebody_took_is_an_error_that_names_him(box):
    with socket.socket(socket.AF_INET6) as found:
        found.bind(("::", 0))
        port = found.getsockname()[1]
    box.write("rank.py", BINDS)
    run = box.start("run", "--set", f"rendezvous.port={port}", "--set", "restart.max=3", "--", "/usr/bin/python3", "rank.py")
    taken, thief = take_its_port(box, run)
    run.end(1)
    thief.close()
    expect_equal(taken, port, "port")
    expect(re.search(rf"port {port} on {re.escape(HOST)} was taken by pid {os.getpid()} ", run.words), run.text)
    expect_in("rank 0", run.words, "who found out")
    expect_in("rendezvous.port: auto", run.text, "what to do")
    summary = box.json("summary.json")
    expect_equal((summary["cause"], summary["port"]), ("port-taken", port), "summary")


@case
def a_failure_with_the_ports_own_listener_is_the_ranks(box):
    box.write("rank.py", "import os, socket, sys\nserver = socket.socket()\n"
              "server.bind(('', int(os.environ['MASTER_PORT'])))\nserver.listen()\n"
              "if os.environ['RANK'] == '0':\n    pass\nos.write(os.open(os.environ['EVENTS'], os.O_WRONLY), b'up 0\\n')\n"
              "import time\ntime.sleep(1000)\n")
    run = box.start("run", "-n", "2", "--", "sh", "-c",
                    f"test $RANK = 0 && exec /usr/bin/python3 rank.py; exec {box.rank} gate exit 5")
    box.expect_events(["up 0"])
    box.open_gate()
    run.end(5)
    expect("taken" not in run.text, run.text)


# ---- success, stragglers

SERVERS = "  case $TF_CONFIG in *'\"type\":\"ps\"'*) echo server; exec sleep 1000;; esac\n"


@case
def parameter_servers_end_with_the_workers(box):
    box.write("job.yaml", f"framework: tensorflow\ncommand: |\n{SERVERS}  exit 0\nroles: {{chief: 1, worker: 2, ps: 2}}\n")
    run = box.run("run", code=0)
    expect(re.search(r"dlaunch: done in .*, 3 ranks ok, 2 stopped", run.text), run.text)
    expect_in("parameter servers are stopped when the workers are done", run.text, "note")
    plan = box.run("plan", code=0)
    expect_in(b"parameter servers are stopped when the workers are done", " ".join(plan.out.decode().split()).encode(), "note of the plan")


@case
def a_parameter_server_that_fails_fails_the_job(box):
    box.write("job.yaml", "framework: tensorflow\ncommand: |\n"
              "  case $TF_CONFIG in *'\"type\":\"ps\"'*) exit 9;; esac\n  exec sleep 1000\nroles: {worker: 1, ps: 1}\n")
    box.run("run", code=9)


@case
def the_chief_decides(box):
    box.write("job.yaml", f"command: test $RANK = 0 && exec {box.rank} gate exit 0; exec {box.rank} ignore 15 tell ready pause\n"
              "processes: 3\nsuccess: chief\ntimeouts: {stop: 10ms}\n")
    run = box.start("run")
    box.expect_events(["ready 1", "ready 2"])
    box.open_gate()
    run.end(0)
    expect(re.search(r"done in .*, 1 rank ok, 2 killed", run.text), run.text)


@case
def stragglers_are_stopped_and_named(box):
    box.write("job.yaml", f"command: test $RANK = 1 || exec {box.rank} pause\nprocesses: 3\n"
              "timeouts: {stragglers_after_success: 10ms}\nrestart: {max: 2}\n")
    run = box.run("run", code=124)
    expect_in("2 ranks are still running 10 ms after the first one succeeded", run.words, "live line")
    expect_in("ranks 0, 2 were still running after others had succeeded (timeouts.stragglers_after_success: 10 ms)", run.words, "summary")
    summary = box.json("summary.json")
    expect_equal((summary["cause"], summary["stragglers"], summary["attempt"]), ("stragglers", [0, 2], 0), "summary.json")


@case
def success_of_a_chief_without_one(box):
    box.write("job.yaml", "framework: tensorflow\ncommand: [true]\nroles: {ps: 1}\nsuccess: chief\n")
    expect_in("success needs a chief or a worker", box.run("run", code=65).text, "message")


@case
def a_reader_that_is_late_finds_whole_lines_and_a_mark(box):
    """The output of the first attempt is not read until the second one has begun."""
    reader, writer = os.pipe()
    script = ("if [ $TORCHELASTIC_RESTART_COUNT = 0 ]; then seq -f 'line %.0f end' 1 200000; exit 1; fi; "
              f"echo again end; exec {box.rank} tell again gate")
    run = box.start("run", "-n", "2", "--set", "restart.max=1", "--set", "restart.backoff=1ms..1ms", "--", "sh", "-c", script,
                    stdout=writer)
    os.close(writer)
    box.expect_all("again", 2)
    box.open_gate()
    shown = b""
    while data := os.read(reader, 1 << 16):
        shown += data
    os.close(reader)
    run.end(0)
    lines = shown.decode().splitlines()
    torn = [line for line in lines if not re.fullmatch(r"\S+ [|+] (line \d+ end|again end|\[\.\.\. .* in .*\])", line)]
    expect(not torn, f"torn lines: {torn[:3]}")
    expect(any("[..." in line and "attempt-0/rank-" in line for line in lines), "a mark that names the file")
    expect_equal(sum("again end" in line for line in lines), 2, "lines of the second attempt")


# --- the agent of this machine is lost, and another one is started

UNTIL_RESTART = 'if [ $DLAUNCH_ATTEMPT = 0 ]; then sleep 300 & (setsid sleep 300 &); echo up > $EVENTS; wait; fi; echo again; ulimit -n; pwd; echo "$MARK"'


def lose_agent(box, pick, *options):
    box.write("job.yaml", f"command: |\n  {UNTIL_RESTART}\nrestart: {{max: 1, backoff: 1ms..1ms}}\n")
    run = box.start("run", *options, "job.yaml", env={"MARK": "of the caller"})
    box.expect_events(["up"])
    _, guardian, agent = run.chain()
    for pid in pick(guardian, agent):
        os.kill(pid, signal.SIGKILL)
    run.end(0)
    expect_equal(attempts(box), ["attempt-0", "attempt-1"], "attempts")
    lines = output(box, 1).splitlines()
    soft = str(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    expect_equal(lines, ["again", soft, os.path.realpath(box.folder), "of the caller"], "what the new rank finds")
    expect_in(f"{HOST} was lost (", run.words, "what happened")
    expect_in(f"waiting up to 5 min for {HOST} to answer again", run.words, "what it waits for")
    expect_equal(box.json("summary.json")["earlier"][0]["cause"], "node-lost", "cause in summary.json")


@case
def a_killed_agent_is_replaced(box):
    lose_agent(box, lambda guardian, agent: [agent])


@case
def a_killed_guardian_is_replaced(box):
    lose_agent(box, lambda guardian, agent: [guardian])


@case
def guardian_and_agent_killed_together_are_replaced(box):
    lose_agent(box, lambda guardian, agent: [guardian, agent])


@case
def a_killed_agent_in_a_pid_namespace_is_replaced(box):
    if not box.namespaced:
        raise Skip("no namespaces here")
    lose_agent(box, lambda guardian, agent: [agent], "--set", "isolation=pid-namespace")


@case
def without_node_loss_in_restart_on_a_lost_agent_ends_the_run(box):
    box.write("job.yaml", "command: echo up > $EVENTS; sleep 300\nrestart: {max: 1, on: [failure]}\n")
    run = box.start("run", "job.yaml")
    box.expect_events(["up"])
    os.kill(run.chain()[2], signal.SIGKILL)
    run.end(69)
    expect_in('restart.on does not include "node-loss"', run.text, "why")
