"""`dlaunch check --local` on this machine, and on one whose files are in a folder."""

import json
import os

from case import case
from cases_info import NVIDIA_SMI, on_shape
from expectations import Skip, expect, expect_equal, expect_in

BAD = 75
LATE = "not measured: no time was left"


@case(budget=120)
def this_machine(box):
    run = box.start("check", "--local")
    run.end()
    text = run.out.decode()
    for label in ("machine", "gpus", "rdma", "network", ("cpu", "speed"), "verdict"):
        expect(any(line.startswith(label) for line in text.splitlines()), f"no line {label!r} in:\n{text}")
    expect_equal(run.code, 0 if "verdict   ok" in text else BAD, f"exit code of\n{text}")
    if LATE in " ".join(text.split()):
        raise Skip("this machine is too busy to be measured in time")
    expect_in("GFLOP/s float32 on", text, "the CPU")
    expect_in("GB/s", text, "the memory")


@case(budget=120)
def it_tells_tools(box):
    run = box.start("check", "--local", "--json")
    run.end()
    result = json.loads(run.out)
    expect_equal(result["verdict"], "ok" if run.code == 0 else "bad", "verdict")
    if result["cpu"] is None and (result["no_speed"] or "").startswith("no time was left"):
        raise Skip("this machine is too busy to be measured in time")
    expect_equal(result["cpu"]["threads"], len(os.sched_getaffinity(0)), "threads")
    for name in ("one_gflop_s", "all_gflop_s", "memory_gbyte_s"):
        expect(result["cpu"][name] > 0, f"{name}: {result['cpu']}")
    expect(result["cpu"]["is_right"], "a wrong product")
    expect_equal(result["machine"]["facts"]["cores"] == [], False, "cores")
    expect(result["gpus"] or result["no_gpu_speed"], "neither GPUs nor a reason")


@case(budget=120)
def gpus_that_are_expected(box):
    count = len(json.loads(box.run("info", "--json").out)["facts"]["gpus"])
    run = box.run("check", "--local", "--expect-gpus", str(count + 1), code=BAD)
    expect_in(f"{count} GPUs found, {count + 1} expected", " ".join(run.out.decode().split()), "the finding")
    box.run("check", "--local", "--expect-gpus", "x", code=64)
    box.run("check", "--local", "--hosts", "localhost", code=64)
    box.run("check", "--local", "--min-busbw", "1", code=64)
    run = box.run("check", "--no-fabric", "--expect-gpus", str(count + 1), code=BAD)
    expect_in(f"{count} GPUs, expected {count + 1}", " ".join(run.out.decode().split()), "the finding of the nodes' check")


@case(budget=120)
def faults_of_gpus(box):
    enter = on_shape(box, "four-rails")
    box.write("bin/nvidia-smi", NVIDIA_SMI, 0o755)
    path = {**box.environment, "PATH": box.path("bin") + ":" + box.environment["PATH"]}
    text = " ".join(box.run("check", "--local", prefix=enter, env=path, code=BAD).out.decode().split())
    # The fifth finding, that CUDA cannot use the GPUs, is there only if this dlaunch can ask CUDA, and in time.
    expect(("BAD, 4 findings" in text) != ("BAD, 5 findings" in text and "CUDA can use" in text), f"findings: {text}")
    for words in ("gpu 2: slowed down by heat (92 C)", "gpu 1: a memory repair waits for a reset of the GPU",
                  "gpu 3: pid 4711 (python) holds 61199 MiB", "gpu 2: only 1 of its NVLinks are active (down: 1), other GPUs have 2"):
        expect_in(words, text, "findings")
