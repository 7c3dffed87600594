"""The cases of tests/gpu. With one GPU NCCL has one rank: each call is a copy within the GPU, which tests everything except a link."""

import functools
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time

from expectations import Skip, expect, expect_equal, expect_in
from page import page

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.join(os.path.dirname(HERE), "bench", "collectives")
OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "send_recv", "barrier")
TYPES = ("int8", "uint8", "int32", "uint32", "int64", "uint64", "float16", "bfloat16", "float32", "float64")
REDUCTIONS = ("sum", "prod", "min", "max", "avg")
LEAST = 10_000  # comparisons of one rank against the reference
CASES = []


def case(function, needs_gpu=True):
    function.needs_gpu = needs_gpu
    CASES.append(function)
    return function


def case_without_gpu(function):
    return case(function, needs_gpu=False)


def need_nccl(box):
    """As dlaunch reports it."""
    said = box.run("collectives", "--probe").stdout
    line = next((line for line in said.splitlines() if line.startswith("nccl: ")), said)
    if "built without NCCL" in line:
        raise Skip(line)
    expect_in("nccl: ready, NCCL 2.", line, "the back-end")


def bench(box, *words, code=0):
    need_nccl(box)
    return box.run("bench", *words, code=code)


@case
def the_gpu_is_listed(box):
    found = json.loads(box.run("info", "--json").stdout)
    expect(len(found["facts"]["gpus"]) >= 1, f"a GPU: {found['facts']['fabric']['no_gpus']}")
    expect_equal([gpu["model"] for gpu in found["facts"]["gpus"] if "NVIDIA" not in gpu["model"]], [], "models of another maker")
    if shutil.which("nvidia-smi"):
        expect(found["gpu_health"], f"nvidia-smi was understood: {found['no_gpu_health']}")
    nccl = box.run("collectives", "--probe").stdout
    box.figures["machine"] = {"date": time.strftime("%Y-%m-%d"), "gpus": box.gpus, "model": found["facts"]["gpus"][0]["model"],
                              "driver": found["facts"]["fabric"]["gpu_driver"], "dlaunch": box.run("--version").stdout.split()[-1],
                              "nccl": (re.search(r"NCCL [\d.]+", nccl) or ["no NCCL"])[0], "torch": torch_version()}


@case
def a_process_for_each_gpu(box):
    done = box.run("run", "-q", "--set", "processes_per_node=gpu", "--", "sh", "-c", "echo rank $RANK of $WORLD_SIZE")
    ranks = re.findall(r"rank (\d+) of (\d+)", done.stdout)
    expect_equal(sorted(ranks), [(str(rank), str(box.gpus)) for rank in range(box.gpus)], "ranks")


@case
def each_rank_sees_only_its_own_gpu(box):
    done = box.run("run", "-q", "--set", "processes_per_node=gpu", "--set", "binding.gpus=one-per-process", "--", "sh", "-c",
                   "echo sees $CUDA_VISIBLE_DEVICES")
    seen = re.findall(r"sees (\S+)", done.stdout)
    expect_equal((len(seen), len(set(seen)), "," in "".join(seen)), (box.gpus, box.gpus, False), f"a GPU for each rank: {seen}")


@case
def nccl_is_ready(box):
    need_nccl(box)


@case
def nccl_against_the_reference(box):
    program = box.program("reference")
    done = box.run("run", "-n", str(box.gpus), "--set", "framework=mpi", "--", program, "nccl", "120000")
    told = re.search(r"compared (\d+) on rank 0, nccl: 2\.", done.stdout)
    expect(told and int(told[1]) > LEAST, f"{LEAST} comparisons: {done.stdout}")


@case
def ranks_of_the_library_do_not_share_a_gpu(box):
    done = box.run("run", "-n", str(box.gpus + 1), "--set", "framework=mpi", "--", box.program("reference"), "nccl", "120000", code=3)
    expect_in("would share a GPU, but NCCL takes only one rank per GPU", " ".join((done.stdout + done.stderr).split()), "why")


