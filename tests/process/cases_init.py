"""dlaunch init, whose job file for each kind of folder passes dlaunch plan; and dlaunch help."""

import os
import shlex
import stat
import subprocess

from case import case
from expectations import expect, expect_equal, expect_in
from run_helpers import USAGE

TRAIN = "import os\nprint('rank', os.environ['RANK'], 'of', os.environ['WORLD_SIZE'], os.environ.get('A'))\n"

# For each folder: its files, where the job comes from, and words that the job file contains.
FOLDERS = {
    "torchrun": ({"run.sh": "#!/bin/bash\nexport A=1\ntorchrun --standalone --nproc_per_node=2 train.py \"$@\"\n"},
                 "run.sh:3 (torchrun)", ["processes_per_node: 2", "A: \"1\""]),
    "mpirun": ({"run.sh": "mpirun -np 2 --bind-to core -x A=1 python3 train.py\n"}, "run.sh:1 (mpirun)",
               ["processes: 2", "framework: mpi", "--bind-to core: not needed"]),
    "srun": ({"run.sh": "srun -n 2 --export=ALL,A=1 python3 train.py\n"}, "run.sh:1 (srun)", ["processes: 2"]),
    "deepspeed": ({"ds.sh": "A=1 deepspeed --num_nodes 1 --num_gpus 2 train.py\n"}, "ds.sh:1 (deepspeed)",
                  ["framework: deepspeed", "processes_per_node: 2"]),
    "accelerate": ({"go.sh": "accelerate launch --num_processes 2 --mixed_precision bf16 train.py\n"}, "go.sh:1 (accelerate launch)",
                   ["processes: 2", "ACCELERATE_MIXED_PRECISION: bf16"]),
    "sbatch": ({"train.sbatch": "#!/bin/bash\n#SBATCH --job-name=bert\n#SBATCH --nodes=2\n#SBATCH --time=10:00\n#SBATCH -p gpu\n"
                                "ulimit -c 0\nexport A=1\nsrun torchrun --nnodes $SLURM_NNODES --nproc_per_node 2 --rdzv_endpoint $H:1 train.py\n"},
               "train.sbatch:8 (srun, torchrun)", ["name: bert", "run: 10m", "processes_per_node: 2", "# nodes: 2", "--partition gpu"]),
    "venv": ({"requirements.txt": "torch\n", ".venv/bin/activate": "export A=1\n"}, "train.py", ["setup: . .venv/bin/activate"]),
    "requirements": ({"requirements.txt": "torch\n"}, "train.py", ["pip install -r requirements.txt"]),
    "pyproject": ({"pyproject.toml": "[project]\nname = \"x\"\n"}, "train.py", ["pip install ."]),
    "dockerfile": ({"Dockerfile": "FROM python:3.12\nENTRYPOINT [\"torchrun\", \"--nproc_per_node=2\", \"train.py\"]\n"},
                   "Dockerfile:2 (torchrun)", ["processes_per_node: 2", "# container:\n#   image: dockerfile\n"]),
    "script": ({}, "train.py", ["Guessed from the script's name", "processes_per_node: auto"]),
}


@case
def each_kind_of_folder_becomes_a_job_that_can_be_planned(box):
    for name, (files, source, words) in FOLDERS.items():
        for file, text in {"train.py": TRAIN, **files}.items():
            box.write(f"{name}/{file}", text)
        run = box.run("init", name)
        expect_in(f"wrote {name}/job.yaml from ".encode(), run.out, "what it says")
        text = box.read(name, "job.yaml").decode()
        expect_in(source, text, f"{name}: where the job comes from")
        expect_in("command: python3 train.py\n", text, f"{name}: command")
        for word in words:
            expect_in(word, text, f"{name}: job.yaml")
        plan = box.run("plan", name)
        expect_in(b"python3 train.py", plan.out, f"{name}: the plan")


@case
def the_job_runs(box):
    for name in ("torchrun", "sbatch", "venv"):
        for file, text in {"train.py": TRAIN, **FOLDERS[name][0]}.items():
            box.write(file, text)
        box.run("init", "--force")
        ranks = 1 if name == "venv" else 2
        run = box.run("run")
        expect_equal(run.out.count(f"of {ranks} 1\n".encode()), ranks, f"{name}: ranks with the variable A")
        for file in FOLDERS[name][0]:
            os.unlink(box.path(file))


