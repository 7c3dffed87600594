"""dlaunch stacks with ranks in containers: it reads the container's files, and runs the node's programs."""

import os
import shutil
import signal
import subprocess

import root_filesystem
from case import case
from expectations import Skip, expect, expect_equal, expect_in
from run_helpers import as_nobody
from stack_looks import functions, main_thread

WATCH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "watch", "ranks")
PYTHON = "/usr/bin/python3"
NATIVE = "/opt/job/native"  # in the image only
WAITS = ["read", "hidden_wait", "exported_step", "main"]
ENVIRONMENT = ["--set", "framework=pytorch", "--set", "env_pass=[CASE, EVENTS]", "--set", "timeouts.stop=1s"]


def stand(box, container, what, ranks=1, options=()):
    """Starts ranks that execute ranks/stand.py of tests/watch, and returns when each has said that it is ready."""
    with open(os.path.join(WATCH, "stand.py"), encoding="utf-8") as file:
        box.write("stand.py", file.read())
    run = box.ranks_in(container, ranks, PYTHON, "stand.py", what, options=[*ENVIRONMENT, *options])
    box.expect_all("ready", ranks)
    return run


def end(box, run):
    run.signal(signal.SIGTERM)
    run.end(143)
    box.expect_no_container()


def native_image(box):
    """An image with a program without symbols and its debug file; the node has neither of these paths."""
    for tool in ("gcc", "objcopy"):
        if not shutil.which(tool):
            raise Skip(f"missing: {tool}")

    def make(path):
        program = path + NATIVE
        files = root_filesystem.libraries_of([box.dlaunch, "/bin/sh"])
        root_filesystem.make(path, files)
        subprocess.run(["gcc", "-O1", "-Wl,--build-id", "-o", program, os.path.join(WATCH, "native.c")], check=True)
        debug = f"{path}/usr/lib/debug/opt/job/native.debug"
        os.makedirs(os.path.dirname(debug))
        subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
        subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", program], check=True)
    return root_filesystem.once(box.shared, "image-native", make)


def python_frames(box, container, options=()):
    py_spy = box.py_spy()
    run = stand(box, container, "loader", ranks=2, options=options)
    said = box.until_stacks(lambda said: all(len(rank["processes"]) == 2 and functions(main_thread(rank, 1))[:1] == ["load"] and main_thread(rank, 1)["doing"] and
                                             functions(main_thread(rank))[-2:] == ["step", "<module>"] for rank in said["ranks"]), py_spy=py_spy)
    for rank in said["ranks"]:
        expect_equal(rank["remarks"], [], "remarks")
        expect_equal(main_thread(rank)["frames"][-1]["file"], box.path("stand.py"), "file")
        expect_equal(main_thread(rank, 1)["doing"], "sleeping", "the data loader")
        expect(rank["processes"][0]["command"].startswith(PYTHON + " stand.py"), f"command: {rank['processes'][0]['command']}")
    expect_equal(said["ranks"][0]["processes"][0]["pid"] in [int(pid) for pid in os.listdir("/proc") if pid.isdigit()], True, "the node's number")
    said = box.stacks_json("--native", py_spy=py_spy)
    frames = [frame for frame in main_thread(said["ranks"][0], 1)["frames"] if frame["kind"] != "kernel"]
    expect_in("clock_nanosleep", functions({"frames": frames}, "native"), "libc's function below it")
    end(box, run)


@case
def podman_python_and_its_data_loader(box):
    python_frames(box, box.podman("python"))


@case(long=True)
def docker_python_and_its_data_loader(box):
    python_frames(box, box.docker("python"))


@case
def charliecloud_python_and_its_data_loader(box):
    python_frames(box, box.charliecloud("python"))


@case
def podman_with_process_numbers_of_its_own(box):
    """With this option of the user's, processes have other numbers in the container than on the node."""
    python_frames(box, box.podman("python"), options=["--set", "container.options=[--pid=private]"])


def native_frames(box, container):
    run = box.ranks_in(container, 1, "sh", "-c", 'echo "ready $RANK" >"$EVENTS"; exec "$0" "$@"', NATIVE, "wait", "counter", options=ENVIRONMENT)
    box.expect_all("ready", 1)
    said = box.until_stacks(lambda said: functions(main_thread(said["ranks"][0]), "native") == WAITS)
    expect_equal([frame["file"] for frame in main_thread(said["ranks"][0])["frames"] if frame["function"] in WAITS[1:]], [NATIVE] * 3, "file")
    expect_equal(main_thread(said["ranks"][0])["doing"], "reading a pipe", "what it does")
    end(box, run)


@case
def podman_symbols_and_debug_files_are_the_images(box):
    native_frames(box, ["--set", "container.runtime=podman", "--set", f"container.image={box.import_image(native_image(box), 'localhost/native:1')}"])


@case
def charliecloud_symbols_and_debug_files_are_the_images(box):
    box.needs("ch-run", "charliecloud")
    native_frames(box, ["--set", "container.runtime=charliecloud", "--set", f"container.image={native_image(box)}"])


@case
def charliecloud_of_an_ordinary_user(box):
    """The rank is in a user namespace that belongs to the user, as the agent does."""
    py_spy = box.py_spy()
    options = as_nobody(box)
    os.chmod(box.folder, 0o755)
    container = box.charliecloud("python")
    shutil.copy(os.path.join(WATCH, "stand.py"), box.path("of-nobody"))
    run = box.ranks_in(container, 1, PYTHON, "stand.py", "sleep", options=ENVIRONMENT, **options)
    box.expect_all("ready", 1)
    said = box.until_stacks(lambda said: functions(main_thread(said["ranks"][0])) == ["innermost", "step", "<module>"], py_spy=py_spy, **options)
    expect_equal(said["ranks"][0]["remarks"], [], "remarks")
    said = box.stacks_json("--native", py_spy=py_spy, **options)
    expect_in("clock_nanosleep", functions(main_thread(said["ranks"][0]), "native"), "libc's function below it")
    run.signal(signal.SIGTERM)
    run.end(143)
