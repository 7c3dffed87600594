"""Job files of other systems run unchanged; the translation of each key is tested in tests/unit/jobs."""

import os

from case import case
from expectations import expect, expect_equal, expect_in

AZURE = """$schema: https://azuremlschemas.azureedge.net/latest/commandJob.schema.json
code: src
command: >-
  echo "$PWD rank=$RANK of $WORLD_SIZE at $MASTER_PORT epochs=${{inputs.epochs}}" &&
  cat ${{inputs.data}}/x $[[${{inputs.more}}]] > ${{outputs.result}}/$RANK
inputs:
  epochs: 3
  data: {type: uri_folder, path: ./data}
  more: {type: uri_file, optional: true}
outputs: {result: {type: uri_folder}}
environment: {image: "example/none:1"}
compute: azureml:cluster
distribution: {type: pytorch, process_count_per_instance: 2}
"""

# The service's port is fixed, and cases run in parallel.
ANY_PORT = ("--set", "rendezvous.port=auto")


def make_job(box):
    for folder in ("jobs/src", "jobs/data"):
        os.makedirs(os.path.join(box.folder, folder))
    box.write("jobs/cloud.yml", AZURE)
    box.write("jobs/data/x", "content\n")


@case
def a_cloud_job_runs_as_it_is(box):
    make_job(box)
    run = box.run("run", "jobs/cloud.yml", "--no-container", *ANY_PORT)
    for rank in (0, 1):
        expect_in(f"{box.folder}/jobs/src rank={rank} of 2 at ", run.out.decode(), "a rank")
        expect_equal(box.read(f"outputs/result/{rank}"), b"content\n", "what a rank has written")
    expect_in("epochs=3", run.out.decode(), "an input")
    expect_in("note: not used here: compute (line 12)", run.text, "what a launcher has none of")
    expect_equal(run.text.count("compute (line"), 1, "how often it is said")


@case
def what_it_is_converted_to_runs_the_same(box):
    make_job(box)
    given = (*ANY_PORT, "--input", "epochs=7", "--output", "result=there", "--no-container")
    native = box.run("convert", "jobs/cloud.yml", *given)
    box.write("native.yaml", native.out)
    expect_in("# note: not used here: compute (line 12)", native.out.decode(), "notes as comments")
    expect(b"container" not in native.out, "an image that the job does not ask for")
    foreign = box.run("plan", "--offline", "--json", "jobs/cloud.yml", *given).out
    expect_equal(box.run("plan", "--offline", "--json", "native.yaml").out, foreign, "the plan")
    box.run("run", "native.yaml")
    for rank in (0, 1):
        expect_equal(box.read(f"there/{rank}"), b"content\n", "what a rank has written")


@case
def mistakes_are_said_with_their_place(box):
    make_job(box)
    box.write("jobs/bad.yml", AZURE.replace("process_count_per_instance: 2", "process_count_per_instance: two"))
    run = box.run("run", "jobs/bad.yml", code=65)
    expect_in('jobs/bad.yml:13:59: error: distribution.process_count_per_instance must be a whole number from 1 to 100000, not "two"', run.text, "the error")
    run = box.run("run", "jobs/cloud.yml", "--input", "epoch=1", code=65)
    expect_in('--input epoch=1: error: the job has no input "epoch"; it has epochs, data, more', run.text, "the error")
    run = box.run("run", "jobs/cloud.yml", "--input", "epochs", code=64)
    expect_in("--input epochs: expected NAME=VALUE", run.text, "the error")
    expect(not box.exists("runs"), "a run folder was made")


KUBEFLOW = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: references}
spec:
  pytorchReplicaSpecs:
    Master:
      template:
        spec:
          containers:
            - name: pytorch
              image: none
              env: [{name: WHO, value: "it's $HOME"}, {name: MASTER_PORT, value: "1"}]
              command: [sh, -c, 'printf "%s\\n" "$0" "$@"; test "$(MASTER_PORT)" = "$MASTER_PORT" && echo same']
              args: ["$(WHO)", "$(RANK)/$(WORLD_SIZE)", "$$(RANK)", "$(UNKNOWN)"]
"""


@case
def references_of_a_container_reach_the_program(box):
    """dlaunch replaces them as kubelet does, before a shell could interpret their values."""
    box.write("job.yaml", KUBEFLOW)
    run = box.run("run", "job.yaml", "--no-container", *ANY_PORT)
    for line in ("it's $HOME", "0/1", "$(RANK)", "$(UNKNOWN)", "same"):
        expect_in(line + "\n", run.out.decode(), "what the program gets")
    expect_in("MASTER_PORT in env is not used", run.text, "what the operator overrides")


@case
def a_module_as_gcloud_is_told(box):
    """Files of AI Platform mostly leave out the program, which is on gcloud's command line."""
    box.write("config.yaml", "trainingInput: {scaleTier: CUSTOM, masterType: a, workerType: a, workerCount: 1}\n")
    box.write("src/trainer/__init__.py", "")
    box.write("src/trainer/task.py", "import os, sys\nprint('in', os.getcwd(), sys.argv[1:])\n")
    run = box.start("run", "config.yaml", "--module-name", "trainer.task", "--package-path", "src/trainer", "--", "--lr", "0.1").end(0)
    expect_equal(run.out.decode().count(f"in {box.path('src')} ['--lr', '0.1']"), 2, "ranks that ran the module")
    run = box.start("run", "config.yaml", "--module", "trainer.task", "--package-path", "nothere").end(64)
    expect_in("no such folder", run.text, "error")
    run = box.start("run", "-n", "2", "--module", "trainer.task").end(64)
    expect_in("dlaunch run -n 4 -- python3 -m trainer.task", run.text, "advice")
