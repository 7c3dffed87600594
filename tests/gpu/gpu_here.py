"""Whether this machine has a GPU, NCCL and what else the cases need, and where; and the programs over NCCL, built without MPI."""

import glob
import os
import shutil
import site
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
DEVICE = "/dev/nvidiactl"
LIBRARY = "libnccl.so.2"
PROGRAMS = ("reference", "pairs_nccl")


def has_gpu():
    return os.path.exists(DEVICE)


def site_folders():
    """Of this interpreter and of a `python3` in PATH, whose PyTorch has an NCCL with it."""
    folders = [*site.getsitepackages(), site.getusersitepackages()]
    python = shutil.which("python3")
    if python and python != sys.executable:
        done = subprocess.run([python, "-c", "import site; print(*site.getsitepackages(), sep='\\n')"], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
        folders += done.stdout.split("\n")
    return [folder for folder in folders if folder]


def is_loadable():
    """By name alone, as dlaunch-collectives-nccl loads it."""
    load = f"import ctypes; ctypes.CDLL('{LIBRARY}')"
    return subprocess.run([sys.executable, "-c", load], stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0


def nccl_folder():
    """Of libnccl.so.2: "" where the loader finds it by itself, None where there is none."""
    if is_loadable():
        return ""
    places = ["/usr/local/cuda/lib64", "/usr/local/cuda/lib", *sorted(glob.glob("/usr/local/cuda-*/lib*"))]
    places += [os.path.join(folder, "nvidia/nccl/lib") for folder in site_folders()]
    return next((place for place in places if os.path.exists(os.path.join(place, LIBRARY))), None)


def environment():
    """The variables that make NCCL findable."""
    folder = nccl_folder()
    if not folder:
        return {}
    return {"LD_LIBRARY_PATH": os.pathsep.join(filter(None, [folder, os.environ.get("LD_LIBRARY_PATH", "")]))}


def gpu_count():
    """As CUDA counts: nvidia-smi ignores CUDA_VISIBLE_DEVICES."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return len([one for one in visible.split(",") if one.strip()])
    return len(glob.glob("/dev/nvidia[0-9]*"))


def header():
    places = ["/usr/include", "/usr/local/include", "/usr/local/cuda/include"]
    places += [os.path.join(folder, "nvidia/nccl/include") for folder in site_folders()]
    return next((place for place in places if os.path.exists(os.path.join(place, "nccl.h"))), None)


def why_not(programs=None):
    """Why nothing over NCCL can run here; an empty text when it can. `programs`: a folder that already has them."""
    if not has_gpu():
        return f"no GPU here ({DEVICE})"
    if nccl_folder() is None:
        return f"no {LIBRARY} here"
    if programs:
        return ""
    if header() is None:
        return "no nccl.h here, and no --programs built elsewhere"
    return "" if shutil.which("cmake") else "no cmake here, and no --programs built elsewhere"


def build_programs(folder):
    """Returns their folder."""
    build = os.path.join(folder, "programs")
    for command in (["cmake", "-S", os.path.join(HERE, "programs"), "-B", build, "-DCMAKE_BUILD_TYPE=Release",
                     f"-DNCCL_INCLUDE_DIR={header()}"],
                    ["cmake", "--build", build, "-j2"]):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=600)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return build
