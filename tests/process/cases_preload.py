"""`preload`: a program cannot tell that its process was forked from a template. Where a fork is impossible, it runs as usual."""

import glob
import json
import os
import shutil
import signal
import socket
import subprocess

from case import case
from cases_info import on_shape
from expectations import Skip, expect, expect_equal, expect_in
from processes import children_of, wait_until
import probes

PYTHON = "/usr/bin/python3"
MODULES = "decimal,email.message"
COUNTED = """with open({path!r}, "a") as file:
    file.write("import\\n")
"""


def pythons():
    """(version, path) of the other Pythons of this machine, oldest first."""
    def version(path):
        words = subprocess.run([path, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, check=True, text=True).stdout
        return tuple(int(word) for word in words.split())
    found = glob.glob(os.path.expanduser("~root/.pyenv/versions/3.*/bin/python3"))
    return sorted((version(path), path) for path in found)


def seen(box, runs, ranks=2):
    return [json.loads(box.rank_output(rank, runs=runs)) for rank in range(ranks)]


def same(box, words, options=(), modules=MODULES, env=None, job=None):
    """Runs the probes with and without preload and compares their results; returns those with preload."""
    number = getattr(box, "preload_runs", 0)
    box.preload_runs = number + 1
    folders = [f"plain-{number}", f"preload-{number}"]
    for folder, more in zip(folders, ([], ["--preload", modules])):
        more = [*more, "--set", f"logs.dir={folder}", "--set", "rendezvous.port=29511", *options]
        words_of_run = ["run", *more, job] if job else ["run", "-n", "2", *more, "--", *words]
        run = box.start(*words_of_run, env=env).end(0)
        expect("preload:" not in run.text, f"ranks import for themselves: {run.text}")
    plain, ours = (seen(box, folder) for folder in folders)
    own = ("DLAUNCH_RUN_DIR", "DLAUNCH_HEARTBEAT_FILE", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_ERROR_FILE", "DLAUNCH_DEADLINE_FILE")
    for with_, without in zip(ours, plain):
        for values in (with_, without):
            for name in own:
                values["environ"].pop(name, None)
        for name, value in without.items():
            if name not in probes.OTHER:
                expect_equal(with_[name], value, f"{name}, {words}")
        expect_equal(sorted(with_), sorted(without), "probes")
    expect(len(ours[0]) >= 40, f"{len(ours[0])} probes")
    expect_equal([values["preloaded"] for values in [*plain, *ours]], [False] * 2 + [True] * 2, "imported before the program")
    expect(ours[0]["random"] != ours[1]["random"], "random numbers differ between ranks")
    expect_equal(len({ranks["parent"] for ranks in ours}), 1, "their parent is the agent")
    return ours


def program(box, name="probes.py"):
    folder = box.make_folder("code")
    shutil.copy(probes.__file__, os.path.join(folder, name))
    return os.path.join(folder, name)


@case
def a_program_sees_the_same(box):
    script = program(box)
    newest = [path for _, path in pythons()[-1:]]
    for python in [PYTHON, *newest]:
        same(box, [python, script, "--lr", "0.1 x"])


@case(long=True)
def a_program_of_every_python_sees_the_same(box):
    found = pythons()
    if not found:
        raise Skip("this machine has no other Python")
    for version, python in found:
        if version >= (3, 8):
            same(box, [python, program(box)])
            continue
        run = box.start("run", "-n", "1", "--preload", "decimal", "--set", f"logs.dir={version}", "--", python, "-c", "pass").end(0)
        expect_in("no rank started a Python interpreter (3.8 or newer)", run.words, f"with {version}")


@case
def every_way_to_start_it(box):
    script = program(box)
    folder = os.path.dirname(script)
    same(box, [PYTHON, "-u", "-X", "utf8", "-W", "ignore::UserWarning", "code/probes.py", "a"])
    same(box, [PYTHON, "-O", "-m", "probes", "b"], ["--set", f"env.PYTHONPATH={folder}"])
    same(box, [PYTHON, "-c", f"import sys; sys.path.insert(0, {folder!r}); from probes import *; print(json.dumps(dict(probes())))"])
    box.write("tool", f"#!{PYTHON}\n" + box.read(script).decode(), mode=0o755)
    same(box, ["./tool", "c"])
    box.write("job.yaml", "command: python3 code/probes.py $RANK '$RANK'\nprocesses: 2\n"
                          "setup: |\n  export FROM_SETUP=$RANK\n  ulimit -n 500\n  umask 027\n  cd code/..\n")
    same(box, ["the shell"], job="job.yaml")


@case
def its_surroundings(box):
    """The results are also the same with ignored signals, another search path, a sitecustomize, thread counts, and a rank that reads stdin."""
    script = program(box)
    box.write("own/sitecustomize.py", "MARK = 'site'\n")
    box.write("own/usercustomize.py", "MARK = 'user'\n")
    same(box, [PYTHON, script], ["--set", f"env.PYTHONPATH={box.path('own')}:"], env={"OMP_NUM_THREADS": "3"})
    same(box, [PYTHON, script], ["--set", "isolation=pid-namespace"])
    same(box, ["nohup", PYTHON, script])
    box.write("wrapper.sh", "#!/bin/sh\ntrap '' USR1\nexec nice -n 3 \"$@\"\n", mode=0o755)
    same(box, ["./wrapper.sh", PYTHON, script])


def counted(box):
    """A module that counts its imports, and the options with which programs find it."""
    box.write("modules/counted.py", COUNTED.format(path=box.path("imports")))
    return ["--preload", "counted", "--set", f"env.PYTHONPATH={box.path('modules')}"]


def imports(box):
    return box.read("imports").count(b"\n") if box.exists("imports") else 0


ENDS = {"return": ("pass", 0), "exit": ("sys.exit(41)", 41), "text": ("sys.exit('so it is')", 1), "raise": ("raise ValueError('no')", 1),
        "_exit": ("os._exit(7)", 7), "killed": ("signal.raise_signal(signal.SIGTERM)", 143)}
ABORT = """hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
resource.setrlimit(resource.RLIMIT_CORE, (1 << 20 if hard == resource.RLIM_INFINITY else min(hard, 1 << 20), hard))
os.abort()"""


def dumps_core(box, name, line, code):
    """Runs a program that ends with `line`, and expects the same end with and without preload. Whether it dumped core."""
    path = box.write(f"{name}.py", f"import atexit, os, resource, signal, sys\natexit.register(print, 'at exit')\nprint('buffered')\n{line}\n")
    texts = []
    for folder, more in ((f"plain-{name}", []), (f"preload-{name}", ["--preload", "decimal"])):
        box.start("run", "-n", "1", *more, "--set", f"logs.dir={folder}", "--", PYTHON, path).end(code)
        rank = box.json("summary.json", runs=folder)["ranks"][0]
        texts.append([rank["core_dumped"], *(box.rank_output(0, stream, runs=folder) for stream in ("out", "err"))])
    expect_equal(texts[1], texts[0], name)
    return texts[0][0]


@case
def ends(box):
    """Exit codes, tracebacks, the output of atexit and of buffers, and death by a signal are the same as without preload."""
    for name, (line, code) in ENDS.items():
        expect(not dumps_core(box, name, line, code), f"{name} dumps core")


@case
def an_end_with_a_core_dump(box):
    if not dumps_core(box, "abort", ABORT, 134):
        raise Skip("this machine writes no core dumps: ulimit -Hc, or /proc/sys/kernel/core_pattern")


ENVIRONMENT = """import json, os
with open(os.environ["CASE"] + "/at-import-" + str(os.getpid()), "w") as file:
    json.dump(dict(os.environ), file)
"""


@case
def an_import_finds_the_environment_of_a_rank(box):
    """Libraries read thread counts and the job's own variables when they are imported. The template has nothing of a single rank."""
    box.write("modules/reads.py", ENVIRONMENT)
    path = box.write("train.py", "import json, os, reads\nprint(json.dumps(dict(os.environ)))\n")
    box.start("run", "-n", "2", "--preload", "reads", "--set", f"env.PYTHONPATH={box.path('modules')}", "--set", "env_pass=[CASE]",
              "--set", "env.MKL_NUM_THREADS=3", "--", PYTHON, path).end(0)
    (name,) = glob.glob(box.path("at-import-*"))  # one import, in the template
    seen_by = json.loads(box.read(name))
    ranks = [json.loads(box.rank_output(rank)) for rank in range(2)]
    own = {variable for variable in ranks[0] if ranks[0][variable] != ranks[1].get(variable)}
    expect("RANK" in own, f"variables of one rank: {own}")
    expect_equal(own & set(seen_by), set(), "what a template must not have")
    expect_equal({name: ranks[0].get(name) for name in seen_by}, seen_by, "what it has")
    expect_equal([seen_by.get(name) for name in ("MKL_NUM_THREADS", "OMP_NUM_THREADS")], ["3", ranks[0]["OMP_NUM_THREADS"]], "thread counts")


@case
def each_rank_has_its_own_gpu(box):
    """CUDA_VISIBLE_DEVICES differs between ranks of one template, with the GPUs of tests/data/fabric."""
    enter = on_shape(box, "four-rails")
    path = box.write("train.py", "import decimal, os, sys\nprint('decimal' in sys.modules, os.environ['LOCAL_RANK'], os.environ['CUDA_VISIBLE_DEVICES'])\n")
    options = ["-n", "4", "--set", "binding.gpus=one-per-process"]
    texts = []
    for folder, more in (("plain", []), ("preload", ["--preload", "decimal"])):
        run = box.start("run", *options, *more, "--set", f"logs.dir={folder}", "--", PYTHON, path, prefix=enter).end(0)
        os.rmdir(box.path("four-rails/new-dev"))  # the next one makes it
        expect("preload:" not in run.text, run.text)
        texts.append([box.rank_output(rank, runs=folder) for rank in range(4)])
    expect_equal(texts[1], texts[0], "what the ranks see")
    expect_equal([text.split()[2] for text in texts[0]], [b"0", b"1", b"2", b"3"], "GPUs")


@case
def it_is_imported_once(box):
    """Restarts do not import it again."""
    options = counted(box)
    path = box.write("train.py", "import counted, os, sys\nsys.exit(os.environ['RANK'] == '1' and os.environ['TORCHELASTIC_RESTART_COUNT'] < '2')\n")
    box.start("run", "-n", "4", "--restarts", "2", *options, "--", PYTHON, path).end(0)
    expect_equal(imports(box), 1, "imports")


@case
def what_an_import_prints_is_every_ranks(box):
    box.write("modules/loud.py", "import sys\nprint('hello')\nprint('warning', file=sys.stderr)\n")
    box.start("run", "-n", "2", "--preload", "loud", "--set", f"env.PYTHONPATH={box.path('modules')}", "--", PYTHON, "-c", "import loud; print('x')").end(0)
    expect_equal([box.rank_output(rank) for rank in range(2)], [b"hello\nx\n"] * 2, "stdout")
    expect_equal([box.rank_output(rank, "err") for rank in range(2)], [b"warning\n"] * 2, "stderr")


UNFIT = {
    "a thread": ("import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n", "an import leaves 1 thread running"),
    "a socket": ("import socket\nkept = socket.socket()\n", "an import leaves an open socket"),
    "a device": ("kept = open('/dev/full')\n", "an import opened /dev/full"),
    "a variable": ("import os\nos.environ['NEW'] = '1'\n", "an import sets NEW"),
    "nothing": ("raise RuntimeError('not here')\n", "cannot import unfit: RuntimeError: not here"),
    "its end": ("import os\nos.kill(os.getpid(), 9) if os.environ.get('RANK') is None else None\n", "the template ended during its imports"),
}


@case
def a_template_that_is_not_used(box):
    """It has something that it cannot share with the ranks. A note says so once, and the ranks run as usual."""
    for name, (text, why) in UNFIT.items():
        box.write("modules/unfit.py", text)
        folder = name.replace(" ", "-")
        run = box.start("run", "-n", "2", "--preload", "unfit", "--set", f"env.PYTHONPATH={box.path('modules')}", "--set", f"logs.dir={folder}",
                        "--", PYTHON, "-c", "print('ran')").end(0)
        expect_in(f"note: preload: the ranks import for themselves: {why}", run.words, name)
        expect_equal(run.text.count("preload:"), 1, f"notes about {name}")
        expect_equal([box.rank_output(rank, runs=folder) for rank in range(2)], [b"ran\n"] * 2, f"output with {name}")


@case
def programs_that_have_none(box):
    run = box.start("run", "-n", "2", "--preload", "decimal", "--set", "logs.dir=a", "--", "true").end(0)
    expect_in("note: preload: no rank started a Python interpreter", run.words, "another program")
    box.write("b.py", "print('b')\n")
    run = box.start("run", "-n", "2", "--preload", "decimal", "--set", "logs.dir=b", "--", PYTHON, "-I", "b.py").end(0)
    expect_in("note: preload: no rank started a Python interpreter (3.8 or newer) that reads PYTHONPATH", run.words, "python -I")
    run = box.start("run", "-n", "2", "--preload", "decimal", "--set", "logs.dir=c", "--", "sh", "-c", "python3 b.py; echo after").end(0)
    expect_in("write exec before the name of the interpreter", run.words, "a shell that stays")
    expect_equal(box.rank_output(0, runs="c"), b"b\nafter\n", "output")
    run = box.start("run", "-n", "2", "--preload", "decimal", "--set", "logs.dir=d", "--", "sh", "-c", "exec python3 b.py").end(0)
    expect("preload" not in run.text, run.text)
    box.write("start.sh", "exec python3 b.py\n")
    run = box.start("run", "-n", "2", "--preload", "decimal", "--set", "logs.dir=e", "--", "sh", "start.sh").end(0)
    expect_in("note: preload: the ranks import for themselves, because the command does not name b.py", run.words, "a script that names it")
    run = box.start("run", "--preload", "decimal,2x", "--", "true").end(65)
    expect_in('preload[1]: "2x" is not the name of a Python module', run.words, "a wrong name")


@case
def other_programs_of_the_command(box):
    """An interpreter that `setup` starts imports nothing."""
    options = counted(box)
    box.write("job.yaml", "command: python3 main.py\nsetup: python3 -c 'print(1)'\nprocesses: 2\n")
    box.write("main.py", "print('main')\n")
    box.start("run", *options, "job.yaml").end(0)
    expect_equal((imports(box), box.rank_output(0)), (1, b"1\nmain\n"), "imports and output")


@case
def two_roles(box):
    options = counted(box)
    for name in ("a", "b"):
        box.write(f"{name}.py", f"print('{name}')\n")
    box.write("job.yaml", "framework: tensorflow\nroles:\n  chief: {count: 1, command: [python3, a.py]}\n"
                          "  worker: {count: 2, command: [python3, b.py]}\n")
    box.start("run", *options, "job.yaml").end(0)
    expect_equal((imports(box), [box.rank_output(rank) for rank in range(3)]), (2, [b"a\n", b"b\n", b"b\n"]), "imports and output")


def forked(run):
    """The children of the agent."""
    return children_of(run.chain()[2])


HANGS = "import os, time\nopen(os.environ['CASE'] + '/importing', 'w').close()\nif os.environ.get('RANK') is None: time.sleep(600)\n"


@case
def stopped_while_it_imports(box):
    for number, name in ((signal.SIGINT, "int"), (signal.SIGTERM, "term")):
        box.write("modules/hangs.py", HANGS)
        run = box.start("run", "-n", "2", "--preload", "hangs", "--set", f"env.PYTHONPATH={box.path('modules')}", "--set", "env_pass=[CASE]",
                        "--set", f"logs.dir={name}", "--", PYTHON, "-c", "pass")
        wait_until(lambda: box.exists("importing"), "the import")
        run.signal(number)
        run.end(128 + number)
        os.unlink(box.path("importing"))


WAITS = "import os, time\nopen(os.environ['CASE'] + '/importing', 'w').close()\nwhile not os.path.exists(os.environ['CASE'] + '/go'): time.sleep(0.01)\n"


@case
def strangers_at_its_socket(box):
    """Garbage, silence and impossible numbers change nothing for the ranks."""
    box.write("modules/waits.py", WAITS)
    run = box.start("run", "-n", "2", "--preload", "waits", "--set", f"env.PYTHONPATH={box.path('modules')}", "--set", "env_pass=[CASE]",
                    "--", PYTHON, "-c", "print('ran')")
    wait_until(lambda: box.exists("importing"), "the import")
    pid = next(pid for pid in forked(run) if os.readlink(f"/proc/{pid}/fd/1").startswith("pipe:"))
    with open(f"/proc/{pid}/environ", encoding="utf-8") as file:
        name = next(line for line in file.read().split("\0") if line.startswith("DLAUNCH_PRELOAD=")).partition("=")[2].partition(":")[0]
    strangers = []
    for text in [b"", b"rank", b"rank 0", b"rank 1", b"rank 4294967296", b"rank -1", b"template 1", b"template 0", b"set 1 1", b"ready",
                 b"unfit x", b"\xff" * 4097, b"x"] * 10:
        stranger = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stranger.connect("\0" + name)
        if text:
            stranger.send(text)
        strangers.append(stranger)
    box.write("go", "")
    run.end(0)
    expect("preload" not in run.text, run.text)
    expect_equal([box.rank_output(rank) for rank in range(2)], [b"ran\n"] * 2, "output")


@case
def a_template_that_is_killed(box):
    """The ranks continue, and the next attempt makes another template."""
    options = counted(box)
    path = box.write("train.py", "import os, sys, time\nopen(f\"{os.environ['CASE']}/r{os.environ['RANK']}-{os.environ['TORCHELASTIC_RESTART_COUNT']}\", 'w').close()\n"
                                 "while not os.path.exists(os.environ['CASE'] + '/go' + os.environ['TORCHELASTIC_RESTART_COUNT']): time.sleep(0.01)\n"
                                 "sys.exit(os.environ['TORCHELASTIC_RESTART_COUNT'] == '0')\n")
    run = box.start("run", "-n", "2", "--restarts", "1", *options, "--set", "env_pass=[CASE]", "--", PYTHON, path)
    wait_until(lambda: box.exists("r0-0") and box.exists("r1-0"), "the ranks")
    wait_until(lambda: len(forked(run)) == 3, "two ranks and the template")
    template = next(pid for pid in forked(run) if os.path.realpath(f"/proc/{pid}/fd/0") == "/dev/null" and
                    os.readlink(f"/proc/{pid}/fd/1").startswith("/memfd:"))
    os.kill(template, signal.SIGKILL)
    box.write("go0", "")
    wait_until(lambda: box.exists("r0-1") and box.exists("r1-1"), "the next attempt")
    box.write("go1", "")
    run.end(0)
    expect_equal(imports(box), 2, "imports")


@case
def an_agent_that_is_killed(box):
    """Neither its ranks nor its template outlive it."""
    options = counted(box)
    path = box.write("train.py", "import os, time\nopen(os.environ['CASE'] + '/r' + os.environ['RANK'], 'w').close()\ntime.sleep(600)\n")
    run = box.start("run", "-n", "2", *options, "--set", "env_pass=[CASE]", "--", PYTHON, path)
    wait_until(lambda: box.exists("r0") and box.exists("r1"), "the ranks")
    os.kill(run.chain()[2], signal.SIGKILL)
    run.end()
    expect(run.code != 0, "exit code")


FAILS = """import errno, os
first, real = os.getpid(), os.fork
def fork():
    if (os.getpid() == first) == (os.environ["FAILS"] == "first"):
        raise OSError(errno.EAGAIN, "fork")
    return real()
os.fork = fork
"""


def at_start(box, text):
    """The options with which each interpreter executes `text` before dlaunch's hook, from a .pth file (module site)."""
    box.write("early.py", text)
    name = "python%d.%d" % tuple(json.loads(subprocess.check_output([PYTHON, "-c", "import sys; print(list(sys.version_info[:2]))"])))
    box.write(f"base/lib/{name}/site-packages/early.pth", f"import os; exec(open({box.path('early.py')!r}).read(), {{}})\n")
    return ["--set", f"env.PYTHONUSERBASE={box.path('base')}"]


@case
def a_fork_that_fails(box):
    """Each rank runs once and does not wait for a template that is never made."""
    options = at_start(box, FAILS)
    for which in ("first", "second"):
        run = box.start("run", "-n", "3", "--preload", "decimal", *options, "--set", f"env.FAILS={which}", "--set", f"logs.dir={which}",
                        "--", PYTHON, "-c", "print('ran')").end(0)
        expect("preload" not in run.text, run.text)
        expect_equal([box.rank_output(rank, runs=which) for rank in range(3)], [b"ran\n"] * 3, f"output, {which} fork")


@case
def a_template_that_cannot_start(box):
    """For example, because Python has no ctypes."""
    box.write("modules/ctypes.py", "raise ImportError('no ctypes')\n")
    run = box.start("run", "-n", "2", "--preload", "decimal", "--set", f"env.PYTHONPATH={box.path('modules')}", "--", PYTHON, "-c", "print('ran')").end(0)
    expect_in("note: preload: the ranks import for themselves: the template cannot start: ImportError: no ctypes", run.words, "why")
    expect_equal([box.rank_output(rank) for rank in range(2)], [b"ran\n"] * 2, "output")


@case
def a_locale_that_python_sets(box):
    """PEP 538: in the C locale, the interpreter sets LC_CTYPE in its own environment."""
    same(box, [PYTHON, program(box)], ["--set", "env.LC_ALL=", "--set", "env.LANG="])
