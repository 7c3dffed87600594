"""A tarball to unpack anywhere, or over ~/.local (--strip-components=1). Also the tar files of a .deb."""

import gzip
import io
import os
import tarfile


def compressed(content):
    """gzip without a name or a time."""
    return gzip.compress(content, 9, mtime=0)


def tar(files, time, prefix=""):
    """The bytes of a tar file, everything owned by root. `files`: path -> bytes; those in a folder bin are executable."""
    folders = set()
    for path in files:
        while path := os.path.dirname(path):
            folders.add(path)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted(folders | set(files)):
            entry = tarfile.TarInfo(prefix + path)
            entry.mtime, entry.uname, entry.gname = time, "root", "root"
            if path in files:
                entry.size, entry.mode = len(files[path]), 0o755 if is_program(path) else 0o644
                archive.addfile(entry, io.BytesIO(files[path]))
            else:
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(entry)
    return out.getvalue()


def is_program(path):
    return os.path.basename(os.path.dirname(path)) == "bin"


def pack(release):
    """Returns (file name, bytes)."""
    name = f"dlaunch-{release.version}"
    texts = {"LICENSE": release.licence, "NOTICES": release.notices, "README.md": release.readme}
    files = {f"{name}/{path}": content for path, content in release.files.items()}
    files.update({f"{name}/share/doc/dlaunch/{path}": content for path, content in texts.items()})
    return f"{name}-linux-{release.machine}.tar.gz", compressed(tar(files, release.time))
