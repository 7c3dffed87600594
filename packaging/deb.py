"""A package for Debian and Ubuntu (deb(5)). It needs nothing else, because dlaunch is static."""

import hashlib

import tarball

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
CONTROL = """Package: dlaunch
Version: {version}
Architecture: {architecture}
Maintainer: The dlaunch authors <dlaunch@invalid>
Installed-Size: {kibibytes}
Recommends: openssh-client
Section: science
Priority: optional
Description: start distributed training jobs
 dlaunch starts a job of PyTorch, TensorFlow, JAX or MPI on one machine, over
 SSH or in Slurm, checks the nodes first, and looks after the job until every
 process is gone.
"""


def member(name, content, time):
    """One file of an ar archive (ar(5)); the next one begins at an even offset."""
    header = f"{name:<16}{time:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n"
    return header.encode() + content + b"\n" * (len(content) % 2)


def installed(release):
    """Path below / -> bytes, at the places that Debian has for them."""
    files = {}
    for path, content in release.files.items():
        if path.startswith("share/man/"):
            path, content = path + ".gz", tarball.compressed(content)
        files["usr/" + path.replace("zsh/site-functions", "zsh/vendor-completions")] = content
    files["usr/share/doc/dlaunch/copyright"] = release.licence + b"\n" + release.notices
    return files


def pack(release):
    """Returns (file name, bytes)."""
    files, architecture = installed(release), ARCHITECTURES[release.machine]
    size = sum(len(content) for content in files.values())
    control = CONTROL.format(version=release.version, architecture=architecture, kibibytes=-(-size // 1024))
    sums = "".join(f"{hashlib.md5(content).hexdigest()}  {path}\n" for path, content in sorted(files.items()))
    about = {"control": control.encode(), "md5sums": sums.encode()}
    members = {"debian-binary": b"2.0\n",
               "control.tar.gz": tarball.compressed(tarball.tar(about, release.time, "./")),
               "data.tar.gz": tarball.compressed(tarball.tar(files, release.time, "./"))}
    content = b"!<arch>\n" + b"".join(member(name, one, release.time) for name, one in members.items())
    return f"dlaunch_{release.version}_{architecture}.deb", content