@case
def bench_measures_every_operation(box):
    figures = box.figures["bench"] = {}
    for operation in OPERATIONS:
        sizes = () if operation == "barrier" else ("-b", "64", "-e", "64M", "-f", "1024")
        result = json.loads(bench(box, operation, "--backend", "nccl", *sizes, "-N", "5", "-w", "1", "--json").stdout)
        expect_equal((result["operation"], result["ranks"]), (operation, box.gpus), "header")
        expect_in("nccl: 2.", result["backend"], "back-end")
        expect(result["rows"], f"rows of {operation}")
        figures[operation] = result["rows"]
        for row in result["rows"]:
            for place in filter(None, (row["out_of_place"], row["in_place"])):
                expect(place["time_us"] > 0, f"a time of {operation}: {place}")
                expect_equal(place["wrong"], None if operation == "barrier" else 0, f"wrong elements of {operation}")


@case
def bench_computes_every_type_right(box):
    for number, kind in enumerate(TYPES):
        op = REDUCTIONS[number % len(REDUCTIONS)]
        done = bench(box, "all_reduce", "--backend", "nccl", "-b", "8K", "-e", "8K", "-N", "1", "-w", "0", "--type", kind, "--op", op, "--json")
        row = json.loads(done.stdout)["rows"][0]
        expect_equal([row[place]["wrong"] for place in ("out_of_place", "in_place")], [0, 0], f"wrong elements of {kind} {op}")


@case
def bench_takes_nccl_by_itself(box):
    done = bench(box, "all_reduce", "-b", "1M", "-e", "1M", "-N", "2")
    expect_in("all_reduce over nccl: 2.", done.stdout, "the back-end")
    expect_in("NVIDIA", done.stdout, "the GPU")


@case
def ranks_do_not_share_a_gpu(box):
    done = bench(box, "all_reduce", "--backend", "nccl", "-n", str(box.gpus + 1), code=75)
    expect_in("NCCL takes only one rank per GPU", " ".join(done.stderr.split()), "why")


