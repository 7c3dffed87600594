"""dlaunch status: the use of GPUs, from a libnvidia-ml.so.1 made for this test, or from an nvidia-smi that is a script."""

import os
import shutil
import signal
import subprocess

from case import case
from cases_status import end, status, until
from expectations import Skip, expect, expect_equal, expect_in
from processes import children_of, command_of, wait_until
from watch_sandbox import HERE

# Two GPUs as the driver lists them.
TWO_GPUS = """
set -e
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/dev
mount -t tmpfs -o mode=755 tmpfs /run/dev
for file in null zero full random urandom tty; do touch /run/dev/$file; mount --bind /dev/$file /run/dev/$file; done
mkdir /run/dev/shm /run/dev/pts
mount --bind /dev/shm /run/dev/shm
mount --bind /dev/pts /run/dev/pts
ln -s /proc/self/fd /run/dev/fd
touch /run/dev/nvidia0 /run/dev/nvidia1
mount --rbind /run/dev /dev
mount -t tmpfs tmpfs /proc/driver
for minor in 0 1; do
  mkdir -p /proc/driver/nvidia/gpus/0000:18:0$minor.0
  printf 'Model: \t NVIDIA H100 80GB HBM3\\nDevice Minor: \t %s\\n' $minor >/proc/driver/nvidia/gpus/0000:18:0$minor.0/information
done
"""

# $CASE/smi: what it prints; without the file it has the columns of a driver before 535.
NVIDIA_SMI = """#!/bin/sh
echo "$*" >>"$CASE/asked"
if [ ! -e "$CASE/smi" ]; then
  case "$*" in *event_reasons*) echo 'Field "clocks_event_reasons.hw_thermal_slowdown" is not a valid field to query.'; exit 2 ;; esac
fi
echo "0, GPU-a, 41, 700, Not Active, Not Active, Not Active, Not Active, 50, 1980, 1980, 0"
echo "1, GPU-b, 42, 800, Not Active, Not Active, Active, Active, 50, 1000, 1980, [N/A]"
exec sleep 1000
"""

MEBI = 1 << 20


def furnish(box):
    subprocess.run(["sh", "-c", TWO_GPUS], check=True)
    box.write("bin/nvidia-smi", NVIDIA_SMI, 0o755)
    return {"PATH": f"{box.path('bin')}:{os.environ['PATH']}"}


def nvml(box, *options):
    """The environment in which dlaunch finds the library."""
    if not shutil.which("gcc"):
        raise Skip("missing: gcc")
    folder = box.make_folder("nvml")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", *options, "-o", f"{folder}/libnvidia-ml.so.1", os.path.join(HERE, "ranks", "nvml.c")], check=True)
    return {**furnish(box), "LD_LIBRARY_PATH": folder, "FAKE_NVML": folder}


def start(box, environment):
    """Each rank uses the GPU with the number of its local rank."""
    run = box.start("run", "-n", "2", "--set", "watch.interval=200ms", "--set", "timeouts.stop=1s", "--", box.rank, "tell", "ready", "pause", env=environment)
    box.expect_all("ready", 2)
    return run


def use(said):
    return [(rank["gpu_percent"], rank["gpu_memory"] // MEBI) for rank in said["ranks"]]


def until_use(box, wanted):
    return until(box, lambda said: use(said) == wanted)


def until_remark(box, words):
    """The agent looks at its node every 10 s."""
    return until(box, lambda said: any(words in one for one in said["nodes"][0]["remarks"]))


def smi_was_asked(box):
    return box.read("asked").decode().splitlines() if box.exists("asked") else []


@case
def nvml_tells_what_each_gpu_does(box):
    run = start(box, nvml(box))
    until_use(box, [(97, 31000), (12, 500)])
    expect_equal(smi_was_asked(box), [], "nvidia-smi is not needed")
    table = status(box).out.decode()
    expect_in("GPU %  GPU mem", table, "columns")
    expect("clocks are held down" not in table, f"a GPU that is idle is in order: {table}")
    agent = run.chain()[2]
    expect_in("dlaunch-nvml", [command_of(pid).split()[0] for pid in children_of(agent)], "the program")
    end(box, run)


@case
def heat_errors_and_a_lost_gpu_are_named(box):
    run = start(box, nvml(box))
    until_use(box, [(97, 31000), (12, 500)])
    box.write("nvml/hot", "")
    box.write("nvml/errors", "")
    said = until_remark(box, "GPU 1: 2 uncorrected memory errors since the ranks started")
    expect_in("GPU 0: its clocks are held down: heat (91 C, 945 of 1980 MHz)", said["nodes"][0]["remarks"], "remarks")
    expect_in("GPU 1: 999 PCIe errors since the ranks started", said["nodes"][0]["remarks"], "remarks")
    said = until_remark(box, "NVLink error")
    expect_equal([one for one in said["nodes"][0]["remarks"] if "NVLink" in one], ["GPU 1: 4 NVLink errors since the ranks started"], "links")
    box.write("nvml/lost", "")
    until_use(box, [(97, 31000), (None, 0)])
    until_remark(box, "GPU 1 is lost: the driver cannot reach it any more")
    end(box, run)


@case
def what_an_old_driver_lacks_is_unknown(box):
    run = start(box, nvml(box, "-DOLD"))
    until_use(box, [(97, 31100), (12, 600)])
    expect_equal(smi_was_asked(box), [], "nvidia-smi is not needed")
    end(box, run)


@case
def a_driver_that_hangs_does_not_stop_the_agent(box):
    run = start(box, nvml(box))
    until_use(box, [(97, 31000), (12, 500)])
    box.write("nvml/hang", "")
    until_use(box, [(None, 0), (None, 0)])
    expect_equal(smi_was_asked(box), [], "nvidia-smi would hang too")
    end(box, run)


@case
def without_nvml_nvidia_smi_is_asked(box):
    environment = furnish(box)
    box.write("smi", "")
    run = start(box, environment)
    until_use(box, [(41, 700), (42, 800)])
    until_remark(box, "GPU 1: its clocks are held down: the power supply (50 C, 1000 of 1980 MHz)")
    expect_equal(len(smi_was_asked(box)), 1, "one nvidia-smi")
    end(box, run)


@case
def a_library_that_does_not_match_the_driver_is_given_up(box):
    environment = nvml(box)
    box.write("nvml/refused", "")
    run = start(box, environment)
    until_use(box, [(41, 700), (42, 800)])
    expect_equal(["event_reasons" in line for line in smi_was_asked(box)], [True, False], "old names, where the driver refuses the new ones")
    end(box, run)


@case
def if_dlaunch_nvml_is_killed_nvidia_smi_takes_its_place(box):
    run = start(box, nvml(box))
    until_use(box, [(97, 31000), (12, 500)])
    agent = run.chain()[2]
    helper = next(pid for pid in children_of(agent) if command_of(pid).startswith("dlaunch-nvml"))
    os.kill(helper, signal.SIGKILL)
    until_use(box, [(41, 700), (42, 800)])
    end(box, run)


@case
def dlaunch_nvml_ends_with_its_agent(box):
    run = start(box, nvml(box))
    until_use(box, [(97, 31000), (12, 500)])
    agent = run.chain()[2]
    helper = next(pid for pid in children_of(agent) if command_of(pid).startswith("dlaunch-nvml"))
    os.kill(agent, signal.SIGKILL)
    wait_until(lambda: not os.path.exists(f"/proc/{helper}/cmdline") or not command_of(helper), "it has ended")
    run.end(None)
