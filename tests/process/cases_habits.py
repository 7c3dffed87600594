"""Options of torchrun, mpirun, srun, deepspeed and accelerate, typed to dlaunch run."""

import os
import re
import shlex

from case import case
from expectations import expect, expect_equal, expect_in
from run_helpers import USAGE

TABLE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
                     "src", "jobfile", "launch_lines", "launcher_options.cc")

# Values with which the options work on one machine; all other options get "1".
VALUES = {"host": "localhost", "hosts": "localhost", "H": "localhost", "w": "localhost", "nodelist": "localhost", "hostfile": "hosts",
          "machinefile": "hosts", "f": "hosts", "map-by": "slot", "bind-to": "core", "cpu-bind": "cores",
          "master-addr": "127.0.0.1", "main-process-ip": "127.0.0.1", "master-port": "29511", "main-process-port": "29511",
          "network-interface": "lo", "network-interfaces": "lo", "iface": "lo", "ssh-identity-file": "id", "wdir": ".", "wd": ".", "chdir": ".",
          "D": ".", "workdir": ".", "x": "A=1", "export": "ALL,A=1", "time": "10", "t": "0:30", "timeout": "30", "genvlist": "HOME",
          "envlist": "HOME", "mixed-precision": "bf16", "rdzv-endpoint": "localhost:0", "job-name": "mine", "J": "mine", "gres": "gpu:1",
          "config-file": "accelerate.yaml", "config": "platform.yaml", "include": "localhost", "i": "localhost", "exclude": "nowhere", "e": "nowhere"}
PAIRS = {"genv": "A 1", "env": "A 1", "mca": "btl tcp", "gmca": "btl tcp"}
# These options choose from a list of hosts.
BESIDE = dict.fromkeys(("include", "i", "exclude", "e"), ["--hostfile", "two"])
# Options that need something that this machine lacks, or a GPU. Modules have a separate case.
NOT_HERE = ("image", "container-image", "master-image-uri", "m", "module", "num-gpus", "num-accelerators", "gpus",
            "gpus-per-task", "container-mounts")


def rows():
    """(name, how many values, what it becomes) of each row of the table."""
    with open(TABLE, encoding="utf-8") as file:
        found = re.findall(r'^    \{"([\w-]+)", [^,]+, (\d), Becomes::(\w+)', file.read(), re.M)
    expect(len(found) > 150, f"{len(found)} rows in {TABLE}")
    return found


def typed(name, values):
    value = PAIRS[name] if values == "2" else VALUES.get(name, "1") if values == "1" else ""
    return [*(["-" if len(name) == 1 else "--"][0] + name + " " + value).split(), *BESIDE.get(name, [])]


def lines_to_type(message):
    """The command lines that an error advises."""
    return re.findall(r"(?:try|as with \w+): (dlaunch .*)", message)


@case
def each_works_or_names_a_line_that_works(box):
    box.write("hosts", "localhost\n")
    box.write("two", "localhost\nnowhere\n")
    box.write("id", "")
    box.write("accelerate.yaml", "distributed_type: MULTI_CPU\nnum_processes: 1\n")
    box.write("platform.yaml", "command: [sh, -c, 'echo ran-$RANK']\n")
    box.write("bin/sbatch", "#!/bin/sh\necho 42\n", 0o755)
    env = {"PATH": f"{box.path('bin')}:{os.environ['PATH']}"}
    seen = set()
    for name, values, _ in rows():
        words = typed(name, values)
        if name in seen or name in ("h", "q", "v", "quiet", "verbose", "env"):  # dlaunch's own
            continue
        seen.add(name)
        if name in NOT_HERE:
            continue
        first = box.start("run", *words, "--", "sh", "-c", "echo ran-$RANK", env=env).end()
        lines = lines_to_type(first.text)
        expect(first.code == 0 or (first.code == USAGE and lines), f"{words} ended with {first.code}: {first.text}")
        if first.code == 0:
            expect_in(b"ran-0", first.out, f"run {words}")
        for line in lines:
            again = box.start(*shlex.split(line)[1:], env=env).end()
            expect_equal(again.code, 0, f"{line!r}, which is advised for {words}: {again.text}; exit code")
    expect(len(seen) > 120, f"{len(seen)} options")


