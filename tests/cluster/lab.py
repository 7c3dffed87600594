"""The lab: one network, PID, UTS, IPC and mount namespace that holds a whole cluster and its launcher.

All parts of a cluster (bridge, links, nodes, daemons) are in the lab and end with it. Two labs on a machine cannot disturb each other, whatever
addresses they use, and a lab does not touch the machine's own network and ~/.ssh.
"""

import ctypes
import os
import shutil
import subprocess

TOOLS = {"unshare": "util-linux", "ip": "iproute2", "ssh": "openssh-client", "ssh-keygen": "openssh-client", "sshd": "openssh-server"}
UNSHARE = ["unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
MS_BIND = 4096
SEARCH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
_libc = ctypes.CDLL(None, use_errno=True)


def find(tool):
    """The path of a program, even if it is only in root's PATH; None if it is missing."""
    return shutil.which(tool, path=SEARCH)


def why_not():
    """Why this machine cannot have a lab; an empty text if it can."""
    missing = sorted({package for tool, package in TOOLS.items() if not find(tool)})
    if missing:
        return f"missing packages: {', '.join(missing)}"
    if os.geteuid() != 0:
        return "not root: sshd cannot log anybody in, in a user namespace"
    # Apart from namespaces, some kernels and sandboxes lack only this.
    probe = "ip link add va type veth peer name vb && ip link add name probe0 type bridge && ip link set va master probe0"
    try:
        done = subprocess.run([*UNSHARE, "sh", "-c", probe], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": SEARCH})
    except OSError as error:
        return str(error)
    return "" if done.returncode == 0 else "no namespaces with bridges: " + (done.stderr.strip().splitlines() or ["?"])[-1]


def command():
    """The command prefix that makes a command the init process of a lab."""
    return list(UNSHARE)


def mount(source, target, kind=None, flags=0, data=None):
    encode = lambda text: None if text is None else os.fsencode(text)  # noqa: E731
    if _libc.mount(encode(source), encode(target), encode(kind), flags, encode(data)) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"mount {source} on {target}: {os.strerror(error)}")


def furnish(folder, hosts):
    """Prepares this process's namespaces as the lab; call it once, in the lab. `hosts`: the text of /etc/hosts."""
    for path in ("/run", "/dev/shm"):
        mount("tmpfs", path, "tmpfs", 0, "mode=1777" if path == "/dev/shm" else "mode=755")
    for name, text in (("hosts", hosts), ("resolv.conf", "nameserver 127.0.0.1\n")):
        own = os.path.join(folder, name)
        with open(own, "w", encoding="ascii") as file:
            file.write(text)
        mount(own, f"/etc/{name}", None, MS_BIND)
    _libc.sethostname(b"launcher", len(b"launcher"))
