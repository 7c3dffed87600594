"""`dlaunch scale` over nodes: each size is an ordinary run on the first nodes of the job."""

import json

from case import case
from expectations import expect, expect_equal, expect_in

JOB = """
command: |
  echo "images/sec: $((110 - 10 * GROUP_WORLD_SIZE))"
  hostname
processes_per_node: 2
metrics: {throughput: 'images/sec: ([0-9.]+)'}
"""


def scale(box, *words, hosts=None):
    return box.start("scale", "job.yaml", "--set", f"hosts=[{', '.join(hosts or box.cluster.names)}]", "--set", f"connect.ssh={box.cluster.ssh}",
                     *words)


@case
def one_two_and_three_nodes(box):
    box.make_cluster(3)
    box.write("job.yaml", JOB)
    run = scale(box, "--json").end(0)
    table = json.loads(run.out)
    expect_equal([(row["count"], row["nodes"], row["ranks"], row["throughput"]) for row in table["rows"]],
                 [(1, 1, 2, 200), (2, 2, 4, 360), (3, 3, 6, 480)], "rows")
    expect_equal([round(row["efficiency"], 3) for row in table["rows"]], [1, 0.9, 0.8], "efficiency")
    for row in table["rows"]:
        name = row["runs"][0]["run"]
        hosts = {box.read("runs", name, "attempt-0", f"rank-{rank}.out").split()[-1].decode() for rank in range(row["ranks"])}
        expect_equal(hosts, set(box.cluster.names[:row["count"]]), f"nodes of the run with {row['count']}")


@case
def a_size_with_a_node_that_is_not_there(box):
    box.make_cluster(2)
    box.write("job.yaml", JOB)
    box.launch("/bin/true", hosts=box.cluster.names).end(0)  # staging is not the subject
    run = scale(box, "--set", "timeouts.connect=6s", hosts=[*box.cluster.names, "nowhere"])
    run.end(patience=60)
    text = run.out.decode()
    rows = [line.split() for line in text.splitlines()[1:4]]
    expect_equal([row[:3] for row in rows], [["1", "2", "200"], ["2", "4", "360"], ["3", "-", "failed"]], f"rows of {text}")
    expect_in("3 nodes: ", text, "why")
    expect(run.code not in (0, None), f"exit code {run.code}")
