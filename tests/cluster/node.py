"""One node of a cluster (cluster.py): its life cycle, its settings and its faults."""

import os
import shlex
import signal
import subprocess

from census import processes_of_namespace
from expectations import Skip, expect
from lab import find
from processes import children_of, command_of, stat_of, wait_gone, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
POLL = 0.002  # seconds between looks at the log of an sshd that starts
HOME = "/run/home"  # of root on every node; each has its own
UNSHARE = ["unshare", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
# The file that a shell reads when sshd gives it a command (`SHELL -c COMMAND`). bash reads one only as Debian builds it (SSH_SOURCE_BASHRC); dash and
# busybox's ash read none.
RC_FILES = {"bash": ".bashrc", "fish": ".config/fish/config.fish", "tcsh": ".tcshrc"}


class Node:
    def __init__(self, cluster, number):
        self.cluster, self.number = cluster, number
        self.name = f"node{number}"
        self.address = f"{cluster.NETWORK}.{number}"
        self.address6 = f"{cluster.NETWORK6}::{number:x}"
        self.folder = os.path.join(cluster.folder, "nodes", self.name)
        self.link = f"v{number}"  # its end of the cable on the bridge
        self.sshd_options = {}
        self._cgroup = None  # its folder, where the node's processor is limited
        self._keeper = None  # the unshare(1) whose only child is the node's init
        self.init = 0
        self.base = set()  # the processes of the node itself, as pids of the lab
        os.makedirs(self.folder)
        self._write_accounts("/bin/bash")

    # --- life

    def boot(self):
        """Starts the node without waiting for it (wait_for_sshd)."""
        self._write_sshd_config()
        self._forget_log()
        with open(os.path.join(self.folder, "boot.log"), "ab") as log:
            self._keeper = subprocess.Popen(
                ["ip", "netns", "exec", self.name, *UNSHARE, "sh", os.path.join(HERE, "node.sh"), self.name,
                 f"{self.address}/24", f"{self.address6}/64", self.folder, *self.cluster.visible],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**self.cluster.node_environment(), "HIDDEN": " ".join(self.cluster.hidden)}, start_new_session=True)

    def wait_for_sshd(self):
        try:
            wait_until(self._is_up, f"{self.name} is up", 10, POLL)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self._logs()}") from None
        self.init = children_of(self._keeper.pid)[0]
        self.base = {self._keeper.pid, self.init, *children_of(self.init)}

    def _forget_log(self):
        """Removes the log of sshd, in which an earlier sshd may have said that it listens."""
        path = os.path.join(self.folder, "sshd.log")
        if os.path.exists(path):
            os.unlink(path)

    def _is_up(self):
        expect(self._keeper.poll() is None, f"{self.name} did not boot")
        try:
            with open(os.path.join(self.folder, "sshd.log"), encoding="utf-8", errors="replace") as file:
                return "Server listening" in file.read()
        except FileNotFoundError:
            return False

    def _logs(self):
        text = ""
        for name in ("boot.log", "sshd.log"):
            try:
                with open(os.path.join(self.folder, name), encoding="utf-8", errors="replace") as file:
                    text += f"--- {name}\n{file.read()}"
            except FileNotFoundError:
                pass
        return text

    @property
    def up(self):
        return self._keeper is not None and self._keeper.poll() is None

    def down(self):
        """Ends the node. When this returns, all its processes are gone."""
        if not self.up:
            return
        self._keeper.kill()  # --kill-child: the node's init dies with it, and so does the whole PID namespace
        self._keeper.wait()
        wait_gone([self.init] if self.init else [], f"{self.name} is down")
        if self._cgroup:
            wait_until(self._try_to_remove_cgroup, f"the cgroup of {self.name} is empty", 10, POLL)

    def power_off(self):
        """Ends everything on the node at once, without a single packet."""
        self.link_down()
        self.down()

    def crash(self):
        """Ends everything on the node at once, but the kernel still closes the connections."""
        self.down()

    # --- inspecting and working inside

    def inside(self, *argv):
        """The command that runs argv on the node, without ssh."""
        return ["nsenter", "-t", str(self.init), "-m", "-u", "-i", "-n", "-p", "--", *argv]

    def sh(self, script, check=True):
        """Runs a script as root on the node; returns its output as text."""
        done = subprocess.run(self.inside("sh", "-c", script), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": HOME})
        expect(not check or done.returncode == 0, f"on {self.name}: {script}\n{done.stdout}{done.stderr}")
        return done.stdout

    def path(self, path):
        """The path at which this process finds a file of the node."""
        return f"/proc/{self.init}/root{path}"

    def home(self, *parts):
        return self.path(os.path.join(HOME, *parts))

    def processes(self, sessions=True):
        """The pids, in the lab, of all processes on the node that are not part of the node itself, without zombies. `sessions`: whether to include
        those of sshd."""
        if not self.up:
            return []
        found = [pid for pid in processes_of_namespace(self.init) if pid not in self.base and (stat_of(pid) or "Z")[0] not in "ZX"]
        return found if sessions else [pid for pid in found if not is_sshd(pid)]

    def sshd(self):
        """The pid of the listening sshd; None if it is gone."""
        for pid in children_of(self.init):
            if is_sshd(pid) and is_listener(command_of(pid)):
                return pid
        return None

    def sshd_sessions(self):
        """The pids of the sshd processes that serve a connection."""
        listener = self.sshd()
        return [pid for pid in self.processes() if pid != listener and is_sshd(pid)]

    # --- its link

    def link_down(self):
        self.cluster.ip("link", "set", self.link, "down")

    def link_up(self):
        self.cluster.ip("link", "set", self.link, "up")

    def ip(self, *words):
        self.sh(shlex.join(["ip", *words]))

    def drop(self, direction, peer=None):
        """Silently drops what the node receives ("in") or sends ("out"), only from or to `peer` if it is given. The other direction works."""
        chain, interface, address = ("INPUT", "-i", "-s") if direction == "in" else ("OUTPUT", "-o", "-d")
        self._iptables("-I", chain, interface, "eth0", *([address, peer.address] if peer else []), "-j", "DROP")

    def drop_nothing(self):
        self._iptables("-F")

    def _iptables(self, *words):
        if not find("iptables"):
            raise Skip("missing package: iptables")
        done = subprocess.run(self.inside(find("iptables"), "-w", *words), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Skip(f"iptables does not work here: {done.stderr.strip()}")

    def slow_link(self, rate="10mbit"):
        """Limits the rate of the link in both directions, for example to 10mbit or 256kbit."""
        shape = ["root", "tbf", "rate", rate, "burst", "16kb", "latency", "100ms"]
        self._tc(["tc", "qdisc", "replace", "dev", self.link, *shape])
        self._tc(self.inside("tc", "qdisc", "replace", "dev", "eth0", *shape))

    def fast_link(self):
        self._tc(["tc", "qdisc", "del", "dev", self.link, "root"])
        self._tc(self.inside("tc", "qdisc", "del", "dev", "eth0", "root"))

    @staticmethod
    def _tc(command):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Skip(f"tc does not work here: {done.stderr.strip()}")

    # --- its processors

    def limit_cpu(self, percent):
        """Limits everything on the node to this share of one CPU: the quota of a cgroup (v2, or v1's controller cpu)."""
        own = f"dlaunch-test-{os.getpid()}-{self.name}"
        for base, files in (("/sys/fs/cgroup/cpu", {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": f"{percent * 1000}"}),
                            ("/sys/fs/cgroup", {"cpu.max": f"{percent * 1000} 100000"})):
            folder = os.path.join(base, own)
            try:
                os.mkdir(folder)
                self._cgroup = folder
                for name, text in files.items():
                    write_file(os.path.join(folder, name), text)
                for pid in processes_of_namespace(self.init):
                    write_file(os.path.join(folder, "cgroup.procs"), str(pid))
                return
            except OSError:
                self._remove_cgroup()
        raise Skip("no cgroup with a processor limit can be made here")

    def _try_to_remove_cgroup(self):
        try:
            self._remove_cgroup()
        except OSError:  # its last process still exists
            return False
        return True

    def _remove_cgroup(self):
        if self._cgroup and os.path.isdir(self._cgroup):
            os.rmdir(self._cgroup)
        self._cgroup = None

    # --- its processes

    def hang(self):
        """Sends SIGSTOP to everything on the node. Its kernel still answers."""
        stopped = set()
        while True:
            found = {pid for pid in processes_of_namespace(self.init)} - stopped
            if not found:
                return
            for pid in sorted(found):
                _signal(pid, signal.SIGSTOP)
            stopped |= found

    def go_on(self):
        for pid in processes_of_namespace(self.init):
            _signal(pid, signal.SIGCONT)

    def kill_sessions(self):
        """Cuts every connection of sshd by killing its sessions; what they served lives on. Returns how many processes were killed."""
        sessions = self.sshd_sessions()
        for pid in sessions:
            _signal(pid, signal.SIGKILL)
        wait_gone(sessions, f"sessions of {self.name}")
        return len(sessions)

    def kill_sshd(self):
        """Kills the listening sshd. There are no new connections, but the old ones live on."""
        listener = self.sshd()
        _signal(listener, signal.SIGKILL)
        wait_gone([listener], f"sshd of {self.name}")

    def start_sshd(self, **options):
        """Starts sshd (again), with these options of sshd_config(5) in place of the usual ones, for example MaxStartups="1"."""
        if self.sshd():
            self.kill_sshd()
        self.sshd_options = options
        self._write_sshd_config()
        self._forget_log()
        # As a child of the node's init, as at boot.
        self.sh(f"setsid {find('sshd')} -D -e -f {self.folder}/sshd_config 2>>{self.folder}/sshd.log >/dev/null </dev/null &")
        wait_until(lambda: self._is_up() and self.sshd(), f"sshd of {self.name}", 10, POLL)
        self.base.add(self.sshd())

    # --- its accounts

    def set_shell(self, shell):
        """Sets root's login shell: bash, dash, ash (busybox), fish or tcsh."""
        path = find("busybox" if shell == "ash" else shell)
        if not path:
            raise Skip(f"missing package: {'busybox-static' if shell == 'ash' else shell}")
        if shell == "ash":  # busybox acts according to the name by which it is called
            self.sh(f"ln -sf {path} /run/ash")
            path = "/run/ash"
        self._write_accounts(path)

    def set_rc(self, text, shell="bash"):
        """Writes the rc file of this shell, which it also reads over ssh."""
        path = self.home(RC_FILES[shell])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def set_home(self, options):
        """Mounts a new, empty home folder, with these options of mount(8) for tmpfs: "ro", "noexec", "size=64k", ..."""
        self.sh(f"umount -l {HOME}; mount -t tmpfs -o mode=700,{options} tmpfs {HOME}")

    def fill(self, folder=HOME):
        """Fills up the file system of the folder."""
        self.sh(f"cat /dev/zero > {folder}/filling 2>/dev/null || true")

    def forbid_execution(self, *folders):
        """Remounts these folders, which are mount points, with noexec."""
        for folder in folders:
            self.sh(f"mount -o remount,bind,noexec {folder}")

    def _write_accounts(self, shell):
        """Writes the node's own /etc/passwd and /etc/shadow, with root as above and the user trainer with bash. They are bind mounts, so they are
        written in place."""
        with open("/etc/passwd", encoding="utf-8") as file:
            others = [line for line in file if line.split(":")[0] not in ("root", "trainer")]
        own = [f"root:*:0:0:root:{HOME}:{shell}\n", "trainer:*:2000:2000::/run/trainer:/bin/bash\n"]
        with open(os.path.join(self.folder, "passwd"), "w", encoding="utf-8") as file:
            file.writelines(own + others)
        with open(os.path.join(self.folder, "shadow"), "w", encoding="utf-8") as file:
            file.write("root:*:19000::::::\ntrainer:*:19000::::::\n")  # '!' would be a locked account

    def _write_sshd_config(self):
        keys = os.path.join(self.cluster.folder, "ssh")
        options = {"HostKey": f"{keys}/host_key", "AuthorizedKeysFile": f"{keys}/authorized_keys", "PidFile": "none", "UsePAM": "no",
                   "StrictModes": "no", "PermitRootLogin": "yes", "PasswordAuthentication": "no", "UseDNS": "no",
                   "MaxStartups": "200", "PrintMotd": "no", "PrintLastLog": "no", **self.sshd_options}
        with open(os.path.join(self.folder, "sshd_config"), "w", encoding="utf-8") as file:
            file.writelines(f"{key} {value}\n" for key, value in options.items())


def is_listener(command):
    """Whether this is the command line of a listening sshd. It says "[listener]" only a moment after the log says that sshd listens; sessions have
    -R."""
    words = command.split()
    return "[listener]" in words or ("-D" in words and "-R" not in words)


def is_sshd(pid):
    """Whether the process is an sshd, by its name, which an exiting process still has. True if the process is gone."""
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip() == "sshd"
    except OSError:
        return True


def write_file(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def _signal(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
