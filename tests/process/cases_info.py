"""`dlaunch info` of machines whose files are in a folder (tests/data/fabric), and of this machine."""

import glob
import json
import os
import subprocess
import sys

from case import case
from expectations import Skip, expect, expect_equal, expect_in

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "data", "fabric"))
import shapes  # noqa: E402

# A mount namespace with character devices in /dev/infiniband, as the kernel creates them, for rdma-core.
DEVICE_FILES = """
set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/infiniband"
for i in 0 1 2 3 4 5 6 7 8 9 10 11; do mknod "$1/infiniband/uverbs$i" c 231 $((192 + i)); done
for file in null zero urandom; do touch "$1/$file"; mount --bind "/dev/$file" "$1/$file"; done
mount --bind "$1" /dev
shift
exec "$@"
"""

# Prints the name and GUID of each device, according to libibverbs.
ASK_LIBIBVERBS = """
import ctypes
verbs = ctypes.CDLL("libibverbs.so.1")
verbs.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
verbs.ibv_get_device_name.restype = ctypes.c_char_p
verbs.ibv_get_device_name.argtypes = [ctypes.c_void_p]
verbs.ibv_get_device_guid.restype = ctypes.c_uint64
verbs.ibv_get_device_guid.argtypes = [ctypes.c_void_p]
count = ctypes.c_int()
devices = verbs.ibv_get_device_list(ctypes.byref(count))
for i in range(count.value):
    guid = verbs.ibv_get_device_guid(devices[i]).to_bytes(8, "little").hex()
    print(verbs.ibv_get_device_name(devices[i]).decode(), ":".join(guid[j:j + 4] for j in range(0, 16, 4)))
"""


# A mount namespace with /sys, /proc/driver and device files of a shape.
ON_A_SHAPE = """
set -e
shape=$1; shift
mkdir "$shape/new-dev"
mount -t tmpfs tmpfs "$shape/new-dev"
for file in null zero full random urandom tty; do touch "$shape/new-dev/$file"; mount --bind "/dev/$file" "$shape/new-dev/$file"; done
mkdir "$shape/new-dev/shm"
mount --bind /dev/shm "$shape/new-dev/shm"
cp -r "$shape/dev/." "$shape/new-dev/"
mount --bind "$shape/new-dev" /dev
mount --bind "$shape/proc/driver" /proc/driver
mount --bind "$shape/sys" /sys
exec "$@"
"""

# A fake nvidia-smi with the columns that dlaunch requests, as `nvidia-smi --help-query-gpu` documents them.
NVIDIA_SMI = r"""#!/bin/sh
echo "$1" >>"$CASE/asked"
case "$1" in
  *clocks_event_reasons*) echo 'Field "clocks_event_reasons.hw_slowdown" is not a valid field to query.' >&2; exit 2;;
  --query-gpu=*)
    echo "index, uuid, temperature.gpu, clocks_throttle_reasons.hw_thermal_slowdown"
    for i in 0 1 2 3; do
      echo "$i, GPU-0f2a7c1e-5b3d-4e6f-8a90-00000000000$i, 9$i, $([ $i = 2 ] && echo Active || echo Not Active)"
    done;;
  --query-remapped-rows=*)
    echo "gpu_uuid, remapped_rows.uncorrectable, remapped_rows.pending, remapped_rows.failure"
    echo "GPU-0f2a7c1e-5b3d-4e6f-8a90-000000000001, 1, Yes, No";;
  nvlink)
    for i in 0 1 2 3; do
      echo "GPU $i: NVIDIA H100 (UUID: GPU-0f2a7c1e-5b3d-4e6f-8a90-00000000000$i)"
      printf '\t Link 0: 26.562 GB/s\n\t Link 1: %s\n' "$([ $i = 2 ] && echo '<inactive>' || echo '26.562 GB/s')"
    done;;
  --query-compute-apps=*)
    echo "gpu_uuid, pid, process_name, used_gpu_memory [MiB]"
    echo "GPU-0f2a7c1e-5b3d-4e6f-8a90-000000000003, 4711, python, 61199";;
esac
"""


