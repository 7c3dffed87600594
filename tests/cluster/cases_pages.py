"""The commands in blocks of the how-to pages and of the reference, typed as they stand there, page by page. Each must end with code 0 but for ENDS.
gpu01 is the launcher's own machine, the others are nodes. What a page shows of the output is compared, but for numbers and the width of columns.
README.md and Get started have cases_docs."""

import functools
import glob
import os
import re
import subprocess

from case import case
from cases_docs import AZURE_JOB, Reader
from cases_kept import use_own_sockets
from doc_sessions import TOP, Command, Names, fenced, in_tables, listed
from doc_sessions import read as read_page
from expectations import expect_equal, expect_in
from processes import wait_until

# Commands that are not typed, and why.
LEFT_OUT = {
    "dlaunch attach 3": "a terminal (cases_attach of the watch suite)",
    "dlaunch attach k3f 3 -- nvidia-smi": "no GPU",
    "dlaunch attach k3f 3 -- gdb -p {pid}": "no gdb",
    "dlaunch attach k3f 3 -- py-spy top --pid {pid}": "needs a terminal",
    "dlaunch run -n 8 --pty 3 -- python train.py": "a terminal (cases_attach of the watch suite)",
    "dlaunch run --hosts 'gpu[01-04]' --gpus all -- python train.py": "no GPU",
    "dlaunch run --hosts 'gpu[01-04]' --restarts 3 --preload torch -- python train.py": "no PyTorch (cases_preload of the frameworks suite)",
    "dlaunch run --set mpi.launcher=mpirun --set mpi.program=mpiexec.hydra ... -- ./solve-mpich": "\"...\" is for the reader (the mpi suite)",
    "dlaunch submit job.yaml --partition gpu --time 8h --gpus-per-node 8 --cpus-per-task 12": "no Slurm (the slurm suite)",
    "dlaunch run --gpus all -- python train.py": "no GPU",
    "dlaunch run --gpus 8 -- python train.py --deepspeed ds.json": "no GPU",
    "dlaunch submit train.sbatch": "no Slurm (the slurm suite)",
    "dlaunch report k3f --open": "no browser (the browser's cases of the process suite)",
}
# Pages none of whose commands are typed, and why.
UNREAD = {
    "docs/how-to/measure-collectives.md": "minutes on few cores (tests/collectives)",
    "docs/how-to/run-in-kubernetes.md": "no Kubernetes (cases_kubectl of the cluster suite)",
}
# Commands whose output is not compared, by page, and why.
NOT_COMPARED = {
    ("docs/how-to/see-where-ranks-stand.md", "dlaunch stacks"):
        "64 ranks of PyTorch and of an MPI program (the watch suite compares stacks with what the ranks do)",
}
# Numbers, sizes and the width of columns differ from run to run; a busy machine has a note of its own.
DIFFERS = [
    (re.compile(r"^\S+: ranks? \S+ waited for a CPU .*\n", re.M), ""),
    (re.compile(r"\b\d+(\.\d+)? ([kMGT]B|bytes?)\b"), "SIZE"),
    (re.compile(r"\bTIME( TIME)+"), "TIME"),
    (re.compile(r"\b\d+ h TIME"), "TIME"),
    (re.compile(r"\bport 22\b"), "port ssh"),
    (re.compile(r"(?<![\w:])\d+(\.\d+)?(?![\w:])"), "N"),
    (re.compile(r"(?<=\S) +"), " "),
]
# Of the pages' tables, what comes from GPUs and from cores with a known frequency, which are not here.
NOT_HERE = re.compile(r"  GPU %  GPU mem|(?<=B)\s+\d+\s+\d+ GB(?=  )|, \d+ MHz")
# What is typed in place of a part of a command: for a machine with few cores, no images and no Horovod, and for nodes that have their own disk
# at /run.
INSTEAD = {"-n 4 --set framework=mpi": "-n 2 --set framework=mpi", "-n 8 --set framework=mpi": "-n 2 --set framework=mpi",
           "-n 16 --set framework=mpi": "-n 2 --set framework=mpi", "--nproc-per-node 8": "--nproc-per-node 2",
           "-n 8 --set framework=horovod": "-n 2 --set framework=horovod --set mpi.init=optional",
           "gpu01:4,gpu02:4 --set framework=horovod": "gpu01:2,gpu02:2 --set framework=horovod --set mpi.init=optional",
           "gpu01:8,gpu02:8": "gpu01:1,gpu02:1", "/local/": "/run/local/",
           "tf-job.yaml --": "tf-job.yaml --no-container --"}