@case
def what_has_an_exact_meaning_works(box):
    for words, ranks in ((["-np", "2"], 2), (["-n", "4", "-npernode", "4"], 4), (["--standalone", "--nproc_per_node", "2"], 2),
                         (["-H", "localhost:2", "-np", "2"], 2), (["--ntasks-per-node=3", "-N1"], 3), (["--ntasks-per-node", "2", "-N", "1"], 2),
                         (["--num_processes", "2", "--num_machines=1", "--machine_rank", "0"], None),
                         (["-np", "4", "-map-by", "ppr:4:node", "-allow-run-as-root", "-oversubscribe"], 4)):
        run = box.start("run", *words, "--", "sh", "-c", "echo of $WORLD_SIZE").end()
        if ranks is not None and run.code == 0:
            expect_equal(run.out.count(f"of {ranks}\n".encode()), ranks, f"ranks of {words}: {run.text}")
        elif ranks is not None:
            raise AssertionError(f"{words}: {run.text}")
        else:
            expect_in("start dlaunch once", run.text, "node rank")
    run = box.run("run", "-x", "A=b c", "-x", "HOME", "--timeout", "60", "--wdir", "/", "--", "sh", "-c", "echo $A $PWD")
    expect_equal(run.out, b"b c /\n", "variable and folder")
    run = box.run("run", "--master_addr", "127.0.0.1", "--master_port", "29533", "--", "sh", "-c", "echo $MASTER_ADDR $MASTER_PORT")
    expect_equal(run.out, b"127.0.0.1 29533\n", "rendezvous")


@case
def what_has_none_says_why_and_what_to_type(box):
    for words, why, line in (
            (["-np", "2", "-bind-to", "core"], "--bind-to core: not needed: ranks get cores of their own", "dlaunch run -n 2 -- true x"),
            (["--rdzv_endpoint=h:1", "--nproc_per_node=2"], "finds a free port", "dlaunch run --nproc-per-node 2 -- true x"),
            (["-n", "2", "--cpus-per-task", "4", "--partition", "gpu"], "is for Slurm's queue", "dlaunch submit --partition gpu -n 2 -- true x"),
            (["--report-bindings"], "dlaunch plan shows", "dlaunch run -- true x"),
            (["--log_dir", "out", "-n", "2"], "the output of every rank is kept", "dlaunch run -n 2 --set logs.dir=out -- true x"),
            (["--signal=B:USR1@120"], "with the stop signal", "dlaunch run --set 'stop_signal=USR1' --set timeouts.stop=120s -- true x"),
            (["--config_file", "a.yaml"], "give it as the job file", "dlaunch run a.yaml -- true x"),
            (["--job-dir", "out"], "an argument of the program", "dlaunch run -- true x --job-dir out"),
            (["-np", "3", "-ppn", "2"], "2 on each node: does not match 3 processes in all", "dlaunch run -n 3 -- true x")):
        message = box.run("run", *words, "--", "true", "x", code=USAGE).text
        expect_in(why, message, f"run {words}: why")
        expect_in(f"try: {line}\n", message, f"run {words}: the line")
    for words, line in ((["--job-dir", "out"], "job.yaml -- --job-dir out"), (["--job-dir", "out", "--", "--lr", "1"], "job.yaml -- --lr 1 --job-dir out"),
                        (["--config_file", "a.yaml", "job.yaml"], "job.yaml"), (["--job-dir=out", "a.yaml"], "a.yaml -- --job-dir out")):
        expect_in(f"try: dlaunch run {line}\n", box.run("run", *words, code=USAGE).text, f"run {words}: the line")
    message = box.run("run", "-N", "2", "-n", "4", "--", "true", code=USAGE).text
    expect_in("as with mpirun: dlaunch run --nnodes 2 --nproc-per-node 2 -- true\n", message, "mpirun's -N")
    expect_in("as with srun: dlaunch run -n 4 --nnodes 2 -- true\n", message, "srun's -N")