@case
def the_draft_gives_the_program_what_the_script_gives_it(box):
    show = "import json, sys\nprint(json.dumps(sys.argv[1:]))\n"
    for number, (before, words) in enumerate((
            ("", "--p 'cost $HOME $(touch P1)' --q \"\\$(touch P2)\""), ("NAME=a.b", "--title \"${NAME%.*} ; touch P3\""),
            ("MSG=\"hello  world\"\nA=(--x \"a ) b\" 'c *')\nA+=(--y)", "\"$MSG\" $MSG \"${A[@]}\" {1,2} data*"),
            ("P='$HOME; touch P4'\nE=", "$P \"$P\" \"$(dirname \"$0\")\" $E \"\" \"$E\" ~ it\\'s"))):
        folder = f"d{number}"
        box.write(f"{folder}/show.py", show)
        box.write(f"{folder}/data1", "")
        box.write(f"{folder}/data 2", "")
        box.write(f"{folder}/run.sh", f"{before}\ntorchrun --nproc_per_node 1 show.py {words}\n")
        # A fake torchrun that starts the program once.
        box.write(f"{folder}/bin/torchrun", "#!/bin/sh\nshift 2\nexec python3 \"$@\"\n", 0o755)
        inside = box.path(folder)
        env = {**os.environ, "PATH": f"{inside}/bin:{os.environ['PATH']}", "NAME": "a.b", "HOME": "/h"}
        wanted = subprocess.run(["bash", "run.sh"], cwd=inside, env=env, capture_output=True, text=True, timeout=60, check=True).stdout
        box.run("init", cwd=inside)
        run = box.run("run", cwd=inside, env={"NAME": "a.b", "HOME": "/h"})
        expect_equal(run.out.decode(), wanted, f"arguments by {box.read(folder, 'job.yaml').decode()}")
        left = [name for name in os.listdir(inside) if name.startswith("P")]
        expect_equal(left, [], "files that a quoted text made")


@case
def the_next_command_works(box):
    box.write("d e/show.py", "import os\nprint('in', os.getcwd())\n")
    box.write("d e/run.sh", ". ./env.sh && torchrun --nproc_per_node 2 show.py\n")
    box.write("d e/env.sh", "")
    run = box.run("init", "d e")
    line = run.out.decode().split("next: ")[1].strip()
    expect_equal(line, "cd 'd e' && dlaunch plan", "the next command")
    expect_in(b"setup: . ./env.sh\n", box.read("d e", "job.yaml"), "only what prepares the shell")
    out = box.run("run", cwd=box.path("d e")).out
    expect_equal(out.count(f"in {os.path.realpath(box.path('d e'))}\n".encode()), 2, "ranks in the folder")
    run = box.run("init", "d e", "-o", "other.yaml")
    line = run.out.decode().split("next: ")[1].strip()
    expect_equal(line, "cd 'd e' && dlaunch plan ../other.yaml", "the next command")
    box.run("plan", "../other.yaml", cwd=box.path("d e"))


@case
def a_folder_of_that_name_stays(box):
    box.write("train.py", TRAIN)
    os.mkdir(box.path("job.yaml"))
    expect_in("cannot write", box.run("init", "--force", code=USAGE).text, "what is wrong")
    expect_equal(sorted(os.listdir(box.path(""))).count("job.yaml.dlaunch-new"), 0, "a file is left")


@case
def ordinary_scripts_become_valid_jobs(box):
    for number, text in enumerate(("#SBATCH -t UNLIMITED\nsrun -n 2 ./a\n", "#SBATCH --time=0\nsrun ./a\n", "mpirun --timeout 2h ./a\n",
                                   "mpirun -n 0 ./a\n", "mpirun -x 'A B' ./a\n", "#SBATCH -N1 -n4\n#SBATCH --job-name=\"my job\"\n#SBATCH "
                                   "--comment=$(date)\nsrun ./a\n", "torchrun --role 'x\nsetup: touch P' t.py\n")):
        box.write(f"s{number}.sh", text)
        box.run("init", f"s{number}.sh", "-o", f"s{number}.yaml")
        box.run("plan", "--offline", f"s{number}.yaml")
        expect(b"DLAUNCH_INIT" not in box.read(f"s{number}.yaml"), f"a stand-in in the draft of {text}")
        expect(b"\nsetup: touch" not in box.read(f"s{number}.yaml"), "a comment that became a key")
    box.write("t.sh", "export HF_TOKEN=hf_1\ntorchrun t.py --k $HF_TOKEN\n")
    box.run("init", "t.sh", "-o", "t.yaml")
    expect(b"hf_1" not in box.read("t.yaml"), "a secret in the draft")
    expect_in("the command starts no program", box.run("init", "--", "torchrun", "--help", code=USAGE).text, "no program")
    box.run("init", "--print", "--", "torchrun", "--nproc_per_node", "-m", "train")


