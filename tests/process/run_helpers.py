"""What the cases of dlaunch runs, logs and stop share."""

import json
import os
import signal
import time

from expectations import Skip, expect
from processes import PATIENCE, wait_gone

TERM = str(int(signal.SIGTERM))
NOBODY = 65534
USAGE, NODE_LOST, INTERNAL, NO_PERMISSION = 64, 69, 70, 77


def look(box, *words, code=0, **options):
    """Runs a command while another run goes on."""
    return box.start(*words, **options).end(code, left=1000)


def wait_for_screen(run, text):
    deadline = time.monotonic() + PATIENCE
    while text.encode() not in run.screen:
        left = deadline - time.monotonic()
        expect(left > 0 and run.read_screen(left), f"no {text!r} on the screen: {run.screen!r}")


def start(box, *words, options=(), ranks=2):
    run = box.start("run", "-n", str(ranks), *options, "--", box.rank, *words)
    box.expect_all("ready", ranks)
    return run


def listed(box, *words):
    return json.loads(look(box, "runs", "--json", *words).out)


def only_id(box):
    return os.path.basename(box.run_folder())


def killed(box, run):
    wait_gone([run.pid], "the front")
    box.reap()
    run.code = -signal.SIGKILL


def as_nobody(box):
    """Options of Sandbox.start for an unprivileged user, to whom no cgroup is delegated."""
    if os.getuid() != 0:
        return {}
    with open("/proc/self/uid_map", encoding="utf-8") as file:
        if int(file.read().split()[2]) < 65535:
            raise Skip("there is no other user in this user namespace")
    folder = box.make_folder("of-nobody")
    os.chown(folder, NOBODY, NOBODY)
    os.chown(box.path("home"), NOBODY, NOBODY)
    return {"cwd": folder, "prefix": ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]}