@case
def options_of_the_queue_belong_to_submit_and_export(box):
    script = box.run("export", "slurm", "--mem", "8G", "--ntasks", "2", "--", "true").out.decode()
    expect_in("#SBATCH --mem=8G\n", script, "a line of the script")
    script = box.run("export", "slurm", "--gres=gpu:2", "--", "true").out.decode()
    expect_in("#SBATCH --gres=gpu:2\n", script, "the GPUs")
    for command, line in (("run", "submit --sbatch=--mem=8G -- true"), ("plan", "plan -- true"), ("convert", "convert -- true")):
        message = box.run(command, "--mem", "8G", "--", "true", code=USAGE).text
        expect_in(f"try: dlaunch {line}\n", message, f"the line for {command}")


@case
def a_missing_value_takes_no_option(box):
    for words, option in ((["--rdzv_id", "--dry-run", "-n", "1"], "--rdzv_id"), (["--rdzv_backend", "--smoke", "-n", "3"], "--rdzv_backend"),
                          (["--bind-to", "-n", "2"], "--bind-to"), (["-N"], "-N"), (["-H"], "-H"), (["-m"], "-m"),
                          (["--bind-to", "core", "-n", "--map-by", "slot"], "-n")):
        run = box.run("run", *words, "--", "sh", "-c", "echo ran", code=USAGE)
        expect_in(f"{option} needs a value", run.text, f"run {words}")
        expect("try: dlaunch run" not in run.text, f"advice without the value: {run.text}")
        expect(b"ran" not in run.out, "the job ran")
    expect_in(b"ran", box.run("run", "-K", "-n", "1", "--", "echo", "ran").out, "srun's -K")
    expect_in("try: dlaunch run -n 1 -- true\n", box.run("run", "-K0", "-n", "1", "--", "true", code=USAGE).text, "srun's -K0")


@case
def an_empty_value_is_an_error(box):
    """It usually comes from a shell variable that is not set."""
    for words, what in ((["run", "-n", "", "--", "true"], "-n"), (["run", "--name", "", "--", "true"], "--name"),
                        (["run", "--name=", "job.yaml"], "--name"), (["stop", ""], "dlaunch stop"), (["run", ""], "dlaunch run"),
                        (["logs", ""], "dlaunch logs"), (["plan", "--env", "", "--", "true"], "--env")):
        expect_in(f"{what} got an empty argument", box.run(*words, code=USAGE).text, str(words))
    for words, option in ((["--hosts", "-n", "2"], "--hosts"), (["--name", "-n", "2"], "--name")):
        message = box.run("run", *words, "--", "true", code=USAGE).text
        expect_in(f"{option} needs a value, but \"-n\" is an option", message, str(words))
    expect_in("-n needs a value", box.run("run", "-n", "", "--bind-to", "core", "--", "true", code=USAGE).text, "beside an option of mpirun")
    box.run("run", "--env=A=", "--", "true")


@case
def t_is_what_the_other_options_say(box):
    message = box.run("run", "-r", "3", "-t", "3", "--nproc_per_node=2", "--", "true", code=USAGE).text
    expect_in("try: dlaunch run --nproc-per-node 2 -- true\n", message, "torchrun's tee is no time limit")
    expect_in("timeouts", box.run("convert", "-t", "3", "--ntasks", "2", "--", "true").out.decode(), "srun's time")


