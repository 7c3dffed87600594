"""dlaunch stop: the end of a run from outside."""

import os
import shutil
import signal

from case import case
from expectations import Skip, expect, expect_equal, expect_in
from processes import wait_until
from run_helpers import NO_PERMISSION, TERM, USAGE, listed, look, only_id, start


@case
def stop_gives_the_ranks_their_time(box):
    run = start(box, "notice", TERM, "term", "tell", "ready", "pause", options=["--set", "timeouts.stop=1s"])
    stop = box.start("stop")
    box.expect_all("term", 2)
    run.end(143)
    stop.end(0)
    expect_in("stopped by SIGTERM", stop.text, "how it ended")
    expect_equal(box.json("summary.json")["signal"], "SIGTERM", "signal")


@case
def stop_now_kills_at_once(box):
    run = start(box, "notice", TERM, "term", "child", "daemon", "tell", "ready", "pause", options=["--set", "timeouts.stop=1h"])
    stop = box.start("stop", only_id(box), "--now")
    run.end(143)
    stop.end(0)
    expect_in("killed by dlaunch stop --now after", stop.text, "how it ended")


@case
def a_second_stop_only_waits(box):
    """Neither stop kills the ranks, which save their state after TERM until the gate is open."""
    run = start(box, "notice", TERM, "term", "tell", "ready", "gate", "exit", "0", options=["--set", "timeouts.stop=1h"])
    first = box.start("stop")
    box.expect_all("term", 2)
    first.signal(signal.SIGINT)  # Ctrl-C ends the waiting, not the run
    first.end(-signal.SIGINT, left=1000)
    second = box.start("stop", only_id(box))
    wait_until(lambda: os.path.exists(box.path("stderr-2")), "its stderr")
    wait_until(lambda: f"is already stopping; dlaunch stop --now {only_id(box)} kills it at once" in second.text, "what the second one says")
    box.open_gate()
    run.end(143)
    second.end(0)
    expect_equal([rank["exit_code"] for rank in box.json("summary.json")["ranks"]], [0, 0], "how the ranks ended")


@case
def stop_during_a_failing_attempt_ends_the_run(box):
    """The attempt is already being stopped, but another one would follow."""
    box.write("job.yaml", f"command: 'if [ $RANK = 0 ]; then exec {box.rank} tell ready gate exit 3; fi; "
                          f"exec {box.rank} notice {TERM} term tell ready pause'\nprocesses: 2\n"
                          "restart: {max: 1, backoff: 1h..1h}\ntimeouts: {stop: 3s}\n")
    run = box.start("run")
    box.expect_all("ready", 2)
    box.open_gate()
    box.expect_events(["term 1"])
    stop = box.start("stop")
    wait_until(lambda: os.path.exists(box.path("stderr-1")), "its stderr")
    wait_until(lambda: "is already stopping" in stop.text, "what stop says")
    run.end(143, left=1000)
    stop.end(0)


@case
def stop_now_hurries_a_stop(box):
    run = start(box, "notice", TERM, "term", "tell", "ready", "pause", options=["--set", "timeouts.stop=1h"])
    stop = box.start("stop")
    box.expect_all("term", 2)
    now = box.start("stop", "--now")
    run.end(143)
    stop.end(0)
    now.end(0)


@case
def a_run_that_ends_while_it_is_being_stopped(box):
    """It ends after dlaunch stop has looked at its state and before it looks at its process; strace(1) prolongs this interval."""
    if shutil.which("strace") is None:
        raise Skip("strace is not installed")
    if box.sanitized:
        raise Skip("LeakSanitizer does not work in a process that is traced")
    run = start(box, "tell", "ready", "gate", "exit", "0")
    trace = box.path("trace")
    stop = box.start("stop", prefix=["strace", "-f", "-o", trace, "-e", "trace=openat,pidfd_open", "-e", "inject=pidfd_open:delay_enter=3000000:when=2"])
    wait_until(lambda: os.path.exists(trace) and "plan.json" in open(trace, encoding="utf-8", errors="replace").read(), "stop has looked")
    box.open_gate()
    run.end(0, left=1000)
    stop.end(0)
    expect_in("done in", stop.text, "how it ended")
    expect("stopping" not in stop.text, f"it was not stopped: {stop.text}")


