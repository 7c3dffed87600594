"""Cores: each rank has its own, runs do not share them, and they are free again after a run. These cases run alone, because they use all cores."""

import os
import subprocess
import sys

from case import case
from cases_containment import NOBODY, as_nobody
from expectations import Skip, expect, expect_equal, expect_in
from processes import wait_until

CROWDED_OUT = "ranks are not bound: "
ALLOWED = os.sched_getaffinity(0)
SHOW = "cat /proc/self/status | sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' >$CASE/cpus.$RANK"


def physical_cores():
    """The allowed hardware threads, as one set for each core."""
    cores = set()
    for cpu in ALLOWED:
        try:
            with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", encoding="utf-8") as file:
                cores.add(frozenset(parse(file.read()) & ALLOWED))
        except OSError:
            cores.add(frozenset([cpu]))
    return cores


def parse(text):
    cpus = set()
    for part in text.strip().split(","):
        low, _, high = part.partition("-")
        cpus |= set(range(int(low), int(high or low) + 1))
    return cpus


def need_cores(count):
    if len(physical_cores()) < count:
        raise Skip(f"this machine has {len(physical_cores())} cores, {count} are needed")


def cpus_of(box, rank, name="cpus"):
    return parse(box.read(f"{name}.{rank}").decode())


def held_run(box, name, *options, before=None):
    """Starts a run whose ranks write their CPUs to NAME.RANK and then wait for the gate."""
    show = SHOW.replace("/cpus.", f"/{name}.")
    return box.start("run", "--set", f"logs.dir=runs-{name}", *options, "--", "sh", "-c",
                     f"{show}; exec {box.rank} tell {name} gate", before=before)


@case(alone=True)
def several_agents_on_this_machine_share_its_cores_out(box):
    need_cores(2)
    run = box.run("run", "--hosts", "a,b", "--set", "connect.via=local", "--", "sh", "-c", SHOW)
    expect(not cpus_of(box, 0) & cpus_of(box, 1), "both have the same cores")
    expect("not bound" not in run.text and "took the planned cores" not in run.text, f"a note\n{run.text}")


@case(alone=True)
def ranks_have_cores_of_their_own(box):
    need_cores(2)
    box.run("run", "-n", "2", "--", "sh", "-c", SHOW)
    first, second = cpus_of(box, 0), cpus_of(box, 1)
    expect(first and second and not first & second, f"ranks share CPUs: {first} {second}")
    for core in physical_cores():
        expect(not (core & first and core & second), f"ranks share the core {sorted(core)}")


@case(alone=True)
def more_ranks_than_cores_are_not_pinned(box):
    count = len(physical_cores()) + 1
    box.run("run", "-n", str(count), "--", "sh", "-c", SHOW)
    for rank in range(count):
        expect_equal(cpus_of(box, rank), ALLOWED, f"CPUs of rank {rank}")


@case(alone=True)
def binding_none(box):
    box.run("run", "--set", "binding.cpus=none", "--", "sh", "-c", SHOW)
    expect_equal(cpus_of(box, 0), ALLOWED, "CPUs")


@case(alone=True)
def the_callers_affinity_is_not_left(box):
    need_cores(2)
    one = {min(ALLOWED)}
    box.run("run", "-n", "2", "--", "sh", "-c", SHOW, before=lambda: os.sched_setaffinity(0, one))
    for rank in (0, 1):
        expect_equal(cpus_of(box, rank), one, f"CPUs of rank {rank}")


@case(alone=True)
def two_runs_at_once_do_not_share_cores(box):
    need_cores(2)
    core = min(physical_cores(), key=min)
    first = held_run(box, "first", before=lambda: os.sched_setaffinity(0, core))
    box.expect_all("first", 1)
    expect_equal(cpus_of(box, 0, "first"), set(core), "CPUs of the first run")
    second = held_run(box, "second")
    box.expect_all("second", 1)
    mine = cpus_of(box, 0, "second")
    expect(mine and not mine & core, f"the second run is on {mine}, the first one holds {set(core)}")
    box.open_gate()
    first.end(0)
    second.end(0)