ENDS = {
    "dlaunch check --local --expect-gpus 8": 75,  # no GPU here
    "dlaunch check --local --expect-gpus 1": 75,
}
TRAIN = """import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--max-steps")
parser.add_argument("--lr")
parser.add_argument("--data")
parser.parse_args()
"""
JOB = "command: [python3, train.py]\nprocesses_per_node: 1\n"
WAITS = ("sh", "-c", ": > ready-$RANK; while :; do sleep 0.1; done")
SOLVE = """#include <mpi.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Finalize();
}
"""
PIPELINE = """$schema: https://azuremlschemas.azureedge.net/latest/pipelineJob.schema.json
type: pipeline
jobs:
  train:
    type: command
    command: python3 train.py
    code: .
    environment: azureml://registries/azureml/environments/pytorch/versions/1
    compute: azureml:cluster
"""
TF_JOB = """apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: train}
spec:
  tfReplicaSpecs:
    Worker:
      replicas: 1
      template: {spec: {containers: [{name: tensorflow, image: train}]}}
"""
SBATCH = "#!/bin/sh\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n\nsrun python3 train.py\n"
GCLOUD = "trainingInput:\n  scaleTier: CUSTOM\n  masterType: n1-standard-4\n"

SIDE_BY_SIDE = "docs/how-to/switch-from-another-launcher.md"  # its commands are in tables
READ = set()  # the pages that have a case


class Page(Reader):
    def __init__(self, box, page, nodes=3):
        use_own_sockets()
        super().__init__(box, page, nodes)
        addresses = [(re.compile(rf"\b{re.escape(node.address)}\b"), f"gpu{node.number + 1:02d}") for node in self.cluster.nodes]
        self.names = Names("gpu01", [*addresses, *DIFFERS])
        self.save("train.py", TRAIN)
        self.save("job.yaml", JOB)

    def type(self, command, ends=ENDS):
        text = command.text
        for part, other in INSTEAD.items():
            text = text.replace(part, other)
        output = [] if (self.page, command.text) in NOT_COMPARED else [NOT_HERE.sub("", line) for line in command.output]
        super().type(Command(command.line, text, output), {text: ends.get(command.text, 0)})

    def type_line(self, text):
        self.type(Command(0, text))

    def build(self, name):
        self.save(f"{name}.c", SOLVE)
        self.type_line(f"mpicc {name}.c -o {name}")

    def keep_running(self, *options):
        """A run that goes on while the page is read; the pages call it k3f."""
        return self.start_run(*options, "--", *WAITS, ranks=int(options[1]))

    def start_run(self, *words, ranks):
        run = self.box.start("run", *words, env=self.environment, cwd=self.folder)
        wait_until(lambda: all(self.box.exists(f"project/ready-{rank}") for rank in range(ranks)), "the ranks")
        self.name_run()
        return run

    def ask(self, command):
        return subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.environment, text=True, capture_output=True, timeout=60,
                              check=True).stdout

    def expect_said(self, text, *beginnings):
        """The messages that the page shows in blocks, up to their last line, are among what dlaunch has said."""
        blocks = re.findall(r"^    dlaunch: .*(?:\n     {8}.*)*", read_page(self.page), re.M)
        for beginning in beginnings:
            message, = (block for block in blocks if block.startswith("    dlaunch: " + beginning))
            wanted, said = (self.names.plain([" ".join(one.split())])[0] for one in (message, text))
            expect_in(wanted.removeprefix("dlaunch: "), said, f"{self.page} shows")  # the summary of a failure has words of its own before it

    def name_run(self):
        self.names.call("k3f", max(self.box.runs("project/runs")))

    def stop(self, run, left=0):
        self.type_line("dlaunch stop")
        run.end(143, left=left)

    def read(self, what=listed):
        for command in what(self.page):
            if command.text not in LEFT_OUT:
                self.type(command)