@case
def pairs_of_gpus(box):
    if box.gpus < 2:
        raise Skip("one GPU here: pairs need two")
    result = json.loads(bench(box, "--pairs", "--backend", "nccl", "-b", "64M", "-N", "3", "--json").stdout)
    expect_equal(len(result["pairs"]), box.gpus * (box.gpus - 1) // 2, "every pair once")


def local_check(box, *options):
    """Whatever its verdict: the GPU may be busy, hot or throttled, which is not dlaunch's fault."""
    done = box.run("check", "--local", *options, code=None)
    expect(done.returncode in (0, 75), f"exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


@case
def check_local_measures_the_gpu(box):
    result = json.loads(local_check(box, "--json"))
    print(f"check --local took {result['seconds']} s (goal: 10), {result['verdict']}: {result['findings']}")
    box.figures["check"] = {"seconds": result["seconds"], "gpus": result["gpus"] or []}
    if "built with" in (result["no_gpu_speed"] or "") or "without" in (result["no_gpu_speed"] or ""):
        raise Skip(result["no_gpu_speed"])
    expect_equal((result["no_speed"], result["no_gpu_speed"]), (None, None), "why there are no figures")
    expect_equal(len(result["gpus"]), box.gpus, "GPUs")
    for gpu in result["gpus"]:
        expect_equal((gpu["is_right"], gpu["problem"]), (True, ""), "what went wrong")
        for name in ("to_device_gbyte_s", "to_host_gbyte_s", "within_gbyte_s", "float32_tflop_s", "float16_tflop_s"):
            expect(gpu[name] > 0, f"{name}: {gpu}")


@case
def check_local_calls_nccl_with_one_rank_a_copy(box):
    need_nccl(box)
    result = json.loads(local_check(box, "--json"))
    one = result["nccl_one_rank"]
    expect(one is not None, f"NCCL was tried: {result['parts']}, {result['no_gpu_speed']}")
    expect_equal((one["problem"], one["wrong"], one["is_a_copy"]), ("", 0, True), "NCCL with one rank")
    expect(one["gbyte_s"] > 0 and "nccl: 2." in one["library"], f"figures: {one}")
    expect_in("which is a copy within the GPU, no link: ", " ".join(local_check(box).split()), "the line")


@case
def the_library_beside_plain_nccl(box):
    folder = os.path.dirname(box.program("pairs_nccl"))
    done = box.command([sys.executable, BENCH, "--backend", "nccl", "--quick", "--programs", folder, "--dlaunch", box.dlaunch])
    box.figures["plain"] = done.stdout
    expect(re.search(r"\d+ of \d+ points meet the goal", done.stdout), f"a summary: {done.stdout}")


def torch_version():
    try:
        done = subprocess.run([python_with_cuda(), "-c", "import torch; print(torch.__version__)"], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False, timeout=200)
        return done.stdout.strip() or "unknown"
    except Skip:
        return "none"


@functools.lru_cache(maxsize=None)
def python_with_cuda():
    """The first python3 whose PyTorch sees a GPU."""
    look = "import torch, sys; sys.exit(not (torch.cuda.is_available() and torch.distributed.is_nccl_available()))"
    for python in (os.environ.get("PYTHON"), shutil.which("python3"), os.path.expanduser("~/.cache/dlaunch-test/torch-venv/bin/python"),
                   sys.executable):
        if python and os.access(python, os.X_OK) and subprocess.run([python, "-c", look], stdin=subprocess.DEVNULL, capture_output=True,
                                                                    check=False, timeout=200).returncode == 0:
            return python
    raise Skip("no python3 here whose PyTorch sees a GPU")


def train(box, *options, words=(), **more):
    return box.run("run", *options, "--", python_with_cuda(), os.path.join(HERE, "train.py"), *words, **more)


@case
def a_training_over_nccl(box):
    """With the variables of the profile `pytorch`, which train.py reads its world from."""
    done = train(box, "--set", "processes_per_node=gpu", "--set", "framework=pytorch")
    expect_in(f"{box.gpus} ranks over nccl, the loss fell", done.stdout, "rank 0")
    expect(re.search(rf"{box.gpus} ranks? ok", done.stderr), f"the summary: {done.stderr}")


@case
def a_smoke_test_of_a_training(box):
    """As in a CI with one GPU."""
    done = train(box, "--smoke")
    expect(re.search(r"\d+ ranks over nccl, the loss fell", done.stdout), f"rank 0: {done.stdout}")


@case
def a_template_with_torch_trains_on_the_gpu(box):
    """The template has no GPU of its own: each fork initialises CUDA for itself."""
    done = train(box, "--set", "processes_per_node=gpu", "--preload", "torch")
    expect_in(f"{box.gpus} ranks over nccl, the loss fell", done.stdout, "rank 0")
    expect("preload" not in done.stderr, f"no remark that the template is not used: {done.stderr}")


@case
def status_shows_what_a_gpu_does(box):
    """Its use and its memory, of the one rank that computes."""
    work = "import torch\na = torch.ones(4096, 4096, device='cuda')\nwhile True: b = a @ a; torch.cuda.synchronize()"
    run = box.start("run", "-n", "1", "--", python_with_cuda(), "-c", work)
    try:
        deadline = time.monotonic() + 90
        while True:
            done = box.run("status", "--json", code=None)
            rank = (json.loads(done.stdout)["ranks"] or [{}])[0] if done.returncode == 0 else {}
            if rank.get("gpu_percent") and rank.get("gpu_memory"):
                break
            expect(time.monotonic() < deadline and run.poll() is None, f"GPU columns: {done.stdout[-2000:]}{done.stderr[-500:]}")
            time.sleep(0.5)
    finally:
        run.terminate()
        run.wait(60)


def names_of_processes():
    names = []
    for path in glob.glob("/proc/[0-9]*/comm"):
        try:
            with open(path, encoding="utf-8") as file:
                names.append(file.read().strip())
        except OSError:  # it has ended
            pass
    return names


@case
def nvml_tells_what_nvidia_smi_tells(box):
    """Memory in use by others may change between the two questions, so the figures must agree once."""
    if not shutil.which("nvidia-smi"):
        raise Skip("no nvidia-smi here")

    def smi(columns):
        done = box.command(["nvidia-smi", f"--query-gpu={columns}", "--format=csv,noheader,nounits"])
        return [line.split(", ") for line in done.stdout.splitlines()]
    part = {part["name"]: part for part in json.loads(box.run("self-check", "--json").stdout)["parts"]}["nvml"]
    expect_in(f"driver {smi('driver_version')[0][0]}: ", part["says"], "the library")
    for uuid, *_ in smi("uuid"):
        run = box.start("run", "-n", "1", "--env", f"CUDA_VISIBLE_DEVICES={uuid}", "--", "sleep", "1000")
        try:
            deadline = time.monotonic() + 60
            while True:
                time.sleep(0.5)
                done = box.run("status", "--json", code=None)
                rank = (json.loads(done.stdout)["ranks"] or [{}])[0] if done.returncode == 0 else {}
                used, percent = next(found[1:] for found in smi("uuid,memory.used,utilization.gpu") if found[0] == uuid)
                ours = (rank.get("gpu_memory", -1) >> 20, rank.get("gpu_percent"))
                if ours[0] == int(used) and (ours[1] is not None) == percent.isdigit():
                    break
                expect(time.monotonic() < deadline and run.poll() is None, f"{uuid}: nvidia-smi says {used} MiB, {percent} %, and NVML {ours}: {done.stderr[-500:]}")
            expect_in("dlaunch-nvml", names_of_processes(), "the figures come from dlaunch-nvml")
        finally:
            run.terminate()
            run.wait(60)


@case
def out_of_memory_is_named_as_the_cause(box):
    work = "import torch\nall = []\nwhile True: all.append(torch.empty(2**32, dtype=torch.uint8, device='cuda'))"
    done = box.run("run", "-n", "1", "--", python_with_cuda(), "-c", work, code=1)
    expect_in("the memory of the GPU is full", " ".join(done.stderr.split()), "why")


@case
def a_hang_in_nccl_names_the_rank_that_is_missing(box):
    """On one GPU, too: rank 0 waits for rank 1 in the creation of the communicator."""
    done = train(box, "-n", "2", "--set", "watch.after=5s", "--set", "timeouts.hang=20s", words=("--rank-that-sleeps", "1"), code=124)
    told = " ".join(done.stderr.split())
    expect_in("rank 1 on ", told, "the missing rank")
    expect_in("(train.py:", told, "its line")


@case
def stacks_of_a_hang_in_nccl(box):
    run = box.start("run", "-n", "2", "--", python_with_cuda(), os.path.join(HERE, "train.py"), "--rank-that-sleeps", "1")
    try:
        deadline = time.monotonic() + 60
        while True:
            time.sleep(1)
            done = box.run("stacks", "--native", code=None)
            if "nccl" in done.stdout and "all_reduce" in done.stdout:
                break
            expect(time.monotonic() < deadline and run.poll() is None, f"rank 0 in NCCL: {done.stdout[-3000:]}{done.stderr[-500:]}")
    finally:
        run.terminate()
        run.wait(60)


@case_without_gpu
def the_page_shows_all_figures(_):
    place = {"time_us": 12.34, "busbw": 5.67, "wrong": 0}
    figures = {"seconds": 123.4, "machine": {"date": "2026-01-02", "gpus": 1, "model": "NVIDIA X", "driver": "1.2", "dlaunch": "0.1.0", "nccl": "NCCL 2.1", "torch": "2.0"},
               "cases": [{"name": "a_case", "outcome": "passed", "detail": "", "seconds": 1.23}, {"name": "b", "outcome": "skipped", "detail": "one GPU", "seconds": 0}],
               "check": {"seconds": 2.5, "gpus": [{"to_device_gbyte_s": 55.1, "to_host_gbyte_s": 54.3, "within_gbyte_s": 2620.0,
                                                   "float32_tflop_s": 30.2, "float16_tflop_s": 251.0}]},
               "bench": {"all_reduce": [{"bytes": 64, "out_of_place": place, "in_place": None}]}, "plain": "3 of 4 points meet the goal\n"}
    text = page(figures)
    for part in ("in 123 s", "1 x NVIDIA X, driver 1.2, NCCL 2.1", "| a case | passed  | 1.2     |", "- b: one GPU", "2620.0",
                 "| all_reduce | 64", "12.3", "5.7", "3 of 4 points"):
        expect_in(part, text, "the page")
