"""The Python environments in which rows run (Debian's, and those that setup.sh makes): where they are, and what they contain."""

import importlib.metadata
import os
import subprocess

CACHE = os.path.expanduser("~/.cache/dlaunch-test")
DEBIAN = "debian"
SYSTEM = "/usr/local/bin:/usr/bin:/bin"


def folder(environment):
    return os.path.join(CACHE, f"{environment}-venv")


def variables(environment):
    """The variables of a shell in which the environment is active."""
    if environment == DEBIAN:
        return {"PATH": SYSTEM}
    return {"PATH": f"{folder(environment)}/bin:{SYSTEM}", "VIRTUAL_ENV": folder(environment)}


def make_without(environment, packages, place):
    """Makes an environment at `place` that has everything in `environment` except these packages. Returns the variables of a shell in which it is
    active."""
    subprocess.run([f"{folder(environment)}/bin/python3", "-m", "venv", "--without-pip", place], check=True)
    (theirs,) = packages_folders(environment)
    ours = os.path.join(place, "lib", os.path.basename(os.path.dirname(theirs)), "site-packages")
    for name in os.listdir(theirs):
        if not any(name == package or name.startswith(f"{package}-") for package in packages):
            os.symlink(os.path.join(theirs, name), os.path.join(ours, name))
    return {"PATH": f"{place}/bin:{SYSTEM}", "VIRTUAL_ENV": place}


def packages_folders(environment):
    """The folders with the packages; none for Debian, whose packages dpkg knows."""
    lib = os.path.join(folder(environment), "lib")
    names = os.listdir(lib) if os.path.isdir(lib) else []
    return [os.path.join(lib, name, "site-packages") for name in names if name.startswith("python3")]


def debian_version(package):
    done = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}", package], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    status, _, version = done.stdout.partition(" ")
    return version if status == "installed" else None


def version(environment, package):
    """The version of a package; None if it is not installed. A name that begins with python3- or lib is a Debian package."""
    if package.startswith(("python3-", "lib")):
        return debian_version(package)
    found = importlib.metadata.distributions(name=package, path=packages_folders(environment))
    return next((one.version for one in found), None)


def why_not(environment, packages):
    """Why these packages cannot be used; an empty text if they can."""
    missing = [package for package in packages if version(environment, package) is None]
    if not missing:
        return ""
    if environment == DEBIAN:
        return f"missing packages: {', '.join(missing)}"
    return f"no {', '.join(missing)} in {folder(environment)}: tests/frameworks/setup.sh {environment}"
