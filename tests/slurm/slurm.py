"""A real Slurm over the nodes of a cluster (tests/cluster): slurmctld and munged in the lab, a slurmd on each node.

It is confined to the lab's namespaces and one folder, so it does not touch the machine's own Slurm, and it ends with the lab. It has no cgroups
(proctrack/pgid, task/none), and each node claims to have 64 CPUs, so that two cores can run many tasks.
"""

import os
import shutil
import subprocess
import tempfile

import lab
from expectations import expect
from processes import wait_until

PROGRAMS = {"munged": "munge", "slurmctld": "slurmctld", "slurmd": "slurmd", "srun": "slurm-client", "sbatch": "slurm-client"}
DAEMONS = {"munged", "slurmctld", "slurmscriptd", "slurmd", "slurmstepd"}
LOOK = 0.02  # seconds between polls
CONFIGURATION = """
ClusterName=lab
SlurmctldHost=launcher({launcher})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge
CredType=cred/munge
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=0
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
GresTypes=gpu
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n.spool
SlurmdPidFile={folder}/%n.pid
SlurmdLogFile={folder}/%n.log
SlurmctldPidFile={folder}/ctld.pid
SlurmctldLogFile={folder}/ctld.log
SlurmdTimeout={down_after}
SlurmctldTimeout=10
KillWait={kill_wait}
OverTimeLimit=0
JobRequeue=1
MinJobAge=300
{nodes}
PartitionName=lab Nodes=ALL Default=YES MaxTime=INFINITE State=UP {lab_preempt}
"""
# Stand-ins for GPUs. slurmd needs a character device for each, and then sets CUDA_VISIBLE_DEVICES.
GPU_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random")
# A job of `urgent` takes the nodes from those of `lab`.
PREEMPTION = """
PreemptType=preempt/partition_prio
PreemptMode={mode}
PreemptExemptTime=0
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
"""


def why_not():
    """Why this machine cannot run Slurm; an empty text if it can."""
    missing = sorted({package for program, package in PROGRAMS.items() if not lab.find(program)})
    if missing:
        return f"missing packages: {', '.join(missing)}"
    return lab.why_not()


def is_daemon(pid):
    """Whether the process belongs to Slurm, or is the nsenter(1) that started such a process. True if it has ended."""
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip() in DAEMONS | {"nsenter"}
    except OSError:
        return True


