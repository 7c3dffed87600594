#!/usr/bin/env python3
"""What needs a GPU: NCCL's back-end against a reference and beside plain NCCL, dlaunch bench, dlaunch check --local, a training.

  tests/gpu/run.py [--only PART,...] [--dlaunch FILE]
  tests/gpu/run.py --programs FOLDER     programs that were built elsewhere (cmake -S tests/gpu/programs -B FOLDER; cmake --build FOLDER)
  tests/gpu/run.py --figures FILE        what was measured, as JSON (tests/gpu/run.sh)

Works on a machine that has a driver, a GPU, libnccl.so.2 (PyTorch's is found, too) and python3, as any user, without namespaces, network
and MPI. Missing requirements skip cases with a reason; without a GPU all but those of the page are skipped.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(TOP, "tests", "support"), os.path.join(TOP, "tests", "process")]
import cases  # noqa: E402
import gpu_here  # noqa: E402
import results  # noqa: E402
from expectations import Skip  # noqa: E402

LIMIT = 300  # seconds for one command: a hang, on any machine
ALL = 480  # seconds for everything: a machine with a GPU may be lent for 15 minutes


class Box:
    """What a case works with: a folder of its own, and dlaunch."""

    def __init__(self, dlaunch, folder, programs, figures, end):
        self.dlaunch, self.folder, self.programs = dlaunch, folder, programs
        self.figures = figures  # what page.py reads
        self.gpus = gpu_here.gpu_count()
        self.end = end  # time.monotonic()
        self._environment = {**os.environ, **gpu_here.environment(), "TMPDIR": folder}

    def command(self, words, code=0, cwd=None):
        """Its stdout and stderr."""
        done = subprocess.run(words, cwd=cwd or self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=max(1, min(LIMIT, self.end - time.monotonic())), env=self._environment, check=False)
        if code is not None and done.returncode != code:
            raise AssertionError(f"{' '.join(words)}: exit code {done.returncode}, not {code}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done

    def start(self, *words):
        """For something to look at while it runs; the caller ends it. Its output goes nowhere."""
        return subprocess.Popen([self.dlaunch, *words], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, env=self._environment)

    def run(self, *words, **more):
        return self.command([self.dlaunch, *words], **more)

    def program(self, name):
        """Of tests/gpu/programs; built once, where none were given."""
        if reason := gpu_here.why_not(self.programs):
            raise Skip(reason)
        if not self.programs:
            self.programs = Box.built = getattr(Box, "built", None) or gpu_here.build_programs(tempfile.mkdtemp(prefix="dlaunch-gpu-"))
        return os.path.join(self.programs, name)


def outcome_of(case, box):
    """(outcome, detail)"""
    if case.needs_gpu and not gpu_here.has_gpu():
        return results.SKIPPED, f"no GPU here ({gpu_here.DEVICE})"
    if time.monotonic() >= box.end:
        return results.FAILED, f"not begun: the {ALL} s for all cases are over"
    try:
        case(box)
    except Skip as why:
        return results.SKIPPED, str(why)
    except (AssertionError, OSError, subprocess.SubprocessError, LookupError, ValueError) as error:
        return results.FAILED, f"{type(error).__name__}: {error}"
    return results.PASSED, ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dlaunch", default=os.environ.get("DLAUNCH_BIN", os.path.join(TOP, "build/release/bin/dlaunch")))
    parser.add_argument("--programs", help="folder of the programs, built elsewhere")
    parser.add_argument("--only", default="", help="cases whose name contains one of these")
    parser.add_argument("--all", action="store_true", help="accepted for the sake of tests/run.sh; there is no long version")
    parser.add_argument("--figures", help="write what was measured as JSON to this file")
    parser.add_argument("--results", help="write the cases as JSON to this file")
    options = parser.parse_args()
    programs = os.path.abspath(options.programs) if options.programs else None
    wanted = [part for part in options.only.split(",") if part]
    found, figures, begun = [], {}, time.monotonic()
    for case in cases.CASES:
        if wanted and not any(part in case.__name__ for part in wanted):
            continue
        start = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="dlaunch-gpu-") as folder:
            outcome, detail = outcome_of(case, Box(os.path.abspath(options.dlaunch), folder, programs, figures, begun + ALL))
        found.append(results.case(case.__name__, outcome, detail, time.monotonic() - start))
        print(f"{outcome:8}{case.__name__}  {detail}", flush=True)
    if hasattr(Box, "built"):
        shutil.rmtree(os.path.dirname(Box.built), ignore_errors=True)
    results.write(options.results, found)
    if options.figures and figures:
        with open(options.figures, "w", encoding="utf-8") as file:
            json.dump({**figures, "seconds": round(time.monotonic() - begun, 1), "cases": found}, file, indent=1)
    elif options.figures:
        print(f"no figures, {options.figures} is not written")
    return 1 if any(one["outcome"] == results.FAILED for one in found) else 0


if __name__ == "__main__":
    sys.exit(main())
