"""Stacks under kernel.yama.ptrace_scope=1, in User Mode Linux: this kernel may have no Yama. Native frames have no case: User Mode Linux has no PTRACE_GETREGSET."""

import json
import os
import shutil
import subprocess

from case import case
from expectations import Skip, expect, expect_equal, expect_in
from watch_sandbox import HERE, PYTHON

LINUX = shutil.which("linux.uml", path=os.path.expanduser("~/.cache/dlaunch-test/uml/usr/bin") + ":/usr/bin")
INIT = """#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/run/user EVENTS=/dev/null CASE=/run/user
mount -t proc proc /proc; mount -t tmpfs tmpfs /run
echo 1 >/proc/sys/kernel/yama/ptrace_scope
mkdir /run/user; chown 1000:1000 /run/user; cd /run/user
export PATH={py_spy}:$PATH
setpriv --reuid=1000 --regid=1000 --clear-groups {python} {here}/ranks/yama_user.py {dlaunch} {py_spy}/py-spy
cat /proc/sys/kernel/yama/ptrace_scope >{said}/scope; cp said.json {said}/
echo o >/proc/sysrq-trigger; sleep 60
"""


@case(budget=120)
def an_ordinary_user_sees_ranks_and_what_they_have_started(box):
    if not LINUX:
        raise Skip("missing: linux.uml, package user-mode-linux (docs/internals/testing.md)")
    if box.sanitized:
        raise Skip("User Mode Linux has no room for the memory of a sanitizer")
    py_spy = box.py_spy()
    os.chmod(box.folder, 0o755)
    said = box.make_folder("said")
    init = box.write("init", INIT.format(py_spy=py_spy, python=PYTHON, here=HERE, dlaunch=box.dlaunch, said=said), mode=0o755)
    subprocess.run([LINUX, "mem=512M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "rw", f"init={init}", "con=null", "quiet"],
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, timeout=110,
                   env={"PATH": os.environ["PATH"], "TMPDIR": box.make_folder("memory"), "HOME": box.folder})
    expect_equal(box.read("said", "scope"), b"1\n", "kernel.yama.ptrace_scope")
    told = json.loads(box.read("said", "said.json"))
    text = json.dumps(told, indent=1)
    expect_in("Permission Denied", told["by hand"], "without dlaunch the rank cannot be read")
    expect_equal(told["rank"]["frames"][0], ["innermost", "step", "<module>"], text)
    expect_equal(told["loader"]["frames"][1][:1], ["load"], text)
    expect_equal(told["behind a shell"]["frames"], [[], ["innermost", "step", "<module>"]], text)
    expect_equal(told["in a namespace"]["frames"][1][:1], ["load"], text)
    below = told.pop("below a listener")
    expect_equal([frames[-1:] for frames in below["frames"]], [["<module>"], []], text)
    expect_in("permits only the agent to do so", " ".join(below["remarks"]), text)
    expect("py-spy" not in " ".join(remark for run in told.values() if run is not told["by hand"] for remark in run["remarks"]), text)
