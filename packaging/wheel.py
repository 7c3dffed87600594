"""A wheel (packaging.python.org, "Binary distribution format") that installs the program itself, no Python code."""

import base64
import hashlib
import io
import time as clock
import zipfile

import tarball

# dlaunch is static, so it runs with any C library; these tags make pip and uv install it with glibc and with musl.
PLATFORMS = ["manylinux_2_17", "manylinux2014", "musllinux_1_1"]
METADATA = """Metadata-Version: 2.4
Name: dlaunch
Version: {version}
Summary: Starts distributed training jobs and looks after them
License-Expression: Apache-2.0
License-File: LICENSE
License-File: NOTICES
Requires-Dist: py-spy
Requires-Python: >=3.8
Classifier: Environment :: Console
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: System :: Distributed Computing
Description-Content-Type: text/markdown

"""


def record_line(path, content):
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(content)}\n"


def archive(files, time):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as target:
        for path, (content, mode) in files.items():
            entry = zipfile.ZipInfo(path, clock.gmtime(time)[:6])
            entry.compress_type, entry.create_system, entry.external_attr = zipfile.ZIP_DEFLATED, 3, (0o100000 | mode) << 16
            target.writestr(entry, content)
    return out.getvalue()


def pack(release):
    """Returns (file name, bytes)."""
    name, tags = f"dlaunch-{release.version}", [f"{one}_{release.machine}" for one in PLATFORMS]
    about = {"METADATA": METADATA.format(version=release.version).encode() + release.readme,
             "WHEEL": ("Wheel-Version: 1.0\nGenerator: dlaunch\nRoot-Is-Purelib: false\n"
                       + "".join(f"Tag: py3-none-{tag}\n" for tag in tags)).encode(),
             "licenses/LICENSE": release.licence, "licenses/NOTICES": release.notices}
    files = {}
    for path, content in sorted(release.files.items()):
        # "scripts" goes beside the environment's python, "data" below its folder.
        where = f"{name}.data/scripts/{path[4:]}" if tarball.is_program(path) else f"{name}.data/data/{path}"
        files[where] = (content, 0o755 if tarball.is_program(path) else 0o644)
    files.update({f"{name}.dist-info/{path}": (content, 0o644) for path, content in about.items()})
    record = "".join(record_line(path, content) for path, (content, _) in files.items()) + f"{name}.dist-info/RECORD,,\n"
    files[f"{name}.dist-info/RECORD"] = (record.encode(), 0o644)
    return f"{name}-py3-none-{'.'.join(tags)}.whl", archive(files, release.time)
