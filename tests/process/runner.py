"""Runs the cases of a folder with cases_*.py modules, each case in its own namespaces. Used by the run.py of each suite with such modules."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(TOP, "tests", "support"))
import case as case_module  # noqa: E402
import results  # noqa: E402
import unsteady  # noqa: E402


@dataclass
class CaseSuite:
    name: str
    folder: str  # of the cases
    sandbox: str = "sandbox.Sandbox"  # what a case gets: module and class
    namespace: list = field(default_factory=list)  # the command that gives a case its namespaces; empty: not available
    jobs: int = 2  # cases at once; where cases mostly wait for nodes or for Slurm, 3 keep two cores half busy
    why_skipped: str = ""  # not empty: every case is skipped, for this reason


class Runner:
    def __init__(self, suite, folder, dlaunch):
        self.suite, self.folder = suite, folder
        # A copy, so that a build meanwhile does not change the program under test.
        self.dlaunch = shutil.copy(dlaunch, os.path.join(folder, "dlaunch"))
        self.rank = os.path.join(folder, "rank")
        subprocess.run(["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-o", self.rank, os.path.join(HERE, "ranks", "rank.c")],
                       check=True)

    def run(self, one, attempt=""):
        name = f"{one.module[6:]}.{one.name}"
        if self.suite.why_skipped:
            return results.case(name, results.SKIPPED, self.suite.why_skipped, 0.0)
        folder = os.path.join(self.folder, one.module, one.name + attempt)
        os.makedirs(folder)
        os.chmod(folder, 0o755)
        result = os.path.join(self.folder, one.module, one.name + attempt + ".json")
        start = time.monotonic()
        command = [*self.suite.namespace, "/usr/bin/python3", os.path.join(HERE, "run_case.py"), os.pathsep.join(dict.fromkeys(sys.path)),
                   self.suite.sandbox, one.module, one.name, folder, result, self.dlaunch, self.rank]
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except OSError as error:  # no process or no memory: this case alone fails
            return results.case(name, results.FAILED, f"it could not be started: {error}", 0.0)
        try:
            output = process.communicate(timeout=one.budget)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            process.kill()  # and --kill-child ends the namespace
            output = process.communicate()[0].decode(errors="replace") + f"\nover its budget of {one.budget} s"
        seconds = time.monotonic() - start
        try:
            with open(result, encoding="utf-8") as file:
                outcome = json.load(file)
        except (OSError, ValueError):
            outcome = {"outcome": results.FAILED, "detail": "the case ended without a result\n" + output}
        if outcome["outcome"] == results.FAILED and output.strip():
            outcome["detail"] += "\n" + output
        return results.case(name, outcome["outcome"], outcome["detail"], seconds)


def is_in_share(one, share):
    """Decides by a hash of the name, so that a new case does not move others in or out."""
    return zlib.crc32(f"{one.module}.{one.name}".encode()) % share == 0


def report(one):
    print(f"{one['outcome']:8}{one['name']}  {one['seconds']:.1f} s" + (f"\n{one['detail']}" if one["detail"] else ""),
          flush=True)


def main(suite, description):
    sys.stdout.reconfigure(errors="backslashreplace")  # a failure may quote a name that is not UTF-8
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dlaunch", default=os.environ.get("DLAUNCH_BIN", os.path.join(TOP, "build/release/bin/dlaunch")))
    parser.add_argument("--only", default="", help="cases whose name contains one of these")
    parser.add_argument("--jobs", type=int, default=suite.jobs)
    parser.add_argument("--all", action="store_true", help="long versions too")
    parser.add_argument("--share", type=int, default=1, metavar="N", help="without --all and --only: one case of N, the same ones each time")
    parser.add_argument("--keep", action="store_true", help="keep the folders of the cases, and say where")
    parser.add_argument("--results", help="write the cases as JSON to this file")
    options = parser.parse_args()
    sys.path.insert(0, suite.folder)
    for module in sorted(name[:-3] for name in os.listdir(suite.folder) if name.startswith("cases_") and name.endswith(".py")):
        __import__(module)
    wanted = [part for part in options.only.split(",") if part]
    chosen = [one for one in case_module.CASES
              if (not wanted or any(part in f"{one.module[6:]}.{one.name}" for part in wanted))
              and (options.all or wanted or (not one.long and is_in_share(one, options.share)))]
    if options.share > 1 and not options.all and not wanted:
        print(f"{len(chosen)} of {sum(not one.long for one in case_module.CASES)} cases; --all runs every one", flush=True)

    folder = tempfile.mkdtemp(prefix=f"dlaunch-{suite.name}-")
    os.chmod(folder, 0o755)
    try:
        runner = Runner(suite, folder, options.dlaunch)
        if not suite.namespace and not suite.why_skipped:
            print("no namespaces here (unshare is not permitted): the cases run below a subreaper instead", flush=True)
        outcomes = []

        def keep(outcome):
            report(outcome)
            outcomes.append(outcome)
            results.write(options.results, outcomes)  # the outcomes so far, in case the suite runs over its budget

        chosen.sort(key=lambda one: one.alone)  # those use resources that all runs on the machine share
        together = [one for one in chosen if not one.alone]
        with ThreadPoolExecutor(options.jobs) as pool:
            for outcome in pool.map(runner.run, together):
                keep(outcome)
        for one in chosen[len(together):]:
            keep(runner.run(one))
        if not options.all:
            unsteady.settle(outcomes, lambda i, repeat: runner.run(chosen[i], f"-again-{repeat}")["outcome"] == results.PASSED)
            for one in outcomes:
                if "unsteady" in one:
                    print(f"unsteady {one['name']}: failed at first, then passed each time by itself", flush=True)
    finally:
        if options.keep:
            print(f"the cases' folders are in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    results.write(options.results, outcomes)
    numbers = {what: sum(one["outcome"] == what for one in outcomes) for what in ("passed", "failed", "skipped")}
    print(", ".join(f"{number} {what}" for what, number in numbers.items()))
    return 1 if numbers["failed"] else 0
