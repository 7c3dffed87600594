"""The report distinguishes a rank that the kernel kills for lack of memory from one that is killed in another way."""

import os
import signal

from case import case
from cases_containment import ISOLATED, Cgroup, events, need_namespaces, own_cgroup2
from expectations import Skip, expect, expect_equal, expect_in


def limited_cgroup(box):
    """A memory cgroup (v1 or v2) with a limit that dlaunch itself does not reach."""
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        paths = {line.split(":")[1]: line.rstrip("\n").split(":", 2)[2] for line in file}
    v1 = f"/sys/fs/cgroup/memory{paths.get('memory', '')}".rstrip("/")
    limit = str(box.memory(64))
    if os.path.exists(f"{v1}/memory.limit_in_bytes"):
        cgroup = Cgroup(v1)
        cgroup.write("memory.limit_in_bytes", limit)
        return cgroup
    parent = own_cgroup2()
    try:
        with open(f"{parent}/cgroup.subtree_control", encoding="ascii") as file:
            if "memory" not in file.read().split():
                raise Skip(f"the memory controller is not enabled below {parent}")
    except OSError as reason:
        raise Skip(f"no memory cgroup: {reason}") from reason
    cgroup = Cgroup(parent)
    cgroup.write("memory.max", limit)
    return cgroup


EAT = "import os\nheld = []\nwhile True: held.append(os.urandom(1) * (4 << 20))\n"


@case
def out_of_memory_is_told_from_the_kernels_records(box):
    eat = box.write("eat.py", EAT)
    cgroup = limited_cgroup(box)
    try:
        for name, more in (("plain", ()), ("isolated", ISOLATED)):
            if more:
                need_namespaces()
            script = f"[ $RANK = 0 ] && exec {box.rank} pause; exec /usr/bin/python3 {eat}"
            run = box.start("run", "-n", "2", "--set", f"logs.dir=runs-{name}", *more, "--", "sh", "-c", script, before=cgroup.enter)
            run.end(128 + signal.SIGKILL)
            expect_in("why     the kernel killed the rank: out of memory (", run.text, name)
            expect_in("64 MiB)", run.words, "the limit")
            summary = box.json("summary.json", f"runs-{name}")
            expect_equal((summary["cause"], summary["first"], summary["exit_code"], summary["origin"]),
                         ("out-of-memory", 1, 137, "rank"), "summary.json")
            expect_in(f"cgroup limit {box.memory(64) >> 20} MiB", summary["ranks"][1]["out_of_memory"], "the rank's entry")
            exited = [event for event in events(box, "rank-exited", f"runs-{name}") if event["rank"] == 1]
            expect_in("cgroup limit", exited[0]["out_of_memory"], "the event")
    finally:
        cgroup.remove()


@case
def a_command_of_our_shell_that_lacks_memory_is_told_too(box):
    eat = box.write("eat.py", EAT)
    cgroup = limited_cgroup(box)
    try:
        job = box.write("job.yaml", f"command: /usr/bin/python3 {eat}; exit $?\nprocesses: 1\n")
        run = box.start("run", job, before=cgroup.enter)
        run.end(128 + signal.SIGKILL)
        expect_in("out of memory (", run.text, "why")
    finally:
        cgroup.remove()


@case
def a_kill_by_somebody_else_is_not_called_lack_of_memory(box):
    cgroup = limited_cgroup(box)
    try:
        run = box.start("run", "--", box.rank, "die", "9", before=cgroup.enter)
        run.end(128 + signal.SIGKILL)
        expect_equal(box.json("summary.json")["cause"], "signal", "cause")
        expect("out of memory" not in run.text, run.text)
        expect_in("according to the kernel's records, by its OOM killer", run.words, "why: the cgroup's counter can be read")
    finally:
        cgroup.remove()