def page(path, **options):
    """The case of a page."""
    path = f"docs/{path}"
    READ.add(path)

    def add(read):
        @functools.wraps(read)
        def read_page(box):
            read(box, path)
        return case(**options)(read_page)
    return add


def read(box, path, nodes=3):
    Page(box, path, nodes).read()


@case
def every_page_is_read_or_says_why_not(_):
    missing = [path for path in [*READ, *UNREAD] if not os.path.exists(os.path.join(TOP, path))]
    expect_equal(missing, [], "pages that are not there")
    pages = [os.path.relpath(path, TOP) for part in ("how-to", "reference") for path in glob.glob(os.path.join(TOP, "docs", part, "*.md"))]
    with_commands = {path for path in pages if any(command.text not in LEFT_OUT for command in listed(path))}
    expect_equal((with_commands ^ READ) - set(UNREAD) - {SIDE_BY_SIDE}, set(), "pages with commands that are not read, or without")
    typed = [command.text for path in pages for command in [*listed(path), *(in_tables(path) if path in READ else [])]]
    expect_equal([text for text in [*LEFT_OUT, *ENDS] if text not in typed], [], "commands that are on no page")
    expect_equal([part for part in INSTEAD if part not in "\n".join(typed)], [], "parts of commands that are on no page")


@page("how-to/attach-to-a-rank.md")
def attach_to_a_rank(box, path):
    reader = Page(box, path)
    reader.save("fix/train.py", TRAIN)
    run = reader.keep_running("-n", "4", "--hosts", "gpu01,gpu02")
    reader.read()
    reader.stop(run)


@page("how-to/call-collectives-from-cpp.md")
def call_collectives_from_cpp(box, path):
    reader = Page(box, path)
    reader.build("train")
    reader.read()


@page("how-to/check-nodes.md", budget=180.0)
def check_nodes(box, path):
    read(box, path)


@page("how-to/choose-the-network.md")
def choose_the_network(box, path):
    reader = Page(box, path)
    reader.box.make_folder("project", "DIR")
    reader.read()


@page("how-to/keep-nodes-connected.md", budget=180.0)
def keep_nodes_connected(box, path):
    """For the list, one of three kept nodes is in use, and the ssh server of another has gone with its sessions."""
    reader = Page(box, path, 7)
    reader.save("train.yaml", JOB)
    *before, listing = listed(path)
    for command in before:
        reader.type(command)
    reader.type_line("dlaunch up --hosts gpu[02-04]")
    run = reader.keep_running("-n", "1", "--hosts", "gpu03")
    node = reader.cluster[3]
    node.kill_sshd()
    node.kill_sessions()
    wait_until(lambda: "refused" in (found := reader.ask("dlaunch up --list")) and found.count("gpu03 ") == 2,
               "the keeper has noticed, and has another agent on gpu03", 60)
    reader.type(listing)
    reader.stop(run, left=1000)
    reader.type_line("dlaunch down")


@page("how-to/measure-scaling.md", budget=180.0)
def measure_scaling(box, path):
    read(box, path, 7)


@page("how-to/run-in-slurm.md")
def run_in_slurm(box, path):
    read(box, path)


@page("how-to/run-mpi-programs.md")
def run_mpi_programs(box, path):
    reader = Page(box, path)
    reader.build("solve")
    reader.read()


