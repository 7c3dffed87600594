"""checkpoint.path: what dlaunch says about checkpoints when an attempt ends, and dlaunch stop --checkpoint."""

import json
import os
import signal

from case import case
from expectations import expect, expect_equal, expect_in
from processes import wait_until
from run_helpers import USAGE, look, only_id

LATE = 124
KEY = "checkpoint: {path: 'ckpt/*'}\n"
FOREVER = ": > ready-$RANK\nwhile :; do sleep 0.05; done\n"
SAVE = "head -c 3000 /dev/zero > ckpt/new; mv ckpt/new ckpt/step-$1"
SAVES_AT_THE_END = "save() { " + SAVE + "; }\ntrap 'save 2; exit 0' TERM\n" + FOREVER


def start(box, script, keys=KEY, ranks=1):
    box.make_folder("ckpt")
    box.write("train.sh", script)
    box.write("job.yaml", f"command: [sh, train.sh]\nprocesses: {ranks}\n{keys}")
    run = box.start("run")
    wait_until(lambda: all(box.exists(f"ready-{rank}") for rank in range(ranks)), "the ranks")
    return run


def events(box, name):
    with open(os.path.join(box.run_folder(), "events.jsonl"), encoding="utf-8") as file:
        return [event for event in map(json.loads, file) if event["event"] == name]


# --- at the end of an attempt


@case
def one_that_is_written_on_stop_is_told(box):
    box.make_folder("ckpt")
    box.write("ckpt/step-0", "older")
    os.utime(box.path("ckpt/step-0"), (1, 1_700_000_000))
    run = start(box, SAVES_AT_THE_END)
    stop = look(box, "stop")
    run.end(143)
    for words in (run.words, stop.words):
        expect_in("saved ckpt/step-2 (3.0 kB) ", words, "what was written")
        expect_in("before the end", words, "when")
        expect("warning" not in words, words)
    saved = box.json("summary.json")["checkpoint"]
    expect_equal((saved["written"], saved["bytes"], saved["older"], saved["problems"]), (1, 3000, None, []), "summary.json")
    expect_equal((saved["latest"]["path"], saved["latest"]["bytes"]), ("ckpt/step-2", 3000), "the latest")
    expect(0 <= saved["latest"]["age_s"] < 10, f"its age: {saved}")
    told = events(box, "checkpoint")
    expect_equal([(one["attempt"], one["latest"]) for one in told], [(0, saved["latest"])], "events.jsonl")


@case
def none_is_a_warning(box):
    run = start(box, "trap 'exit 0' TERM\n" + FOREVER)
    box.run_folder()
    run.signal(signal.SIGINT)
    run.end(130)
    expect_in("warning: no checkpoint was written in this attempt; nothing matches ckpt/*", run.words, "the console")
    expect_equal(box.json("summary.json")["checkpoint"]["written"], 0, "summary.json")


@case
def one_from_before_is_none_of_this_attempt(box):
    box.make_folder("ckpt", "step-1")
    for part in ("a", "b"):
        box.write(f"ckpt/step-1/{part}", "x" * 1000)
        os.utime(box.path(f"ckpt/step-1/{part}"), (1, 1_700_000_000))
    run = start(box, "trap 'exit 0' TERM\n" + FOREVER)
    stop = look(box, "stop")
    run.end(143)
    expect_in("warning: no checkpoint was written in this attempt; the last one is ckpt/step-1 (2.0 kB), written ", run.words, "the console")
    expect_in("warning: no checkpoint was written in this attempt", stop.words, "what stop says")
    expect_equal(box.json("summary.json")["checkpoint"]["older"]["path"], "ckpt/step-1", "summary.json")


@case
def each_restart_says_what_there_is(box):
    """The first attempt writes one, the second does not, the third writes another and fails for good."""
    run = start(box, "set -- $DLAUNCH_ATTEMPT\n[ $1 = 1 ] || { " + SAVE + "; }\n: > ready-0\nexit 3\n",
                keys=KEY + "restart: {max: 2, backoff: 0s..1s}\n")
    run.end(3)
    expect_in("saved ckpt/step-0 (3.0 kB)", run.words, "at the first restart")
    expect_in("warning: no checkpoint was written in this attempt; the last one is ckpt/step-0", run.words, "at the second")
    expect_in("saved ckpt/step-2 (3.0 kB)", run.words, "the end")
    summary = box.json("summary.json")
    written = [attempt["checkpoint"]["written"] for attempt in summary["earlier"]] + [summary["checkpoint"]["written"]]
    expect_equal(written, [1, 0, 1], "summary.json")
    expect_equal([event["written"] for event in events(box, "checkpoint")], [1, 0, 1], "events.jsonl")


