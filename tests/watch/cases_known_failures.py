"""Known causes of failures of real programs that need more than one machine or PyTorch; others are in tests/process/cases_causes.py."""

import os

from case import case
from expectations import expect, expect_equal, expect_in
from hangs import Job, needs_torch, start
from watch_sandbox import HERE, PYTHON


def cause(box, failure):
    """The summary, which must name this failure."""
    summary = box.json("summary.json")
    expect_equal(summary["failure"], failure, summary["text"])
    return summary


@case
def a_loss_that_is_no_number_any_more(box):
    needs_torch()
    run = start(box, Job(ranks=2), PYTHON, os.path.join(HERE, "ranks", "diverge.py"),
                options=["--set", "metrics={loss: 'loss (\\S+)'}", "--set", "env={OMP_NUM_THREADS: '1'}"])
    run.end(1, patience=50)
    summary = cause(box, "metric-not-a-number")
    expect_in("of the metric loss", summary["why"], "why")
    expect_in('not a number ("', summary["why"], "why")
    expect_in("a lower learning rate", summary["advice"], "advice")
    expect_in("not a number", run.words, "the report")


@case
def a_file_that_one_node_lacks(box):
    """Each node has a /var/tmp of its own."""
    job = Job(ranks=6, nodes=3)
    cluster = box.make_cluster(job.nodes)
    for number in (1, 3):
        cluster[number].sh("mkdir /var/tmp/data; echo 1 2 3 > /var/tmp/data/shard")
    program = "import os, time\nprint(open('/var/tmp/data/shard').read())\ntime.sleep(1000)\n"
    run = start(box, job, PYTHON, box.write("read.py", program))
    run.end(1, patience=40)
    summary = cause(box, "file-missing")
    expect_in("; only ranks on node2 failed in this way", summary["why"], "why")
    expect(summary["first"] in (2, 3), str(summary["first"]))
    expect_in("only ranks on node2 failed in this way", run.words, "the report")
