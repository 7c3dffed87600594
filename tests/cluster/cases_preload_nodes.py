"""`preload` on nodes: one import a node, also for the restarts and for the runs on kept nodes (docs/how-to/restart-without-importing.md)."""

import os

from case import case
from cases_kept import kept
from expectations import expect_equal, expect_in

PYTHON = "/usr/bin/python3"
MODULE = """import os, socket
with open({count!r}, "a") as file:
    file.write("import\\n")
"""


class Program:
    """A script whose module counts on each node how often it was imported: in /run, which each node has of its own."""

    COUNT = "/run/imports"

    def __init__(self, box, script):
        self.box = box
        box.write("modules/counted.py", MODULE.format(count=self.COUNT))
        self.words = [PYTHON, box.write("program.py", "import counted, os, sys\nprint('begun', flush=True)\n" + script)]
        self.options = ["--preload", "counted", "--set", f"env.PYTHONPATH={box.path('modules')}"]

    def launch(self, *options, **more):
        return self.box.launch(*self.words, options=[*self.options, *options], **more)

    def imports(self):
        return [len(node.sh(f"cat {self.COUNT} 2>/dev/null || true").split()) for node in self.box.cluster.nodes]


@case
def a_restart_does_not_import_again(box):
    box.make_cluster(2)
    program = Program(box, "sys.exit(3 if os.environ['RANK'] == '3' and os.environ['TORCHELASTIC_RESTART_COUNT'] < '2' else 0)\n")
    run = program.launch("--restarts", "2", ranks=4).end(0)
    expect_in("after 2 restarts", run.text, "what it says")
    expect_equal(program.imports(), [1, 1], "imports on each node")
    expect_equal([box.read(os.path.join(box.run_folder(), "attempt-2", f"rank-{rank}.out")) for rank in range(8)], [b"begun\n"] * 8, "output")
    box.expect_nodes_empty("no template is left")


@case
def a_run_on_kept_nodes_uses_the_template_of_the_run_before(box):
    """Until one of the files that it has read is changed."""
    with kept(box, 2):
        program = Program(box, "")
        for number in range(3):
            program.launch("--set", f"logs.dir=runs{number}", ranks=2).end(0, left=1000)
        expect_equal(program.imports(), [1, 1], "imports on each node")
        path = box.path("modules/counted.py")
        os.utime(path, (1, 1))
        program.launch("--set", "logs.dir=changed", ranks=2).end(0, left=1000)
        expect_equal(program.imports(), [2, 2], "imports after a change")
        box.launch(*program.words, ranks=2, options=["--set", "logs.dir=plain", *program.options[2:]]).end(0, left=1000)
        expect_equal(program.imports(), [4, 4], "imports without preload")
    box.expect_nodes_empty("no template is left")