@case
def own_options_tell_nothing_of_others(box):
    box.write("hf", "localhost\n")
    run = box.run("run", "--hosts", "localhost", "-n", "2", "-x", "NCCL_DEBUG=INFO", "--", "sh", "-c", "echo $NCCL_DEBUG")
    expect_equal(run.out.count(b"INFO\n"), 2, "a variable beside dlaunch's own options")
    for words in (["--hosts", "localhost", "-N", "1"], ["--env", "A=1", "-N", "1"], ["--hostfile", "hf", "-N", "1"], ["--set", "name=x", "-N", "1"]):
        message = box.run("run", *words, "--", "true", code=USAGE).text
        lines = lines_to_type(message)
        expect_equal(len(lines), 2, f"lines for run {words}: {message}")
        for line in lines:
            box.run(*shlex.split(line)[1:])
    expect_in("as with mpirun", box.run("plan", "-N", "1", "train.py", "--time", "3", code=USAGE).text, "an option of the program")
    box.write("train.py", "print('trained')\n")
    message = box.run("run", "-n", "2", "-m", "train", code=USAGE).text
    line = lines_to_type(message)[0]
    expect_equal(line, "dlaunch run -n 2 -- python3 -m train", "a module")
    expect_equal(box.run(*shlex.split(line)[1:]).out.count(b"trained"), 2, "ranks")
    message = box.run("run", "--image", "x", "-n", "2", "--", "true", code=USAGE).text
    expect_in("try: dlaunch run -n 2 --set container.image=x -- true\n", message, "an image")


@case
def without_the_dashes_the_line_to_type_has_them(box):
    box.write("train.py", "import os\nprint('rank', os.environ['RANK'])\n")
    for words, line in ((["--standalone", "--nproc_per_node", "2", "train.py", "--lr", "1"],
                         "dlaunch run --nnodes 1 --nproc-per-node 2 -- python3 train.py --lr 1"),
                        (["--nproc_per_node=2", "--node_rank=0", "train.py", "-x"], "dlaunch run --nproc-per-node 2 -- python3 train.py -x"),
                        (["--nproc-per-node", "2", "-m", "train", "--lr", "1"], "dlaunch run --nproc-per-node 2 -- python3 -m train --lr 1"),
                        (["-np", "2", "--bind-to", "none", "train.py"], "dlaunch run -n 2 --set binding.cpus=none -- python3 train.py")):
        message = box.run("run", *words, code=USAGE).text
        found = re.search(r"dlaunch run .*", message)[0]
        expect_equal(found, line, f"run {words}")
        expect_equal(box.run(*shlex.split(line)[1:]).out.count(b"rank"), 2, "ranks")


@case
def an_option_of_dlaunch_keeps_its_meaning(box):
    box.write("job.yaml", "command: [sh, -c, 'echo $WORLD_SIZE']\nprocesses: 1\n")
    run = box.run("run", "job.yaml", "--timeout", "60", "-x", "A=1")
    expect_equal(run.out, b"1\n", "a job file beside them")
    expect_in("replaces the job file's list", box.run("run", "job.yaml", "-x", "A", code=USAGE).text, "env_pass")
    expect_in("unknown option", box.run("logs", "--bind-to", "core", code=USAGE).text, "a command that takes no job")
    for words in (["-q", "-v"], ["--gpus", "all", "-n", "1", "--dry-run"]):
        box.start("run", *words, "--", "true").end()


@case
def another_launcher_as_the_command(box):
    box.write("train.py", "import os\nprint('rank', os.environ['RANK'])\n")
    for words, line in ((["torchrun", "--nproc_per_node", "2", "train.py", "--lr", "1"], "dlaunch run --nproc-per-node 2 -- python3 train.py --lr 1"),
                        (["mpirun", "-np", "2", "--bind-to", "core", "python3", "train.py"], "dlaunch run -n 2 -- python3 train.py"),
                        (["srun", "-n2", "--", "python3", "train.py"], "dlaunch run -n 2 -- python3 train.py")):
        message = box.run(*words, code=USAGE).text
        expect_in(f"use dlaunch instead: {line}\n", message, f"dlaunch {words}")
        expect_equal(box.run(*shlex.split(line)[1:]).out.count(b"rank"), 2, "ranks")
    for words in (["torchrun"], ["torchrun", "--help"]):
        message = box.run(*words, code=USAGE).text
        expect_in("use dlaunch instead: dlaunch run -n 4 -- python3 train.py\n", message, "without a program")
    message = box.run("srun", "-n", "2", "--partition=gpu", "./a", code=USAGE).text
    expect_in("use dlaunch instead: dlaunch submit --partition gpu -n 2 -- ./a\n", message, "for the queue")
