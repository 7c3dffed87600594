"""Environments that uv and virtualenv make are staged to nodes without a Python. The tools are in an environment of the cache
(docs/internals/testing.md); what they install is a wheel that is made here, because a cluster has no network."""

import os
import subprocess
import zipfile

from case import case
from cases_stage import launch, staged
from cases_stage_python import BASE, SHOW, VENV, make_python, packages, without_python
from cases_sync import picture
from expectations import Skip, expect, expect_equal

import environments

TOOLS = environments.folder("uv")
WHEELS, CACHE = "/run/wheels", "/run/uv-cache"


def make_wheel(version, name):
    """Of the module `extra`, which has a command of the same name."""
    info = f"extra-{version}.dist-info"
    files = {"extra.py": f"NAME = '{name}'\ndef main():\n    print('command', NAME)\n",
             f"{info}/METADATA": f"Metadata-Version: 2.1\nName: extra\nVersion: {version}\n",
             f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
             f"{info}/entry_points.txt": "[console_scripts]\nextra = extra:main\n"}
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    os.makedirs(WHEELS, exist_ok=True)
    with zipfile.ZipFile(f"{WHEELS}/extra-{version}-py3-none-any.whl", "w") as file:
        for path, text in files.items():
            file.writestr(path, text)


def tool(name, *words):
    path = os.path.join(TOOLS, "bin", name)
    if not os.path.exists(path):
        raise Skip(f"no {path}: docs/internals/testing.md")
    done = subprocess.run([path, *words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                          env={"PATH": "/usr/bin:/bin", "HOME": "/run/home-of-tools", "UV_CACHE_DIR": CACHE, "UV_LINK_MODE": "hardlink",
                               "UV_OFFLINE": "1", "UV_PYTHON_DOWNLOADS": "never", "PIP_NO_INDEX": "1"})
    expect(done.returncode == 0, f"{name} {' '.join(words)}\n{done.stdout}{done.stderr}")


def expect_works_on_bare_nodes(box, cluster, install):
    """The environment with the first version of the package, then with the second one; `install` installs a version."""
    make_wheel("1.0", "first")
    make_wheel("2.0", "second")
    without_python(cluster)
    stage = f"[{{from: {VENV}}}, {{from: {BASE}}}]"
    for version, name in (("1.0", "first"), ("2.0", "second")):
        install(version)
        run = launch(box, stage, command=(f"{VENV}/bin/python", "-c", SHOW)).end(0)
        expect_equal(run.out.count(f"| {VENV} {BASE} {name}".encode()), 2, f"the ranks' Python with {version}")
        expect("environment" not in run.text, run.text)
        run = launch(box, stage, command=(f"{VENV}/bin/extra",)).end(0)
        expect_equal(run.out.count(f"command {name}".encode()), 2, f"the package's command of {version}")
        expect_equal([event["bytes"] for event in staged(box).values()], [0, 0], "sent again")
        expect(os.path.isdir(f"{packages(VENV)}/extra-{version}.dist-info"), "the package is not there")
        for node in cluster.nodes:
            theirs = {path: what for path, what in picture(node.path(VENV)).items() if b"__pycache__" not in path}
            ours = {path: what for path, what in picture(VENV).items() if b"__pycache__" not in path}
            expect(theirs == ours, f"on {node.name}: {sorted(set(theirs) ^ set(ours))}")


@case(budget=120)
def an_environment_of_uv_whose_files_are_links_to_its_cache(box):
    cluster = box.make_cluster(2)
    tool("uv", "venv", "--python", make_python(), VENV)

    def install(version):
        tool("uv", "pip", "install", "--python", f"{VENV}/bin/python", "--no-index", "--find-links", WHEELS, f"extra=={version}")
        expect(os.stat(f"{packages(VENV)}/extra.py").st_nlink > 1, "uv has made no hard link")
    expect_works_on_bare_nodes(box, cluster, install)


@case(budget=120)
def an_environment_of_virtualenv(box):
    cluster = box.make_cluster(2)
    tool("virtualenv", "--python", make_python(), "--no-periodic-update", "--no-download", VENV)

    def install(version):
        done = subprocess.run([f"{VENV}/bin/python", "-m", "pip", "install", "-q", "--no-index", f"{WHEELS}/extra-{version}-py3-none-any.whl"],
                              capture_output=True, text=True, check=False)
        expect(done.returncode == 0, f"{done.stdout}{done.stderr}")
    expect_works_on_bare_nodes(box, cluster, install)