@page("how-to/run-on-cloud-machines.md", budget=180.0)
def run_on_cloud_machines(box, path):
    """With the job file of the page."""
    reader = Page(box, path)
    reader.save("hosts.txt", "gpu02\ngpu03\ngpu04\n")
    reader.save("job.yaml", fenced(path, "yaml")[0].replace("/mnt/", "/run/local/"))
    reader.save("azure.sh", "#!/bin/sh\nexit 1\n", mode=0o755)
    reader.save("train.py", "import os\nos.makedirs('/run/local/out', exist_ok=True)\nopen('/run/local/out/' + os.environ['RANK'], 'w').close()\n"
                            "os.stat('/run/local/data/corpus/one')\n")
    reader.save("corpus/one", "1")
    reader.type_line("tar c --zstd -f data.tar.zst corpus")
    reader.read()
    expect_equal(box.exists("project/results/gpu02/0") and box.exists("project/results/gpu03/1"), True, "results")


@page("how-to/run-other-job-files.md", budget=180.0)
def run_other_job_files(box, path):
    reader = Page(box, path)
    for name, text in (("cloud-job.yml", AZURE_JOB.replace("azureml://datastores/store/paths/data", "./mnist")), ("pipeline.yml", PIPELINE), ("tf-job.yaml", TF_JOB), ("train.sbatch", SBATCH),
                       ("config.yaml", GCLOUD), ("trainer/__init__.py", ""), ("trainer/task.py", TRAIN), ("mnist/one", "")):
        reader.save(name, text)
    reader.read()


@page("how-to/run-over-ssh.md")
def run_over_ssh(box, path):
    read(box, path)


@page("how-to/run-pytorch.md")
def run_pytorch(box, path):
    read(box, path)


@page("how-to/run-under-another-launcher.md", budget=180.0)
def run_under_another_launcher(box, path):
    reader = Page(box, path)
    reader.build("solve")
    reader.read()


@case(budget=120.0)
def what_is_said_of_a_preemption_and_of_checkpoints(box):
    reader = Page(box, "docs/how-to/survive-preemption.md")
    job = re.search(r"^    # job.yaml\n((?:    .*\n)+)", read_page(reader.page), re.M).group(1)
    reader.save("job.yaml", re.sub("^    ", "", job, flags=re.M) + "processes_per_node: 8\ncheckpoint: {path: 'ckpt/*'}\n")
    reader.save("azure.sh", "#!/bin/sh\n[ -e taken ] && [ $(hostname) = node1 ] || exit 1\necho Azure: Preempt\necho deadline: 30\n", mode=0o755)
    reader.save("train.py", "import os, signal, time\nsignal.signal(signal.SIGTERM, lambda *_: os._exit(0))\nif os.environ['RANK'] == '0':\n"
                            "    os.mkdir('ckpt')\n    for step in (100, 200, 300): open(f'ckpt/step-{step}', 'w').write('x' * 5000), time.sleep(.1)\n"
                            "open('ready-' + os.environ['RANK'], 'w').close()\nwhile True: signal.pause()\n")
    run = reader.start_run("job.yaml", ranks=16)
    reader.save("taken", "")
    run.end(158, patience=60)
    reader.expect_said(run.text, "gpu02 is about", "FAILED after", "saved ckpt/step-300")


@case(budget=120.0)
def what_is_said_of_a_restart(box):
    reader = Page(box, "docs/how-to/restart-after-a-failure.md", 1)
    reader.save("train.py", "import os, time\nfirst, rank = (os.environ[name] for name in ('DLAUNCH_ATTEMPT', 'RANK'))\nfor step in range(1, 30):\n"
                            "    print('step', step, flush=True)\n    time.sleep(.1)\n    if first == '0' and rank == '3' and step == 20: raise SystemExit(1)\n")
    reader.save("job.yaml", "command: [python3, train.py]\nprocesses: 4\nrestart: {max: 3}\nmetrics: {step: 'step ([0-9]+)'}\n")
    run = box.start("run", env=reader.environment, cwd=reader.folder).end(0)
    reader.expect_said(run.text, "attempt 0: rank 3")


