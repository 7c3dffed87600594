"""The sessions of README.md and docs/get-started.md, typed as they stand there, in order. gpu01 is the launcher's own machine, the others
are nodes. What a command prints is compared with the page where the page shows it; each must end with code 0 but for ENDS."""

import os
import subprocess

from case import case
from doc_sessions import Names, commands, difference, fenced
from expectations import expect

# Not typed here, and why.
LEFT_OUT = {
    "dlaunch status --watch": "a screen that stays (cases_status of the watch suite)",
    "dlaunch attach 37": "a terminal (cases_attach of the watch suite)",
}
ENDS = {
    "dlaunch run job.yaml --set timeouts.run=5s   # sets any key; ends after 5 s with exit code 124": 124,
    """dlaunch run -n 4 -- python3 -c 'import os, time; 1 / (int(os.environ["RANK"]) - 2); time.sleep(60)'""": 1,
    "dlaunch stop 9ab                  # stop it; the ranks have 30 s for a checkpoint": 64,  # logs -f has followed it to its end
}
AZURE_JOB = """$schema: https://azuremlschemas.azureedge.net/latest/commandJob.schema.json
command: python3 train.py --data ${{inputs.data}}
code: .
inputs:
  data: {type: uri_folder, path: azureml://datastores/store/paths/data}
environment: azureml://registries/azureml/environments/pytorch/versions/1
compute: azureml:cluster
resources: {instance_count: 2}
distribution: {type: pytorch, process_count_per_instance: 1}
"""


class Reader:
    """Someone who sits at gpu01 and types what a page says."""

    def __init__(self, box, page, nodes=3):
        self.box, self.page = box, page
        self.cluster = box.make_cluster(nodes)
        subprocess.run(["hostname", "gpu01"], check=True)
        self.add_address("gpu01", self.cluster.launcher_address)
        for node in self.cluster.nodes:
            self.name_host(f"gpu{node.number + 1:02d}", node)
        self.names = Names("gpu01")
        self.folder = box.make_folder("project")
        programs = box.make_folder("bin")
        os.symlink(box.dlaunch, os.path.join(programs, "dlaunch"))
        os.symlink("/usr/bin/python3", os.path.join(programs, "python"))
        self.environment = {**box.environment, "PATH": f"{programs}:{os.path.dirname(self.cluster.ssh)}:/usr/bin:/bin", "HF_TOKEN": "secret"}
        self.environment.pop("RANK_PROGRAM", None)

    def add_address(self, name, address):
        with open("/etc/hosts", "a", encoding="ascii") as hosts:
            hosts.write(f"{address} {name}\n")

    def name_host(self, name, node):
        self.add_address(name, node.address)
        self.cluster.add_host(name, HostName=node.address, HostKeyAlias=node.name)

    def save(self, name, text, mode=0o644):
        os.chmod(self.box.write(os.path.join("project", name), text), mode)

    def type(self, command, ends=ENDS):
        done = subprocess.run(["bash", "-c", self.names.here(command.text)], cwd=self.folder, env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False)
        seen = done.stdout.splitlines()
        where = f"{self.page}:{command.line}: {command.text}"
        expect(done.returncode == ends.get(command.text, 0), f"{where}: exit code {done.returncode}\n{done.stdout}")
        if command.output:
            self.names.learn(command.output, seen)
            wrong = difference(self.names, command.output, seen)
            expect(not wrong, f"{where}: {wrong}\n{done.stdout}")

    def read(self):
        typed = [command for command in commands(self.page) if command.text.split("   ")[0] not in LEFT_OUT]
        expect(typed, f"{self.page} has no session")
        for command in typed:
            self.type(command)


@case(budget=180.0)
def get_started_works_as_it_is_written(box):
    reader = Reader(box, "docs/get-started.md")
    reader.save("train.py", fenced(reader.page, "python")[0])
    reader.save("job.yaml", fenced(reader.page, "yaml")[0])
    reader.read()


@case(budget=180.0)
def the_readme_works_as_it_is_written(box):
    reader = Reader(box, "README.md")
    reader.save("train.py", "import time\ntime.sleep(1)\n")
    reader.save("job.yaml", fenced(reader.page, "yaml")[0].replace("processes_per_node: gpu", "processes_per_node: 1"))  # no GPU here
    reader.save("venv/bin/activate", "")
    reader.save("cloud-job.yml", AZURE_JOB)
    reader.save("data/one", "")
    reader.read()
