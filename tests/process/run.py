#!/usr/bin/python3
"""Runs the process tests: real dlaunch, real ranks, each case in a PID namespace of its own.

  tests/process/run.py [--only PART,...] [--jobs N] [--dlaunch FILE]     (or $DLAUNCH_BIN)
"""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from runner import CaseSuite, main  # noqa: E402

NAMESPACE = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
# Core locks are in /dev/shm. Each case has its own, so other runs on the machine do not disturb it.
OWN_SHM = ["sh", "-c", 'mount -t tmpfs tmpfs /dev/shm && chmod 1777 /dev/shm && exec "$@"', "sh"]


def namespace_command():
    """The command that gives a case its namespace; an empty list where the kernel allows none."""
    for extra in ([], ["--user", "--map-root-user"]):
        command = NAMESPACE[:1] + extra + NAMESPACE[1:] + OWN_SHM
        try:
            if subprocess.run(command + ["true"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              check=False).returncode == 0:
                return command
        except OSError:
            pass
    return []


if __name__ == "__main__":
    sys.exit(main(CaseSuite("process", HERE, namespace=namespace_command()), __doc__))
