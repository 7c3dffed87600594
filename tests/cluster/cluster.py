"""A cluster of N nodes on this machine, each with a real sshd in network, PID, UTS, IPC and mount namespaces of its own:

    launcher (this process's namespaces) --- bridge --- node1, node2, ... nodeN

A cluster must be made in a lab (lab.py). ssh uses its own keys, known hosts and configuration: `cluster.ssh` is the command to use instead of ssh;
~/.ssh and /etc/ssh/ssh_config are not read.
"""

import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TOP, "tests", "process"))

import lab  # noqa: E402
from census import Watch, listeners  # noqa: E402
from expectations import expect  # noqa: E402
from node import Node  # noqa: E402
from wires import Wires  # noqa: E402

# Hosts that fail, each in a different way. Every cluster has them in its ssh_config, beside its nodes.
UNREACHABLE = {
    "refused": {"HostName": "{launcher}", "Port": "1"},
    "nowhere": {"HostName": "nowhere.invalid"},  # RFC 2606: never resolves
    "stranger": {"HostName": "{node1}", "HostKeyAlias": "stranger"},  # a host whose key is not known
    "wrongkey": {"HostName": "{node1}", "HostKeyAlias": "node1", "IdentityFile": "{folder}/ssh/wrong_key"},
    "impostor": {"HostName": "{node1}", "HostKeyAlias": "impostor"},  # known with another key
}


