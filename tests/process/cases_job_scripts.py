"""Batch scripts of Slurm, pods and SkyPilot tasks start their programs as they do in those systems."""

import json
import os
import subprocess

from case import case
from expectations import expect, expect_equal, expect_in

SHOW = "import json, os, sys\nprint(json.dumps([sys.argv[1:], {k: v for k, v in os.environ.items() if k[:6] in ('SLURM_', 'SKYPIL', 'JOB_CO', 'PET_NN', 'PET_NO')}]))\n"

# A launcher that only prints its words, which shows what bash has made of them.
STUB = """#!/usr/bin/env python3
import json, os, sys
words = sys.argv[1:]
if os.path.basename(sys.argv[0]) == "srun":
    while words[0].startswith("-"):
        words.pop(0)
    os.execvp(words[0], words)
print(json.dumps(words[words.index("show.py") + 1:]))
"""

SCRIPTS = {
    "plain": 'srun --label torchrun --nproc_per_node=1 show.py --lr 0.1 "a b" \'c d\' e\\ f',
    "variables": 'LR=0.1\nNAME="two words"\nFLAGS="--fast --deep 4"\nsrun torchrun show.py $FLAGS --name "$NAME" --split $NAME --lr=${LR} ${NONE:-other}',
    "arrays": 'ARGS=(\n  --layers 4  # many\n  --title "x y"\n)\nARGS+=(--more)\ndeclare -a OTHER=(1 2)\ntorchrun show.py "${ARGS[@]}" ${OTHER[@]}',
    "computed": 'DAY=$(echo mon tue)\nexport OUT="out/$DAY"\nN=$((2 * 3))\ntorchrun show.py --out "$OUT" --words $DAY --n $N',
    "lines": 'OPTIONS=" \\\n  --seq 128 \\\n  --save dir \\\n"\nsrun torchrun \\\n  --nproc_per_node 1 \\\n  show.py \\\n  $OPTIONS 2>&1 | cat',
    "bash -c": 'export LAUNCHER="torchrun --nproc_per_node 1"\nexport CMD="show.py --size 3 $(echo last)"\nsrun bash -c \'$LAUNCHER --node_rank 0 $CMD\'',
    "texts": """: '\nsource evil\ncd /\n'\npython3 -c '\nsource = 1\n' # it's\ntorchrun show.py "a\nb" c""",
    "later": 'A=1\nf() {\n  A=9\n}\n( A=8; cd / )\nfalse && A=7\ntorchrun show.py $A\nA=2\n: | cat\ncd /',
    "expansions": "N=5\nN=$((N + 1))\nNAME=run-a.b\nARGS=(--one 'two three')\ntorchrun show.py $N ${NAME%.*} ${NAME/-/_} ${ARGS[@]} \"${ARGS[@]}\" ${#ARGS[@]} $'it\\'s'",
    "read again": """L="torchrun show.py"\nC="--a 'x y'"\nsrun bash -c "$L $C \\$HOME\"""",
    "homes": 'A=~/x\nexport B=~/y\ntorchrun show.py $A "$B" ~/z "~"',
    "here-documents": "cat <<A <<B > config\nsource evil\nA\nit's\nB\n(( x = 1 << 3 ))\ntorchrun show.py last",
    "here-document": 'cat > config <<EOF\ntorchrun show.py wrong\nEOF\ntorchrun show.py --config config',
}


def arguments_in_bash(box, script):
    for name in ("srun", "torchrun"):
        box.write(f"stubs/{name}", STUB)
        os.chmod(box.path(f"stubs/{name}"), 0o755)
    environment = {**box.environment, "PATH": box.path("stubs") + ":" + os.environ["PATH"]}
    told = subprocess.run(["bash", script], cwd=box.folder, env=environment, stdout=subprocess.PIPE, check=True, timeout=20)
    return json.loads(told.stdout)


