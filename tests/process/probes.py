"""What a Python program can see of the way in which it was started. Prints one line of JSON: name -> value. `OTHER` has the names whose values always
differ between two processes; cases_preload.py compares these in another way."""

import sys

PRELOADED = "decimal" in sys.modules

import atexit
import gc
import json
import os
import random
import re
import resource
import signal
import subprocess
import threading
import warnings

OTHER = ("pid", "parent", "random", "preloaded")


def status(*names):
    with open("/proc/self/status", encoding="ascii") as file:
        lines = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    return {name: lines.get(name) for name in names}


def read(name):
    with open(f"/proc/self/{name}", encoding="utf-8") as file:
        return file.read().split("\0")[:-1]


def cgroups():
    """Less the names that differ between two runs: a process id, or the session's number."""
    with open("/proc/self/cgroup", encoding="ascii") as file:
        return [re.sub(r"dlaunch-[^/\n]*", "dlaunch-*", line.rstrip("\n")) for line in file]


def descriptors():
    found = {}
    for number in sorted(int(name) for name in os.listdir("/proc/self/fd")):
        try:
            target = os.readlink(f"/proc/self/fd/{number}")
            found[number] = [target.partition(":")[0], os.get_inheritable(number)]
        except OSError:
            pass
    return found


def probes():
    main = sys.modules["__main__"]
    yield "main.names", sorted(name for name in vars(main) if name.startswith("__"))
    yield "main.name", main.__name__
    yield "main.file", getattr(main, "__file__", None)
    yield "main.spec", repr(main.__spec__)[:40]
    yield "main.package", main.__package__
    yield "main.loader", type(main.__loader__).__name__
    yield "main is __main__", main.__dict__ is globals()
    yield "argv", sys.argv
    yield "orig_argv", getattr(sys, "orig_argv", None)
    yield "path", sys.path
    yield "path_importer_cache", sorted(entry for entry in sys.path_importer_cache if "/proc/" in entry)
    yield "flags", list(sys.flags)
    yield "xoptions", sys._xoptions
    yield "warnoptions", [sys.warnoptions, [item[0] for item in warnings.filters]]
    yield "executable", [sys.executable, sys.prefix, sys.exec_prefix, sys.base_prefix]
    yield "modules", sorted(name for name in sys.modules if "dlaunch" in name or "customize" in name)
    yield "environ", {name: value for name, value in os.environ.items() if name not in ("DLAUNCH_RUN_ID",)}
    yield "environ of a child", subprocess.run(["env"], capture_output=True, check=True, text=True).stdout.count("\n") - len(os.environ)
    yield "environb", len(os.environb)
    yield "as /proc shows them", [read("cmdline"), sorted(read("environ")) == sorted(f"{name}={value}" for name, value in os.environ.items())]
    yield "getenv", os.getenv("RANK")
    yield "descriptors", descriptors()
    yield "cwd", os.getcwd()
    yield "umask", status("Umask")
    yield "signals", status("SigBlk", "SigIgn", "SigCgt")
    yield "handlers", [str(signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGHUP, signal.SIGCHLD)]
    yield "credentials", status("Uid", "Gid", "Groups", "CapEff", "NoNewPrivs", "Seccomp")
    yield "limits", {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")}
    yield "affinity", sorted(os.sched_getaffinity(0))
    yield "memory", status("Mems_allowed_list")
    yield "nice", [os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0)]
    yield "cgroup", cgroups()
    yield "own group", os.getpgid(0) == os.getpid()
    yield "session", os.getsid(0) == os.getsid(os.getppid())
    yield "name", open("/proc/self/comm", encoding="ascii").read()
    yield "threads", [threading.active_count(), threading.current_thread() is threading.main_thread(), len(os.listdir("/proc/self/task"))]
    yield "streams", [[type(s).__name__, s.encoding, s.errors, s.isatty(), s.line_buffering, getattr(s, "write_through", None)]
                      for s in (sys.stdin, sys.stdout, sys.stderr)]
    yield "stdin", sys.stdin.read()
    yield "gc", [gc.isenabled(), gc.get_threshold(), gc.get_debug(), gc.get_freeze_count(), len(gc.get_objects()) > 5000]
    yield "recursion", [sys.getrecursionlimit(), len(__import__("inspect").stack())]
    yield "hooks", [sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__, sys.gettrace(), sys.getprofile()]
    yield "meta_path", [getattr(finder, "__name__", type(finder).__name__) for finder in sys.meta_path]
    yield "sitecustomize", try_import("sitecustomize")
    yield "usercustomize", try_import("usercustomize")
    yield "atexit", atexit._ncallbacks()
    yield "spawned child", child_of("spawn")
    yield "forkserver child", child_of("forkserver")
    yield "forked child", child_of("fork")
    yield "pid", os.getpid()
    yield "parent", os.getppid()
    yield "random", random.random()
    yield "preloaded", PRELOADED


def try_import(name):
    try:
        module = __import__(name)
    except ImportError as error:
        return str(error)
    return [getattr(module, "MARK", None), module.__file__]


def in_child(queue):
    import multiprocessing
    queue.put([multiprocessing.get_start_method(), sys.argv, os.environ.get("RANK"), [n for n in os.environ if "PRELOAD" in n], __name__])


def child_of(method):
    import multiprocessing
    context = multiprocessing.get_context(method)
    queue = context.SimpleQueue()
    process = context.Process(target=in_child, args=(queue,))
    process.start()
    value = queue.get()
    process.join()
    return [value, process.exitcode]


if __name__ == "__main__":
    print(json.dumps(dict(probes())))
