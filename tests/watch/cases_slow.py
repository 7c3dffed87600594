"""Slow ranks are named while the job runs; dlaunch compares them once a minute."""

import os
import re
import signal

from case import case
from expectations import expect, expect_equal
from processes import command_of, wait_until
from watch_sandbox import CpuLimit, HERE, PYTHON

PROGRAM = os.path.join(HERE, "ranks", "steps.py")
SLOW = re.compile(r"rank (\d) on (\w+) is slow: its steps take ([0-9.]+) times as long as the median of the other ranks(.*)")


def begin(box, *words, options=(), **more):
    """Two ranks on each of two nodes."""
    box.make_cluster(2)
    run = box.launch(PYTHON, PROGRAM, *words, ranks=2, options=["--set", "env_pass=[CASE, BEATS]", "--set", "timeouts.stop=1s", *options], **more)
    wait_until(lambda: box.exists("stderr-0"), "its beginning")
    return run


def slow_ranks(run, wanted):
    """{rank: (node, how often, the rest of the notice)} once these ranks were named."""
    named = lambda: {int(rank): more for rank, *more in SLOW.findall(run.text)}  # noqa: E731
    try:
        wait_until(lambda: set(wanted) <= set(named()), f"that ranks {wanted} are slow", 130, 0.5)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{run.text}") from None
    return named()


def end(run):
    run.signal(signal.SIGTERM)
    run.end(143)


@case(long=True, budget=180)
def a_rank_with_fewer_heartbeats_is_named_with_its_host(box):
    run = begin(box, "1", "3", "4", env={"BEATS": "1"})
    named = slow_ranks(run, [3])
    expect_equal(sorted(named), [3], run.text)
    node, times, _ = named[3]
    expect_equal(node, "node2", run.text)
    expect(float(times) > 2, run.text)
    end(run)


@case(long=True, budget=180)
def a_node_with_little_cpu_is_named_with_what_it_shows(box):
    with CpuLimit() as held:
        run = begin(box, "0.2", options=["--set", "metrics={step: 'step ([0-9]+)'}"])
        ranks = lambda: [pid for pid in box.people(box.cluster[2])[2] if "steps.py" in command_of(pid)]  # noqa: E731
        wait_until(lambda: len(ranks()) == 2, "the ranks of node2")
        held.hold(ranks())
        named = slow_ranks(run, [2, 3])
        expect_equal(sorted(named), [2, 3], run.text)
        for node, _, more in named.values():
            expect_equal(node, "node2", run.text)
            expect(re.search(r"; node2: .*rank [23] waited for a CPU for \d+ % of the time", more), run.text)
        end(run)