class Slurm:
    def __init__(self, folder, cluster, kill_wait=3, gpus=0, masks=None, down_after=300, preempt=None, grace=0):
        """`folder`: all nodes must see it, and its path must be short, because sockets are below it. `gpus`: how many each node has, at most 4; they
        exist in name only. `masks`: {node: CPUs} that the slurmd of this node, and so all its steps, may use. `down_after`: SlurmdTimeout. `preempt`:
        CANCEL or REQUEUE, what a job of the partition `urgent` does to jobs of `lab`, after `grace` seconds."""
        self.cluster = cluster
        self.folder = tempfile.mkdtemp(prefix="s", dir=folder)
        self._daemons = []
        self._controller = None
        self._nodes = {}
        self.environment = {"SLURM_CONF": os.path.join(self.folder, "slurm.conf")}
        self._masks = masks or {}
        self._write(kill_wait, gpus, down_after, preempt, grace)

    def _write(self, kill_wait, gpus, down_after, preempt, grace):
        os.chmod(self.folder, 0o711)
        os.mkdir(os.path.join(self.folder, "state"))
        gres = f" Gres=gpu:{gpus}" if gpus else ""
        nodes = [f"NodeName={node.name} NodeAddr={node.address} CPUs=64 RealMemory=4000{gres} State=UNKNOWN" for node in self.cluster.nodes]
        for node in self.cluster.nodes:
            os.mkdir(os.path.join(self.folder, f"{node.name}.spool"))
        text = CONFIGURATION.format(folder=self.folder, launcher=self.cluster.launcher_address, nodes="\n".join(nodes), kill_wait=kill_wait,
                                    down_after=down_after,
                                    lab_preempt=f"PreemptMode={preempt} GraceTime={grace}" if preempt else "PreemptMode=OFF")
        if preempt:
            text += PREEMPTION.format(mode=preempt)
        devices = "".join(f"Name=gpu File={device}\n" for device in GPU_DEVICES[:gpus])
        for name, content in (("slurm.conf", text), ("cgroup.conf", "CgroupPlugin=cgroup/v1\n"), ("gres.conf", "AutoDetect=off\n" + devices)):
            with open(os.path.join(self.folder, name), "w", encoding="ascii") as file:
                file.write(content)
        key = os.open(os.path.join(self.folder, "key"), os.O_WRONLY | os.O_CREAT, 0o400)
        os.write(key, os.urandom(1024))
        os.close(key)

    # --- life cycle

    def up(self):
        at = lambda name: os.path.join(self.folder, name)  # noqa: E731
        self._start([lab.find("munged"), "-F", "--force", f"--key-file={at('key')}", f"--socket={at('munge')}", f"--pid-file={at('munge.pid')}",
                     f"--log-file={at('munge.log')}", f"--seed-file={at('munge.seed')}"])
        wait_until(lambda: os.path.exists(at("munge")), "munged listens", 10, LOOK)
        self._controller = self._start([lab.find("slurmctld"), "-D", "-i"])
        for node in self.cluster.nodes:
            self.start_slurmd(node, ["taskset", "-c", self._masks[node.name]] if node.name in self._masks else [])
        self.wait_for(f"{len(self.cluster.nodes)} idle")
        return self

    def start_slurmd(self, node, prefix=()):
        """`prefix`: a command that executes slurmd, such as taskset."""
        self._nodes[node.name] = self._start(node.inside(*prefix, lab.find("slurmd"), "-D", "-N", node.name))

    def stop_controller(self):
        self._controller.kill()
        self._controller.wait()

    def slurmd(self, node):
        """The pid of a node's slurmd."""
        with open(f"/proc/{self._nodes[node.name].pid}/task/{self._nodes[node.name].pid}/children", encoding="ascii") as file:
            return int(file.read().split()[0])

    def _start(self, command):
        with open(os.path.join(self.folder, "daemons.log"), "ab") as log:
            daemon = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                                      env={"PATH": lab.SEARCH, **self.environment})
        self._daemons.append(daemon)
        return daemon

    def pids(self):
        return [daemon.pid for daemon in self._daemons]

    def wait_for(self, state, patience=20.0):
        """Waits until sinfo(1) reports this for all nodes: "2 idle"."""
        def there():
            return self.command("sinfo", "-h", "-o", "%D %t", check=False).strip() == state
        try:
            wait_until(there, f"sinfo says {state}", patience, LOOK)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.command('sinfo', check=False)}\n{self.logs()}") from None

    def down(self):
        """Ends the other daemons. Call it after the nodes are down, which ends their slurmds."""
        for daemon in reversed(self._daemons):
            if daemon.poll() is None:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def logs(self):
        text = ""
        for name in sorted(os.listdir(self.folder)):
            if name.endswith(".log"):
                with open(os.path.join(self.folder, name), encoding="utf-8", errors="replace") as file:
                    text += f"--- {name}\n{file.read()[-3000:]}"
        return text

    # --- its commands

    def command(self, *words, check=True, env=None):
        """Runs one of Slurm's commands; returns its stdout."""
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=30,
                              env={"PATH": lab.SEARCH, "HOME": "/root", **self.environment, **(env or {})})
        expect(not check or done.returncode == 0, f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}\n")
        return done.stdout

    def job(self, number, env=None):
        """{key: value} of `scontrol show job`."""
        words = self.command("scontrol", "-o", "show", "job", str(number), env=env).split()
        return dict(word.split("=", 1) for word in words if "=" in word)

    def wait_for_job(self, number, states=("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED"), patience=40.0):
        """Waits until the job is in one of these states, and returns it."""
        found = {}

        def there():
            found.update(self.job(number))
            return found["JobState"] in states
        try:
            wait_until(there, f"job {number} is {' or '.join(states)}", patience, 5 * LOOK)
        except AssertionError as error:
            raise AssertionError(f"{error}; it is {found}\n{self.logs()}") from None
        return found
