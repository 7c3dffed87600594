#!/usr/bin/python3
"""Runs clang-tidy over the whole tree, with the checks of .clang-tidy; a finding is a failed case.

  tests/tidy/run.py [--only PART,...]

It reads the commands of the preset `tidy`, which is configured here and need not be built: those of `asan` compile sources
together.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests", "support"))
import results  # noqa: E402

# GCC's flags, which clang does not know; the compiler's own warnings are not needed here.
COMMAND = ["clang-tidy-14", "--quiet", "--extra-arg=-Wno-unknown-warning-option"]
LIMIT = 600  # seconds for one file
BUILD = os.path.join(TOP, "build", "tidy")


def sources():
    """Files that the build compiles and clang-tidy looks at: production code. GoogleTest's macros break half of the checks."""
    subprocess.run(["cmake", "--preset", "tidy"], cwd=TOP, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=LIMIT, check=True)
    with open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8") as file:
        files = {os.path.relpath(entry["file"], TOP) for entry in json.load(file)}
    return sorted(path for path in files if path.startswith("src/"))


def look_at(path):
    start = time.monotonic()
    try:
        done = subprocess.run([*COMMAND, "-p", BUILD, path], cwd=TOP, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=LIMIT, check=False)
        found = "" if done.returncode == 0 else (done.stdout + done.stderr).strip() or f"exit code {done.returncode}"
    except subprocess.TimeoutExpired:
        found = f"not done after {LIMIT} s"
    return results.case(path, results.FAILED if found else results.PASSED, found, time.monotonic() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="files whose path contains one of these")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--all", action="store_true", help="accepted for the sake of tests/run.sh")
    parser.add_argument("--results", help="write the cases as JSON to this file")
    options = parser.parse_args()
    wanted = [part for part in options.only.split(",") if part]
    chosen = [path for path in sources() if not wanted or any(part in path for part in wanted)]
    cases = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for one in pool.map(look_at, chosen):
            print(f"{one['outcome']:8}{one['name']}  {one['seconds']:.1f} s" + (f"\n{one['detail']}" if one["detail"] else ""), flush=True)
            cases.append(one)
    results.write(options.results, cases)
    return 1 if any(one["outcome"] == results.FAILED for one in cases) else 0


if __name__ == "__main__":
    sys.exit(main())