@case
def a_file_is_replaced_only_when_that_is_asked(box):
    box.write("train.py", TRAIN)
    box.write("job.yaml", "command: mine\n")
    expect_in("job.yaml already exists and was not changed", box.run("init", code=USAGE).text, "what is wrong")
    expect_equal(box.read("job.yaml"), b"command: mine\n", "the file")
    box.run("init", "-o", "other.yaml")
    box.run("plan", "other.yaml")
    printed = box.run("init", "--print").out
    expect_equal(box.read("job.yaml"), b"command: mine\n", "the file")
    box.run("init", "--force")
    expect_equal(box.read("job.yaml"), printed, "what --print has shown")
    expect(stat.S_ISREG(os.lstat(box.path("job.yaml")).st_mode), "a file")
    expect_equal(sorted(name for name in os.listdir(box.path("")) if "dlaunch-new" in name), [], "files left")


@case
def a_script_or_a_command_may_be_named(box):
    box.write("train.py", TRAIN)
    box.write("a.sh", "torchrun --nproc_per_node 2 a.py\n")
    box.write("b", "#!/bin/sh\nmpirun -n 3 ./b\n")
    expect_in(b"command: ./b\n", box.run("init", "b", "--print").out, "a script")
    expect_in(b"Also found: train.py", box.run("init", "--print").out, "what else there is")
    out = box.run("init", "--print", "--", "torchrun", "--nproc_per_node", "4", "train.py", "--lr", "1").out
    expect_in(b"processes_per_node: 4\n", out, "a command")
    expect_in(b"command: python3 train.py --lr 1\n", out, "a command")
    expect_in("no such file or folder: nowhere", box.run("init", "nowhere", code=USAGE).text, "a wrong name")


@case
def of_a_folder_without_a_job(box):
    box.write("notes.txt", "torchrun train.py\n")
    run = box.run("init", code=USAGE)
    expect_in("found nothing that starts a job", run.text, "what is wrong")
    expect_in("try: dlaunch init -- python3 SCRIPT", run.text, "what to type")
    expect(not box.exists("job.yaml"), "a file was written")


@case
def odd_scripts_do_no_harm(box):
    box.write("train.py", TRAIN)
    for number, text in enumerate(("torchrun --nproc_per_node", "'", "\\", "$(", "srun " * 2000, "torchrun \"$@\" train.py : x\n#SBATCH",
                                   "A=\x00\x01\xff torchrun train.py", "x" * 300000, "#SBATCH --nodes=$(rm -rf /)\nsrun --x")):
        box.write("run.sh", text)
        run = box.start("init", "-o", f"job{number}.yaml").end()
        if run.code == 0:
            box.run("plan", "--offline", f"job{number}.yaml")
        else:
            expect_equal(run.code, USAGE, f"exit code for {text[:40]!r}: {run.text}")


# --- dlaunch help TOPIC


@case
def help_on_a_command_a_key_an_exit_code_and_a_message(box):
    expect_equal(box.run("help", "run").out, box.run("run", "--help").out, "a command")
    expect_equal(box.run("help").out, box.run("--help").out, "nothing")
    for topic, wanted in ((["restart.max"], "  option   --set restart.max=0\n"), (["restart"], "keys of restart\n"), (["nproc_per_node"], "processes_per_node\n"),
                          (["74"], "try: dlaunch collect"), (["137"], "SIGKILL"), (["--bind-to"], "ranks get cores of their own"),
                          (["CUDA error: out of memory"], "cuda-out-of-memory\n"), (["CUDA", "out", "of", "memory"], "cuda-out-of-memory\n"),
                          (["stage"], "In a job file:\nstage\n"), (["exit code 74"], "try: dlaunch collect"), (["exit", "code", "74"], "try: dlaunch collect"),
                          (["--gpus"], "--gpus N\n"), (["--env"], "--env NAME=VALUE\n"), (["--detach"], "--detach\n"), (["-m"], "of torchrun"),
                          (["-n"], "-n, --processes, --np N")):
        expect_in(wanted, box.run("help", *topic).out.decode(), f"help {topic}")


@case
def help_on_an_unknown_topic_names_the_nearest(box):
    for topic, near in (("retart", 'did you mean "restart"?'), ("plna", 'did you mean "plan"?'), ("256", "no help on"), ("--bogus", "no help on"),
                        ("\x1b[2Jx", "no help on")):
        expect_in(near, box.run("help", topic, code=USAGE).text, f"help {topic!r}")


@case
def the_example_of_a_key_works(box):
    for key in ("timeouts.run", "env", "name", "binding.cpus", "logs.prefix", "restart.backoff", "metrics"):
        lines = box.run("help", key).out.decode().splitlines()
        in_file = next(line for line in lines if line.startswith("  job file "))[len("  job file "):]
        box.write("job.yaml", f"command: [true]\n{in_file}\n")
        box.run("plan", "--offline")
        option = next(line for line in lines if line.startswith("  option "))[len("  option "):]
        box.write("job.yaml", "command: [true]\n")
        box.run("plan", "--offline", *shlex.split(option))
