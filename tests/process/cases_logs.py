"""dlaunch logs: what the ranks of a run printed."""

import os
import re
import signal

from case import case
from expectations import expect, expect_equal, expect_in, pseudo_random_bytes
from processes import wait_until
from run_helpers import INTERNAL, USAGE, only_id, start


@case
def logs_of_all_ranks_say_whose_they_are(box):
    host = os.uname().nodename
    box.run("run", "-n", "3", "--", "sh", "-c", "echo out $RANK; echo err $RANK >&2; printf 'no end'")
    logs = box.run("logs")
    expect_equal(logs.out.decode(), "".join(f"{host}:{rank} | out {rank}\n{host}:{rank} | no end\n" for rank in range(3)), "stdout")
    expect_equal(logs.text, "".join(f"{host}:{rank} | err {rank}\n" for rank in range(3)), "stderr")
    expect_equal(box.run("logs", "--err").out, b"", "stdout with --err")
    expect_equal(box.run("logs", "--out", "-r", "0,2").out.count(b"| out"), 2, "two ranks")
    for word in (only_id(box), only_id(box)[:13], only_id(box)[-3:], "runs/" + only_id(box), box.run_folder() + "/attempt-0/"):
        expect_equal(box.run("logs", word).out, logs.out, f"logs {word}")


@case
def logs_of_one_rank_are_its_bytes(box):
    box.run("run", "-n", "2", "--", box.rank, "bytes", "3000000", "7", "error", "oh")
    logs = box.run("logs", "--rank", "1")
    expect_equal(logs.out, pseudo_random_bytes(3000000, 7), "stdout")
    expect_equal(logs.err, b"oh", "stderr")


@case
def logs_of_silent_ranks_say_that_there_is_nothing(box):
    box.run("run", "-n", "2", "--", "true")
    logs = box.run("logs")
    expect_equal((logs.out, logs.text), (b"", f"dlaunch: no output (run {only_id(box)}: done)\n"), "output")


@case
def logs_of_a_run_that_failed_before_its_ranks(box):
    box.run("run", "--", "no-such-program", code=127)
    expect_in(": failed, exit 127)", box.run("logs").text, "what became of it")


@case
def logs_tail(box):
    box.run("run", "-n", "2", "--", "seq", "1000")
    expect_equal(box.run("logs", "--rank", "0", "--tail", "2").out, b"999\n1000\n", "two lines")
    expect_equal(len(box.run("logs", "--tail", "3").out.splitlines()), 6, "three lines of each rank")


@case
def logs_mistakes(box):
    box.run("run", "-n", "2", "--", "true")
    for words, message in ((["--rank", "2"], "ranks 0 to 1"), (["--rank", "x"], "for example 3 or 0,2-5"),
                           (["rank1"], "dlaunch logs --rank 1"), (["nonsense"], 'no run "nonsense"'),
                           (["--attempt", "1"], "attempt 0 only"), (["runs"], "dlaunch runs runs"),
                           (["--tail", "-3"], "--tail"), (["a", "b"], 'unexpected argument "b"')):
        expect_in(message, box.run("logs", *words, code=USAGE).text, f"logs {words}")
    expect_in('did you mean "logs"?', box.run("log", code=USAGE).text, "log")


@case
def logs_into_head_end_quietly(box):
    box.run("run", "--", "seq", "1000000")
    read, write = os.pipe()
    logs = box.start("logs", stdout=write)
    os.close(write)
    expect_equal(os.read(read, 4), b"1\n2\n", "first bytes")
    os.close(read)
    logs.end(0)
    expect_equal(logs.err, b"", "stderr")


class Follower:
    def __init__(self, box, *words):
        self.read, write = os.pipe()
        self.run = box.start("logs", "-f", *words, stdout=write)
        os.close(write)
        self.seen = b""

    def expect(self, text):
        while text not in self.seen:
            data = os.read(self.read, 65536)
            expect(data, f"the view ended without {text}: {self.seen}\n{self.run.text}")
            self.seen += data

    def all(self):
        """Everything that the view, which must have ended, has printed."""
        while data := os.read(self.read, 65536):
            self.seen += data
        return self.seen


@case
def logs_follow_until_the_run_ends(box):
    run = start(box, "print", "first\n", "tell", "ready", "gate", "print", "second\n", "exit", "3")
    view = Follower(box)
    view.expect(b":0 | first\n")
    view.expect(b":1 | first\n")
    box.open_gate()
    run.end(3)
    view.expect(b"| second\n")
    view.run.end(0)
    expect_in("failed after", view.run.text, "how it ended")