@case
def stop_shows_its_waiting_on_a_terminal(box):
    run = start(box, "notice", TERM, "term", "tell", "ready", "pause", options=["--set", "timeouts.stop=2s"])
    stop = box.start_on_terminal("stop")
    box.expect_all("term", 2)
    run.end(143, left=1000)
    stop.end(0)
    expect_in(b"s of 2 s", stop.screen, "how long it may take")
    expect_in(b"stopped by SIGTERM", stop.screen, "how it ended")


@case
def stop_with_nothing_to_stop(box):
    expect_in("nothing is running in runs", box.run("stop", code=USAGE).text, "no run at all")
    box.run("run", "--", "true")
    expect_in("nothing is running in runs", box.run("stop", code=USAGE).text, "none that runs")
    expect_in("has already ended: done in", box.run("stop", only_id(box), code=USAGE).text, "one that has ended")


@case
def stop_asks_which_one(box):
    runs = [start(box, "tell", "ready", "pause", ranks=1) for _ in range(2)]
    text = look(box, "stop", code=USAGE).text
    ids = [run["run"] for run in listed(box)]
    for one in ids:
        expect_in(f"dlaunch stop {one}", text, "the runs to choose from")
    for one in ids:
        look(box, "stop", one)
    for run in runs:
        run.end(143)


@case
def a_pid_is_no_run(box):
    run = start(box, "tell", "ready", "pause")
    engine = run.chain()[0]
    for pid in (run.pid, engine):
        expect_in(f"pid {pid} belongs to run {only_id(box)}", look(box, "stop", str(pid), code=USAGE).text, "whose it is")
    look(box, "stop", only_id(box)[-3:])
    run.end(143)


@case
def a_run_of_another_user_cannot_be_stopped(box):
    if os.geteuid() != 0:
        raise Skip("needs root to be two users")
    run = start(box, "tell", "ready", "pause")
    for path, mode in ((box.folder, 0o755), (box.path("runs"), 0o755), (box.run_folder(), 0o755),
                       (os.path.join(box.run_folder(), "run.json"), 0o644)):
        os.chmod(path, mode)
    shutil.copy(box.dlaunch, box.path("dlaunch"))
    os.chmod(box.path("dlaunch"), 0o755)
    stop = box.start("stop", only_id(box), program=box.path("dlaunch"), before=lambda: os.setresuid(65534, 65534, 65534))
    stop.end(left=1000)
    if stop.code == 97:
        raise Skip("this namespace has no other user")
    expect_equal(stop.code, NO_PERMISSION, "exit code of stop")
    expect_in("belongs to user 0", stop.text, "whose it is")
    look(box, "stop")
    run.end(143)


@case
def a_runs_folder_of_another_user_is_no_empty_one(box):
    if os.geteuid() != 0:
        raise Skip("needs root to be two users")
    box.run("run", "--", "true")
    os.chmod(box.folder, 0o755)
    shutil.copy(box.dlaunch, box.path("dlaunch"))
    os.chmod(box.path("dlaunch"), 0o755)
    one = only_id(box)
    for mode, what in ((0o700, "cannot read runs: Permission denied"), (0o755, f"cannot read runs/{one}: Permission denied")):
        os.chmod(box.path("runs"), mode)
        for words in (["runs"], ["logs"], ["stop"], ["logs", one], ["stop", one]):
            if mode == 0o755 and len(words) == 1:
                continue
            run = box.start(*words, program=box.path("dlaunch"), before=lambda: os.setresuid(65534, 65534, 65534))
            run.end()
            if run.code == 97:
                raise Skip("this namespace has no other user")
            expect_equal(run.code, NO_PERMISSION, f"exit code of {words}: {run.text}")
            expect_in(what, run.text, f"{words}")
            expect_in("belongs to user 0", run.text, f"whose it is, {words}")


@case
def the_beginning_of_several_ids_is_not_enough(box):
    for _ in range(2):
        box.run("run", "--", "true")
    year = listed(box)[0]["run"][:4]
    expect_in(f'"{year}" could be 2 runs; give more of the id', box.run("stop", year, code=USAGE).text, "a year")
    for word in ("-9", "--force"):
        expect_in("dlaunch stop --now", box.run("stop", word, code=USAGE).text, word)
