"""yama_user.py DLAUNCH PY_SPY: an ordinary user on a machine with kernel.yama.ptrace_scope=1. Prints as JSON what `dlaunch stacks` says."""

import ctypes
import json
import os
import platform
import signal
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
DLAUNCH, PY_SPY = sys.argv[1:]


def stacks():
    done = subprocess.run([DLAUNCH, "stacks", "--json"], capture_output=True, text=True, check=False, timeout=60)
    return json.loads(done.stdout)["ranks"][0] if done.returncode == 0 else {"processes": [], "remarks": [done.stderr]}


def functions(process):
    return [frame["function"] for frame in process["threads"][0]["frames"] if frame["kind"] == "python"]


def look(what, holds, *options, by_hand=None, shell=False):
    """The answer for which `holds`, or the last one. `by_hand` gets what a py-spy says that is no descendant of the agent."""
    program = [sys.executable, f"{HERE}/stand.py", what]
    if shell:
        program = ["sh", "-c", " ".join(program) + "; true"]
    run = subprocess.Popen([DLAUNCH, "run", "--set", "timeouts.stop=1s", *options, "--", *program],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(40):
        said = stacks()
        if holds(said):
            break
        time.sleep(0.25)
    if by_hand is not None:
        by_hand.append(subprocess.run([PY_SPY, "dump", "--nonblocking", "--pid", str(said["processes"][0]["pid"])],
                                      capture_output=True, text=True, check=False).stderr)
    run.send_signal(signal.SIGTERM)
    run.wait()
    return {"frames": [functions(process) for process in said["processes"]], "remarks": said["remarks"]}


def has_child(said):
    """It is there, and its frames are, or why they are missing."""
    return len(said["processes"]) == 2 and (functions(said["processes"][1])[:1] in (["load"], ["innermost"]) or
                                            any("cannot read" in one for one in said["remarks"]))


def listen():
    """A seccomp filter with a listener, like a container runtime's; the kernel permits no second one below it."""
    code = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))  # SECCOMP_RET_ALLOW
    program = struct.pack("HxxxxxxP", 1, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    listener = libc.syscall({"x86_64": 317, "aarch64": 277}[platform.machine()], 1, 8, program)  # SECCOMP_FILTER_FLAG_NEW_LISTENER
    assert listener >= 0, os.strerror(ctypes.get_errno())


REFUSED = []
SAID = {"rank": look("sleep", lambda said: said["processes"] and functions(said["processes"][0])[:1] == ["innermost"], by_hand=REFUSED),
        "loader": look("loader", has_child), "behind a shell": look("sleep", has_child, shell=True),
        "in a namespace": look("loader", has_child, "--set", "isolation=pid-namespace"), "by hand": REFUSED[0]}
listen()
SAID["below a listener"] = look("loader", has_child)
with open("said.json", "w", encoding="utf-8") as FILE:
    json.dump(SAID, FILE)