@case(alone=True)
def a_run_without_free_cores_is_not_pinned(box):
    count = len(physical_cores())
    first = held_run(box, "first", "-n", str(count))
    box.expect_all("first", count)
    second = held_run(box, "second", "-n", str(count))
    box.expect_all("second", count)
    for rank in range(count):
        expect_equal(cpus_of(box, rank, "second"), ALLOWED, f"CPUs of rank {rank} of the second run")
    box.open_gate()
    first.end(0)
    expect_in(CROWDED_OUT, second.end(0).text, "what the second run says")


@case(alone=True)
def runs_of_two_users_do_not_share_cores(box):
    other = as_nobody(box)
    if not other:
        raise Skip("needs root, to become another user")
    count = len(physical_cores())
    enough = os.path.join(other["cwd"], "enough")
    first = box.start("run", "-n", str(count), "--", "sh", "-c", f"echo ready >ready.$RANK; until [ -e {enough} ]; do sleep 0.02; done", **other)
    wait_until(lambda: all(os.path.exists(os.path.join(other["cwd"], f"ready.{rank}")) for rank in range(count)), "the other user's ranks are there", 15, 0.02)
    second = box.run("run", "-n", "1", "--", "sh", "-c", SHOW)
    expect_equal(cpus_of(box, 0), ALLOWED, "CPUs of the rank")
    expect_in(CROWDED_OUT, second.text, "what the run says")
    with open(enough, "w", encoding="utf-8"):
        pass
    first.end(0)


LOCK_ALL = '''
import fcntl, os, struct, sys
for name in sorted(os.listdir("/dev/shm")) + ["dlaunch-cores", "dlaunch-cores-0", "dlaunch-cores-1234"]:
    for how in (os.O_RDWR | os.O_CREAT, os.O_RDONLY):
        try:
            file = os.open("/dev/shm/" + name, how, 0o666)
            fcntl.fcntl(file, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK if how != os.O_RDONLY else fcntl.F_RDLCK, 0, 0, 0, 0))
        except OSError:
            pass
print("locked", flush=True)
sys.stdin.read()
'''


@case(alone=True)
def another_user_cannot_keep_a_run_from_being_pinned(box):
    need_cores(2)
    other = as_nobody(box)
    if not other:
        raise Skip("needs root, to become another user")
    box.run("run", "--", "true")
    with subprocess.Popen([*other["prefix"], sys.executable, "-c", LOCK_ALL], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as attacker:
        expect_equal(attacker.stdout.readline(), b"locked\n", "the other user")
        run = box.start("run", "-n", "2", "--set", "logs.dir=runs-second", "--", "sh", "-c", SHOW).end(0, left=1000)
        attacker.stdin.close()
    expect(not cpus_of(box, 0) & cpus_of(box, 1), f"the ranks are not pinned\n{run.report()}")
    expect("not bound" not in run.text, run.text)
    for name in ("dlaunch-cores", "dlaunch-cores-1234"):
        if os.path.exists(f"/dev/shm/{name}") and os.stat(f"/dev/shm/{name}").st_uid == NOBODY:
            os.unlink(f"/dev/shm/{name}")


@case(alone=True)
def cores_are_free_again_after_a_killed_run(box):
    need_cores(2)
    first = box.start("run", "-n", "2", "--set", "logs.dir=runs-first", "--", box.rank, "tell", "ready", "pause")
    box.expect_all("ready", 2)
    chain = first.chain()
    os.kill(chain[2], 9)
    first.end()
    box.run("run", "-n", "2", "--set", "logs.dir=runs-second", "--", "sh", "-c", SHOW)
    expect(not cpus_of(box, 0) & cpus_of(box, 1), "the cores of a killed run are still taken")