@case
def a_preemption_says_so_too(box):
    run = start(box, SAVES_AT_THE_END, keys=KEY + "preemption: {file: notice}\n")
    box.write("notice", "")
    run.end(158)
    expect_in("saved ckpt/step-2 (3.0 kB)", run.words, "the console")


@case
def without_the_key_nothing_is_said(box):
    run = start(box, SAVES_AT_THE_END, keys="")
    stop = look(box, "stop")
    run.end(143)
    for words in (run.words, stop.words):
        expect("saved" not in words and "checkpoint" not in words, words)
    expect_equal(box.json("summary.json")["checkpoint"], None, "summary.json")


# --- dlaunch stop --checkpoint


@case
def stop_waits_for_what_the_stop_signal_brings(box):
    run = start(box, SAVES_AT_THE_END)
    stop = look(box, "stop", "--checkpoint")
    run.end(143)
    expect_in("saved ckpt/step-2", stop.words, "what stop says")


@case
def stop_waits_for_one_that_ranks_write_while_they_run(box):
    """Both ranks get USR1; rank 0 writes a checkpoint, and both would go on without the TERM that follows."""
    script = ("trap ': > asked-$RANK' USR1\ntrap ': > termed; exit 0' TERM\n: > ready-$RANK\n"
              "while :; do sleep 0.05\n  if [ $RANK = 0 ] && [ -e asked-0 ]; then head -c 3000 /dev/zero > ckpt/step-7; rm asked-0; fi\ndone\n")
    run = start(box, script, keys="checkpoint: {path: 'ckpt/*', signal: USR1}\n", ranks=2)
    stop = look(box, "stop", "--checkpoint")
    run.end(143)
    expect(box.exists("asked-1") and box.exists("termed"), "both signals have come")
    expect_in("waiting up to 30 s for the ranks to write a checkpoint (SIGUSR1); then the run is stopped", run.words, "the console")
    expect_in("a new checkpoint is complete, stopping", run.words, "the console")
    expect_in("saved ckpt/step-7", stop.words, "what stop says")


@case
def stop_waits_no_longer_than_it_may(box):
    """With and without checkpoint.signal."""
    for keys, words in (("checkpoint: {path: 'ckpt/*', signal: USR1}\n", "no new checkpoint within 1 s, stopping"), (KEY, "stopping 1 rank")):
        box.make_folder("ckpt")
        box.write("ckpt/old", "")
        run = start(box, "trap : USR1 TERM\n" + FOREVER, keys=keys + "timeouts: {stop: 1s}\n")
        stop = look(box, "stop", "--checkpoint", code=LATE)
        run.end(143)
        expect_in(words, run.words, "the console")
        expect_in("ended without a new checkpoint", stop.words, "what stop says")
        os.unlink(box.path("ready-0"))


@case
def one_that_was_written_before_stop_is_not_enough(box):
    run = start(box, "head -c 10 /dev/zero > ckpt/early\ntrap 'exit 0' TERM\n" + FOREVER)
    os.utime(box.path("ckpt/early"), (1, os.stat(box.path("ckpt/early")).st_mtime - 10))
    stop = look(box, "stop", "--checkpoint", code=LATE)
    run.end(143)
    expect_in("saved ckpt/early", stop.words, "what there is")
    expect_in("ended without a new checkpoint", stop.words, "what stop says")


@case
def stop_needs_to_know_where_checkpoints_are(box):
    run = start(box, SAVES_AT_THE_END, keys="")
    expect_in("the job has no checkpoint.path", look(box, "stop", "--checkpoint", code=USAGE).words, "what stop says")
    expect_in("--now and --checkpoint exclude each other", look(box, "stop", "--now", "--checkpoint", code=USAGE).words, "both")
    look(box, "stop", "--now")
    run.end(143)


@case
def a_plain_stop_does_not_wait_for_it_any_longer(box):
    run = start(box, "trap ': > asked' USR1\ntrap 'exit 0' TERM\n" + FOREVER,
                keys="checkpoint: {path: 'ckpt/*', signal: USR1}\ntimeouts: {stop: 1h}\n")
    waits = box.start("stop", "--checkpoint")
    wait_until(lambda: box.exists("asked"), "the signal")
    look(box, "stop", only_id(box))
    run.end(143, left=1000)
    waits.end(LATE)