@case
def logs_follow_goes_on_with_the_next_attempt(box):
    box.write("job.yaml", f"command: echo try $TORCHELASTIC_RESTART_COUNT; {box.rank} tell ready gate; "
                          "exit $((1 - TORCHELASTIC_RESTART_COUNT))\nprocesses: 2\nrestart: {max: 1, backoff: 1ms..1ms}\n")
    run = box.start("run")
    box.expect_all("ready", 2)
    view = Follower(box)
    for rank in (0, 1):
        view.expect(f":{rank} | try 0\n".encode())
    box.open_gate()
    for rank in (0, 1):
        view.expect(f":{rank} | try 1\n".encode())
    run.end(0)
    view.run.end(0)
    expect_in("dlaunch: attempt 1\n", view.run.text, "which attempt")
    expect_in("done in", view.run.text, "how it ended")
    expect_equal(box.run("logs", "-r", "0").out, b"try 1\n", "the last attempt")
    expect_equal(box.run("logs", "-r", "0", "--attempt", "0").out, b"try 0\n", "the first one")


@case
def ctrl_c_ends_the_view_only(box):
    run = start(box, "print", "first\n", "tell", "ready", "gate")
    view = Follower(box)
    view.expect(b"first\n")
    view.run.signal(signal.SIGINT)
    view.run.end(-signal.SIGINT, left=1000)
    box.open_gate()
    run.end(0)


@case
def a_followed_run_whose_engine_is_killed_ends_the_view(box):
    run = start(box, "print", "first\n", "tell", "ready", "pause")
    view = Follower(box)
    view.expect(b"first\n")
    os.kill(run.chain()[0], signal.SIGKILL)
    run.end(INTERNAL)
    view.run.end(0)
    wait_until(lambda: "killed" in view.run.text, "how it ended")


BY_TURNS = """
cd $(dirname $(ls -d runs/*/attempt-0/))/attempt-0
seen() { until grep -qs $1 $2; do sleep 0.02; done; }
if [ $RANK = 0 ]; then echo first; seen second rank-1.out; echo third; else seen first rank-0.out; echo second; echo err >&2; seen third rank-0.out; printf fourth; fi
"""
TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z ")


@case
def logs_by_time(box):
    box.run("run", "-n", "2", "--", "sh", "-c", BY_TURNS)
    host = os.uname().nodename.encode()
    logs = box.run("logs", "--timestamps")
    lines = logs.out.splitlines()
    expect(all(TIME.match(line) for line in lines), f"lines without a time: {lines}")
    expect_equal([TIME.sub(b"", line) for line in lines],
                 [host + b":0 | first", host + b":1 | second", host + b":0 | third", host + b":1 | fourth"], "order")
    expect_equal(sorted(lines), lines, "times")
    expect_equal(TIME.sub(b"", logs.err), host + b":1 | err\n", "stderr")
    expect_equal([TIME.sub(b"", line) for line in box.run("logs", "-t", "-r", "0", "--tail", "1").out.splitlines()], [b"third"], "one rank")
    expect_equal(len(box.run("logs").out.splitlines()), 4, "without times")


@case
def logs_by_time_of_a_detached_run_and_without_times(box):
    box.start("run", "--detach", "--", "sh", "-c", "echo one").end(0, left=1000)
    wait_until(lambda: os.path.exists(box.path(box.run_folder(), "summary.json")), "the end", pause=0.05)
    expect(TIME.match(box.run("logs", "-t").out), "no time")
    os.unlink(box.path(box.run_folder(), "attempt-0", "local.times"))
    expect_equal(box.run("logs", "-t").out, b"(no time recorded)          one\n", "output without times")


@case
def following_begins_near_the_end(box):
    run = start(box, "print", "".join(f"line {i}\n" for i in range(100)), "tell", "ready", "gate", "print", "last\n", ranks=1)
    wait_until(lambda: b"line 99\n" in box.rank_output(0), "the output", pause=0.02)
    view = Follower(box)
    view.expect(b"line 99\n")
    whole = Follower(box, "--tail", "all")
    whole.expect(b"line 99\n")
    box.open_gate()
    run.end(0)
    view.run.end(0)
    whole.run.end(0)
    expect_equal(view.all(), b"".join(b"line %d\n" % i for i in range(90, 100)) + b"last\n", "the end of it")
    expect(whole.all().startswith(b"line 0\n"), "all of it")