def on_shape(box, name):
    """The command that runs dlaunch on the shape."""
    root = made(box, name)
    os.makedirs(os.path.join(root, "proc/driver"), exist_ok=True)
    enter = ["unshare", "--mount", "sh", "-c", ON_A_SHAPE, "sh", root]
    probe = subprocess.run([*enter, "true"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if probe.returncode != 0:
        raise Skip(f"/sys cannot be replaced here (needs root): {probe.stdout.decode().strip()[-100:]}")
    os.rmdir(os.path.join(root, "new-dev"))
    return enter


def made(box, name):
    shapes.make(box.folder, [name])
    return box.path(name)


def info_json(box, *arguments):
    return json.loads(box.run("info", "--json", *arguments).out)


@case(budget=120)
def info_tells_of_this_machine(box):
    text = box.run("info").out.decode()
    for label in ("machine", "gpus", "rdma", "network"):
        expect(any(line.startswith(label) for line in text.splitlines()), f"no line {label!r} in:\n{text}")
    facts = info_json(box)["facts"]
    with open("/proc/sys/kernel/osrelease", encoding="ascii") as file:
        expect_equal(facts["kernel"], file.read().strip(), "kernel")
    cpus = sorted(cpu for core in facts["cores"] for cpu in core["threads"])
    expect_equal(cpus, sorted(os.sched_getaffinity(0)), "CPUs")
    expect_equal(facts["fabric"]["rdma"] == [], facts["fabric"]["no_rdma"] is not None, "a reason where there is none")


@case(budget=180)
def info_tells_of_every_shape(box):
    said = {"dgx-h100": "mlx5_0:1, same switch", "azure-nd-a100-v4": "mlx5_an0 is Ethernet", "azure-nc24rs-v3": "mlx4_0:1",
            "azure-without-infiniband": "mlx5_0:1  RoCE v2 at 3", "topology-service": "mlx5_an0 is Ethernet", "omni-path": "hfi1_0:1",
            "roce-without-ipv4": "mlx5_2/1 (ens3np0) is ACTIVE beside a GPU",
            "roce-v2": "NCCL_IB_GID_INDEX=3", "roce-v2-uneven": "5 of mlx5_7", "four-rails": "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1",
            "port-down": "DOWN (Polling)", "half-rate": "100 Gb/s (2X HDR)", "mixed-cx6-cx7": "NCCL_IB_HCA==mlx5_1:1,mlx5_10:1",
            "driver-without-device": "the InfiniBand driver is loaded, but has no device", "no-rdma": "rdma      none: ",
            "container": "gpus      none: the driver lists 1 GPU", "container-without-files": "cannot open some of these devices"}
    expect_equal(sorted(said), sorted(shapes.SHAPES), "shapes")
    for name, words in said.items():
        text = box.run("info", "--root", made(box, name)).out.decode()
        expect_in(words, " ".join(text.split()) if "  " not in words else text, name)
        if name in ("azure-without-infiniband", "omni-path"):
            expect("a job" not in text, f"something is set on {name}:\n{text}")


@case
def info_of_a_folder_that_is_not_there(box):
    for root in ("nowhere", "file"):
        box.write("file", "x")
        run = box.run("info", "--root", root, code=64)
        expect_in(f'--root: no such folder: {root}', run.text, "the error")
    os.mkdir(box.path("empty"))
    expect_in("/sys is not mounted here", box.run("info", "--root", "empty").out.decode(), "of an empty folder")


@case
def info_knows_names_of_azure_sizes(box):
    expect_in("without SR-IOV", box.run("info", "--azure-size", "Standard_NC24r").out.decode(), "NC24r")
    size = info_json(box, "--azure-size", "nd96asr_v4")
    expect_equal((size["name"], size["has_rdma"], size["has_sriov"]), ("Standard_ND96asr_v4", True, True), "ND96asr_v4")
    expect_in("no RDMA", box.run("info", "--azure-size", "Standard_NC24s_v3").out.decode(), "NC24s_v3")
    expect_in("is not the name of an Azure VM size", box.run("info", "--azure-size", "gpu", code=64).text, "the error")
    box.run("info", "--azure-size", "NC24r", "--root", ".", code=64)


@case(budget=180)
def libibverbs_sees_the_same_devices_in_these_folders(box):
    """The folders follow the kernel's sources; libibverbs, which other programs use, must read them too (SYSFS_PATH)."""
    if not (glob.glob("/usr/lib/*/libibverbs/libmlx5-*.so") or glob.glob("/usr/lib64/libibverbs/libmlx5-*.so")):
        raise Skip("libibverbs has no drivers here: ibverbs-providers")
    dev = box.make_folder("dev")
    enter = ["unshare", "--mount", "sh", "-c", DEVICE_FILES, "sh", dev]
    if subprocess.run([*enter, "true"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode != 0:
        raise Skip("device files cannot be made here (needs root)")
    for name in ("dgx-h100", "azure-nd-a100-v4", "azure-nc24rs-v3", "roce-v2", "mixed-cx6-cx7"):
        root = made(box, name)
        seen = subprocess.run([*enter, "/usr/bin/python3", "-c", ASK_LIBIBVERBS], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              env={**os.environ, "SYSFS_PATH": os.path.join(root, "sys")})
        if b"libibverbs.so.1: cannot open" in seen.stderr:
            raise Skip("libibverbs is not here: libibverbs1, ibverbs-providers")
        expect(seen.returncode == 0, seen.stderr.decode())
        ours = {(device["name"], device["guid"]) for device in info_json(box, "--root", root)["facts"]["fabric"]["rdma"]}
        theirs = {tuple(line.split()) for line in seen.stdout.decode().splitlines()}
        expect_equal(sorted(ours), sorted(theirs), f"devices of {name}")


@case(budget=120)
def facts_of_agents_reach_the_plan(box):
    """Two agents on a machine with four rails: their facts are sent over the wire and determine the settings."""
    enter = on_shape(box, "half-rate")
    box.write("job.yaml", "command: [python3, train.py]\nhosts: [a, b]\nconnect: {via: local}\nprocesses_per_node: 1\n")
    plan = json.loads(box.run("plan", "--json", "job.yaml", prefix=enter).out)
    for node in plan["nodes"]:
        expect_equal(len(node["facts"]["gpus"]), 4, "GPUs")
        rates = [device["ports"][0]["rate_mbit"] for device in node["facts"]["fabric"]["rdma"]]
        expect_equal(rates, [200000, 100000, 200000, 200000], "rates")
        expect_equal(node["variables"]["NCCL_IB_HCA"], "=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1", "NCCL_IB_HCA")
    os.rmdir(box.path("half-rate", "new-dev"))
    text = box.run("plan", "job.yaml", prefix=enter).out.decode()
    expect_in("from fabric    NCCL_IB_HCA==mlx5_0:1", text, "the plan")
    expect_in("mlx5_1/1 runs at 100 Gb/s, others at 200 Gb/s", " ".join(text.split()), "the plan")
    os.rmdir(box.path("half-rate", "new-dev"))
    shown = box.run("plan", "--env", "1", "job.yaml", prefix=enter).out.decode()
    expect_in("NCCL_IB_HCA==mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1", shown.replace("'", ""), "variables of a rank")


@case(budget=120)
def info_asks_nvidia_smi(box):
    enter = on_shape(box, "four-rails")
    box.write("bin/nvidia-smi", NVIDIA_SMI, 0o755)
    path = {**box.environment, "PATH": box.path("bin") + ":" + box.environment["PATH"]}
    text = box.run("info", prefix=enter, env=path).out.decode()
    for words in ("gpu 2: slowed down by heat (92 C)", "gpu 1: a memory repair waits for a reset", "gpu 3: pid 4711 (python) holds 61199 MiB"):
        expect_in(words, text, "health")
    expect_equal(text.count("see below"), 3, "GPUs that are not well")
    expect_equal(len(box.read("asked").split()), 5, "questions: new names, old names, rows, processes, NVLinks")
    expect_in("gpu 2: only 1 of its NVLinks are active (down: 1), other GPUs have 2", text, "a link that is down")
    for words in ("2 x 26.6 GB/s", "1 of 2 active"):
        expect_in(words, text, "NVLinks in the table")
    os.rmdir(box.path("four-rails", "new-dev"))
    health = json.loads(box.run("info", "--json", prefix=enter, env=path).out)["gpu_health"]
    expect_equal(health[2]["nvlinks"], {"supported": True, "links": [{"number": 0, "active": True, "mbyte_s": 26562},
                                                                     {"number": 1, "active": False, "mbyte_s": None}]}, "NVLinks")
    # First with an nvidia-smi that fails, then without one.
    for script, words in (("#!/bin/sh\necho 'NVIDIA-SMI has failed'\nexit 9\n", "nvidia-smi printed: NVIDIA-SMI has failed"),
                          (None, "health is not known: ")):
        os.remove(box.path("bin/nvidia-smi"))
        if script:
            box.write("bin/nvidia-smi", script, 0o755)
        os.rmdir(box.path("four-rails", "new-dev"))
        said = box.run("info", prefix=enter, env=path).out.decode()
        expect_in(words, said, "why health is not known")