class Cluster:
    NETWORK = "10.77.0"  # only in the lab, so it cannot clash
    NETWORK6 = "fd77"

    def __init__(self, folder, count, visible=(), hidden=()):
        """`folder`: for the cluster's files; must be empty, and of the folders that each node has for itself, only /tmp may contain it. `visible`:
        folders below /tmp that the nodes must see, in addition to this source tree. `hidden`: folders in these that are empty on the nodes."""
        expect(0 < count < 200, f"a cluster of {count} nodes")
        self.folder = folder
        self.visible = sorted({os.path.join(folder, "ssh"), os.path.join(folder, "nodes"), TOP, *visible})
        self.hidden = list(hidden)
        self.launcher_address = f"{self.NETWORK}.254"
        self._hosts = {}  # additional ones: {name: ssh_config options}
        self._changed = {}  # {name of a node: options}
        self._watch = None
        self._wires = None
        os.makedirs(os.path.join(folder, "ssh"))
        self.nodes = [Node(self, number) for number in range(1, count + 1)]

    def __getitem__(self, number):
        """cluster[1] is node1."""
        return self.nodes[number - 1]

    @property
    def names(self):
        return [node.name for node in self.nodes]

    # --- its life

    def up(self):
        lab.furnish(self.folder, self._hosts_file())
        self._make_keys()
        self._write_config()
        self._connect()
        for node in self.nodes:
            node.boot()
        for node in self.nodes:
            node.wait_for_sshd()
        return self

    def down(self):
        """Ends everything that runs on the nodes. The links end with the lab."""
        if self._watch:
            self._watch.stop()
        if self._wires:
            self._wires.stop()
        for node in self.nodes:
            node.down()

    def ip(self, *words):
        done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
        expect(done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}")

    def _connect(self):
        lines = ["link set lo up", "link add bridge type bridge", "link set bridge up",
                 "link add v0 type veth peer name eth0", "link set v0 master bridge up",
                 f"addr add {self.launcher_address}/24 dev eth0", f"addr add {self.NETWORK6}::fe/64 dev eth0 nodad", "link set eth0 up"]
        for node in self.nodes:
            lines += [f"netns add {node.name}", f"link add {node.link} type veth peer name eth0 netns {node.name}",
                      f"link set {node.link} master bridge up"]
        done = subprocess.run(["ip", "-batch", "-"], input="\n".join(lines) + "\n", capture_output=True, text=True, check=False)
        expect(done.returncode == 0, f"ip: {done.stderr}")

    def launcher_link_down(self):
        """Cuts the launcher off; the nodes still reach each other."""
        self.ip("link", "set", "v0", "down")

    def launcher_link_up(self):
        self.ip("link", "set", "v0", "up")

    def make_far(self, delay, loss=0.0):
        """All traffic takes this long on the way from or to each machine, the launcher's included, and is lost with this probability: between
        two machines each of them twice. Returns the Wires, which count bytes."""
        ends = {"v0": self.ip, **{node.link: node.ip for node in self.nodes}}
        self._wires = Wires(self, ends, delay, loss)
        return self._wires

    # --- ssh

    @property
    def ssh(self):
        """The path of a program that executes ssh with the cluster's configuration. Its folder contains nothing else, so that it can be in PATH."""
        return os.path.join(self.folder, "ssh", "bin", "ssh")

    def add_host(self, name, **options):
        """Adds a host to ssh_config(5): add_host("slow", HostName=cluster[1].address, ConnectTimeout="1")."""
        self._hosts[name] = options
        self._write_config()

    def configure(self, name, **options):
        """Sets options of ssh_config(5) for a node, or for all nodes ("*")."""
        self._changed.setdefault(name, {}).update(options)
        self._write_config()

    def delay(self, name, seconds):
        """Delays all ssh traffic with a node by `seconds` in each direction, without netem, which this kernel may lack."""
        self.configure(name, ProxyCommand=f"{sys.executable} {HERE}/relay.py %h %p {seconds}")

    def environment(self):
        """Variables for a command that uses the cluster."""
        return {"PATH": os.path.dirname(self.ssh) + ":" + os.environ.get("PATH", "/usr/bin:/bin"),
                "DLAUNCH_CLUSTER": self.folder, "CLUSTER_SSH": self.ssh,
                "CLUSTER_SSH_CONFIG": os.path.join(self.folder, "ssh", "config"), "CLUSTER_HOSTS": " ".join(self.names)}

    @staticmethod
    def node_environment():
        """The environment of a node's own processes. As in a real boot, it has nothing of the caller's."""
        return {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}

    def _hosts_file(self):
        lines = ["127.0.0.1 localhost", "::1 localhost", f"{self.launcher_address} launcher"]
        return "\n".join(lines + [f"{node.address} {node.name}" for node in self.nodes]) + "\n"

    def _make_keys(self):
        folder = os.path.join(self.folder, "ssh")
        for name in ("host_key", "user_key", "wrong_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", os.path.join(folder, name)], check=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        shutil.copy(os.path.join(folder, "user_key.pub"), os.path.join(folder, "authorized_keys"))
        keys = {}
        for name in ("host_key", "wrong_key"):
            with open(os.path.join(folder, name + ".pub"), encoding="ascii") as file:
                keys[name] = " ".join(file.read().split()[:2])
        with open(os.path.join(folder, "known_hosts"), "w", encoding="ascii") as file:
            file.writelines(f"{name} {keys['host_key']}\n" for name in [*self.names, "launcher", "refused", "nowhere", "wrongkey"])
            file.write(f"impostor {keys['wrong_key']}\n")
        os.makedirs(os.path.dirname(self.ssh))
        with open(self.ssh, "w", encoding="ascii") as file:
            file.write(f'#!/bin/sh\nexec {lab.find("ssh")} -F {folder}/config "$@"\n')
        os.chmod(self.ssh, 0o755)

    def _write_config(self):
        folder = os.path.join(self.folder, "ssh")
        fill = {"launcher": self.launcher_address, "node1": self[1].address, "folder": self.folder}
        text = ""
        for name in [*self.names, *UNREACHABLE, *self._hosts]:
            if name in UNREACHABLE:
                options = {key: value.format(**fill) for key, value in UNREACHABLE[name].items()}
            elif name in self._hosts:
                options = self._hosts[name]
            else:
                options = {"HostName": self[int(name[4:])].address, "HostKeyAlias": name}
            options = {"IdentityFile": f"{folder}/user_key", **self._changed.get(name, {}), **options}
            text += f"Host {name}\n" + "".join(f"  {key} {value}\n" for key, value in options.items())
        common = {**self._changed.get("*", {}), "IdentitiesOnly": "yes", "IdentityAgent": "none",
                  "UserKnownHostsFile": f"{folder}/known_hosts", "GlobalKnownHostsFile": "/dev/null",
                  "StrictHostKeyChecking": "yes", "BatchMode": "yes", "LogLevel": "ERROR"}
        text += "Host *\n" + "".join(f"  {key} {value}\n" for key, value in common.items())
        with open(os.path.join(folder, "config"), "w", encoding="utf-8") as file:
            file.write(text)

    # --- processes

    def places(self):
        """{name: a pid in its network namespace} for the launcher and the nodes."""
        return {"launcher": os.getpid(), **{node.name: node.init for node in self.nodes if node.up}}

    def listeners(self):
        return listeners(self.places())

    def watch(self):
        """Samples listening sockets and command lines, until stop() is called on the result."""
        self._watch = Watch(self.places())
        return self._watch

    def base(self):
        """Pids of the processes of the nodes themselves."""
        return {pid for node in self.nodes if node.up for pid in node.base}

    def left(self, sessions=True):
        """{node: [pid]} for processes that are not part of the nodes themselves; empty if there are none."""
        found = {node.name: node.processes(sessions) for node in self.nodes}
        return {name: pids for name, pids in found.items() if pids}