@case
def a_batch_script_gives_its_program_the_words_of_bash(box):
    box.write("show.py", SHOW)
    for name, lines in SCRIPTS.items():
        script = f"{name.replace(' ', '')}.sbatch"
        box.write(script, f"#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --ntasks-per-node=1\n{lines}\n")
        run = box.run("run", script)
        expect_equal(json.loads(run.out.decode())[0], arguments_in_bash(box, script), f"the words of {name}")


@case
def srun_tells_each_task_what_it_is(box):
    box.write("show.py", SHOW)
    box.write("job.sbatch", "#!/bin/bash\n#SBATCH -n 2\n#SBATCH --job-name=two\nexport MODE=fast\nsrun python3 show.py $SLURM_NTASKS $MODE \"$@\"\n")
    box.run("run", "job.sbatch", "--", "--lr", "3")
    told = [json.loads(box.rank_output(rank)) for rank in range(2)]
    expect_equal([one[0] for one in told], [["2", "fast", "--lr", "3"]] * 2, "arguments")
    expect_equal([(one[1]["SLURM_PROCID"], one[1]["SLURM_LOCALID"], one[1]["SLURM_NTASKS"]) for one in told], [("0", "0", "2"), ("1", "1", "2")], "variables")
    box.write("native.yaml", box.run("convert", "job.sbatch").out)
    expect_equal(box.run("plan", "--offline", "--json", "native.yaml").out, box.run("plan", "--offline", "--json", "job.sbatch").out, "the plan")


@case
def a_mistake_of_a_batch_script_has_its_place(box):
    box.write("job.sbatch", "#!/bin/bash\n#SBATCH --nodes=1 --ntasks-per-node=x\n#SBATCH --aray=1-3\nsrun python3 show.py\n")
    run = box.run("run", "job.sbatch", code=65)
    expect_in("job.sbatch:2:19: error: ", run.text, "a count")
    expect_in('job.sbatch:3:9: error: sbatch has no option "--aray=1-3", did you mean "--array"?', run.text, "a misspelt option")
    expect(not box.exists("runs"), "a run folder was made")


POD = """apiVersion: batch/v1
kind: Job
metadata: {name: one}
spec:
  completionMode: Indexed
  completions: 1
  template:
    spec:
      containers:
        - name: main
          image: none
          command: [python3, show.py, "index $(JOB_COMPLETION_INDEX)", "it's $HOME"]
"""

TRAIN_JOB = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: one}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {numNodes: 1, numProcPerNode: 2, image: none, command: [python3, show.py], args: ["$(PET_NNODES)"]}
"""

TASK = """num_nodes: 1
resources: {accelerators: "H100:8"}
envs: {WHO: you}
setup: |
  cd / && A=lost
  touch "$OLDPWD/prepared"
run: |
  A=${A:-kept}
  python3 show.py $WHO $A $(echo "$SKYPILOT_NODE_IPS" | wc -l) $SKYPILOT_NODE_RANK $SKYPILOT_NUM_GPUS_PER_NODE
"""


@case
def pods_and_tasks_run_as_they_are(box):
    box.write("show.py", SHOW)
    for name, text, words in (("job.yaml", POD, ["index 0", "it's $HOME"]), ("train.yaml", TRAIN_JOB, ["1"]), ("task.yaml", TASK, ["you", "kept", "1", "0", "8"])):
        box.write(name, text)
        given = ("--no-container", "--set", "rendezvous.port=auto")
        run = box.run("run", name, *given)
        told = json.loads(run.out.decode())
        expect_equal(told[0], words, f"arguments in {name}")
        if name == "train.yaml":
            expect_equal(told[1], {"PET_NNODES": "1", "PET_NODE_RANK": "0"}, "torchrun's variables")
        box.write("native.yaml", box.run("convert", name, *given).out)
        expect_equal(box.run("plan", "--offline", "--json", "native.yaml").out, box.run("plan", "--offline", "--json", name, *given).out, f"the plan of {name}")
    expect(box.exists("prepared"), "setup has not run")