@page("how-to/see-where-ranks-stand.md")
def see_where_ranks_stand(box, path):
    reader = Page(box, path)
    run = reader.keep_running("-n", "16")
    reader.read()
    reader.stop(run)


@page("how-to/share-a-report.md")
def share_a_report(box, path):
    reader = Page(box, path)
    reader.type_line("dlaunch run -n 2 -- true")
    reader.name_run()
    reader.read()


@page("how-to/smoke-test-in-ci.md", budget=120.0)
def smoke_test_in_ci(box, path):
    read(box, path)


@page("how-to/stage-data.md", budget=180.0)
def stage_data(box, path):
    reader = Page(box, path, 7)
    reader.save("job.yaml", JOB + "hosts: 'gpu[01-04]'\nstage: [{from: corpus, to: /run/local/corpus}]\n")
    reader.save("corpus/one", "1")
    for name, options in (("data.tar", "c"), ("data.tar.zst", "c --zstd")):
        reader.type_line(f"tar {options} -f {name} corpus")
    reader.read()


@page("how-to/switch-from-another-launcher.md", budget=180.0)
def switch_from_another_launcher(box, path):
    """dlaunch's side of the tables; those of a running job (stop, runs, status) while one runs. Where no hosts are named, the job files ask for one
    node."""
    reader = Page(box, path)
    reader.build("solve")
    azure = AZURE_JOB.replace("azureml://datastores/store/paths/data", "./mnist").replace("instance_count: 2", "instance_count: 1")
    for name, text in (("job.yml", azure), ("train.sbatch", SBATCH.replace("--nodes=2", "--nodes=1")), ("config.yaml", GCLOUD),
                       ("trainer/__init__.py", ""), ("trainer/task.py", TRAIN), ("mnist/one", ""), ("hosts", "gpu01\ngpu02\ngpu03\ngpu04\n")):
        reader.save(name, text)
    commands = in_tables(path)
    expect_equal(len(commands) > 12, True, f"commands of the tables: {commands}")
    while_running = [one for one in commands if one.text in ("dlaunch runs", "dlaunch status", "dlaunch stop")]
    run = reader.keep_running("-n", "2")
    for command in sorted(while_running, key=lambda one: one.text == "dlaunch stop"):
        reader.type(command)
    run.end(143)
    reader.read(lambda _: [one for one in commands if one not in while_running])


@page("how-to/sync-code.md")
def sync_code(box, path):
    read(box, path)


@page("how-to/watch-a-run.md")
def watch_a_run(box, path):
    """Three ranks train, the fourth was stopped at step 43."""
    reader = Page(box, path)
    reader.save("train.py", "import os, signal, time\nopen('ready-' + os.environ['RANK'], 'w').close()\n"
                            "for step in range(1, 1 << 30):\n    end = time.process_time() + .02\n"
                            "    while time.process_time() < end: pass\n    print(f'step {step} loss {9 / (step + 3):.2f}', flush=True)\n"
                            "    if os.environ['RANK'] == '3' and step == 43: os.kill(os.getpid(), signal.SIGSTOP)\n")
    reader.save("job.yaml", "name: train\ncommand: [python3, train.py]\nhosts: [gpu01, gpu02]\nprocesses_per_node: 2\n"
                            "metrics: {step: 'step ([0-9]+)'}\ntimeouts: {stop: 1s}\n")
    run = reader.start_run("job.yaml", ranks=4)
    wait_until(lambda: '"state": "stopped"' in reader.ask("dlaunch status --json"), "rank 3 stands still", 60)
    reader.read()
    reader.stop(run)


@page("reference/hosts.md", budget=180.0)
def hosts(box, path):
    reader = Page(box, path, 7)
    reader.name_host("login", reader.cluster.nodes[-1])
    reader.save("hosts.txt", "".join(f"gpu{number:02d}\n" for number in range(1, 9)))
    reader.read()


@page("reference/job-file.md")
def job_file(box, path):
    read(box, path)
