"""Builds dlaunch, runs the suites within their time budgets and counts; called by tests/run.sh."""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import Callable

import results

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PYTHON = "/usr/bin/python3"
TAIL_LINES = 60
SANITIZERS_ARE_SLOWER = 4


@dataclass
class Options:
    everything: bool
    sanitize: bool

    @property
    def unit_preset(self):
        return "asan" if self.sanitize else "debug"

    @property
    def program_preset(self):
        return "asan" if self.sanitize else "release"

    @property
    def program(self):
        return os.path.join(TOP, "build", self.program_preset, "bin", "dlaunch")


@dataclass
class Suite:
    name: str
    presets: Callable[[Options], list]  # what has to be built first
    command: Callable[[Options, str], list]  # (options, folder for results) -> argv
    budget: int  # seconds
    budget_all: int = 0  # with --all, when longer
    only_all: bool = False
    environment: dict = field(default_factory=dict)


@dataclass
class Outcome:
    suite: str
    cases: list
    seconds: float
    log: str


def python_suite(script, *arguments):
    def command(options, folder):
        extra = ["--all"] if options.everything else []
        return [PYTHON, os.path.join(TOP, "tests", script), *arguments, *extra,
                "--dlaunch", options.program, "--results", os.path.join(folder, "cases.json")]
    return command


def ctest_suite(label):
    def command(options, folder):
        return ["ctest", "--test-dir", os.path.join(TOP, "build", options.unit_preset), "-L", f"^{label}$",
                "-j", str(os.cpu_count() or 1), "--output-on-failure", "--no-tests=error",
                "--output-junit", os.path.join(folder, "ctest.xml")]
    return command



def unit_preset(options):
    return [options.unit_preset]


def program_preset(options):
    return [options.program_preset]


SUITES = [
    Suite("layers", lambda options: [], python_suite("layers/check.py"), budget=60),
    Suite("unit", unit_preset, ctest_suite("unit"), budget=180),
    Suite("sim", unit_preset, ctest_suite("sim"), budget=180, budget_all=1200),
    Suite("process", program_preset, python_suite("process/run.py"), budget=300, budget_all=900),
    Suite("examples", program_preset, python_suite("examples/run.py"), budget=180),
    Suite("bench", program_preset, python_suite("bench/launch", "--check"), budget=900, only_all=True),
]
BUILD_BUDGET = 3600


def say(text):
    print(text, flush=True)


def tail(path, lines=TAIL_LINES):
    with open(path, encoding="utf-8", errors="replace") as file:
        content = file.read().splitlines()
    skipped = len(content) - lines
    head = [f"  [{skipped} lines before these in {os.path.relpath(path, TOP)}]"] if skipped > 0 else []
    return "\n".join(head + ["  | " + line for line in content[-lines:]])


def run_logged(command, log, budget, environment=None):
    """Exit code, or None when the command ran over its budget and was killed with all its children."""
    with open(log, "ab") as file:
        process = subprocess.Popen(command, cwd=TOP, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                                   start_new_session=True, env={**os.environ, **(environment or {})})
        try:
            return process.wait(budget)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return None
        except KeyboardInterrupt:
            os.killpg(process.pid, signal.SIGTERM)
            raise


def build(preset, folder):
    """One case for the count: a build that fails is a failed test."""
    log = os.path.join(folder, f"build-{preset}.log")
    say(f"build {preset} ...")
    start = time.monotonic()
    code = run_logged(["cmake", "--preset", preset], log, 300)
    if code == 0:
        code = run_logged(["cmake", "--build", "--preset", preset], log, BUILD_BUDGET)
    seconds = time.monotonic() - start
    if code == 0:
        return Outcome(f"build {preset}", [results.case(preset, results.PASSED, "", seconds)], seconds, log)
    why = "ran out of time" if code is None else f"exit code {code}"
    say(f"build {preset} FAILED ({why})\n{tail(log)}")
    return Outcome(f"build {preset}", [results.case(preset, results.FAILED, why, seconds)], seconds, log)


def collect_gtest(folder):
    """Cases of all programs that ctest ran; one that wrote no result (a crash) is one failed case."""
    cases = []
    junit = os.path.join(folder, "ctest.xml")
    if not os.path.exists(junit):
        return cases
    for element in results.ElementTree.parse(junit).getroot().iter("testcase"):
        own = os.path.join(folder, f"test_{element.get('name')}.xml")
        try:
            found = results.read_gtest(own)
        except (OSError, results.ElementTree.ParseError):
            found = []
        status = element.get("status")
        if status == "fail" and not any(one["outcome"] == results.FAILED for one in found):
            found.append(results.case(element.get("name"), results.FAILED, "ended without a result"))
        elif not found:
            found.append(results.case(element.get("name"), results.PASSED))
        cases += found
    return cases


def run_suite(suite, options, folder):
    folder = os.path.join(folder, suite.name)
    os.makedirs(folder)
    log = os.path.join(folder, "log")
    budget = max(suite.budget, suite.budget_all if options.everything else 0)
    budget *= SANITIZERS_ARE_SLOWER if options.sanitize else 1
    say(f"{suite.name} ... (at most {budget} s)")
    # GoogleTest writes <folder>/<program>.xml when it is given a folder.
    environment = {"GTEST_OUTPUT": f"xml:{folder}/", **suite.environment}
    start = time.monotonic()
    code = run_logged(suite.command(options, folder), log, budget, environment)
    seconds = time.monotonic() - start
    try:
        cases = results.read(os.path.join(folder, "cases.json"))
    except (OSError, ValueError):
        cases = collect_gtest(folder)
    failed = [one for one in cases if one["outcome"] == results.FAILED]
    if code is None:
        cases.append(results.case(suite.name, results.FAILED, f"over its budget of {budget} s", seconds))
    elif code != 0 and not failed:
        cases.append(results.case(suite.name, results.FAILED, f"exit code {code}", seconds))
    elif not cases:
        cases.append(results.case(suite.name, results.FAILED, "ran no test", seconds))
    show(suite.name, cases, log)
    return Outcome(suite.name, cases, seconds, log)


def show(name, cases, log):
    for one in cases:
        if one["outcome"] == results.SKIPPED:
            say(f"  SKIPPED {one['name']}: {one['detail']}")
    failed = [one for one in cases if one["outcome"] == results.FAILED]
    for one in failed:
        detail = "\n".join("    " + line for line in one["detail"].splitlines()[:40])
        say(f"  FAILED {one['name']}\n{detail}")
    if failed:
        say(f"  end of the log of {name}:\n{tail(log)}")


def count(cases, outcome):
    return sum(one["outcome"] == outcome for one in cases)


def print_table(outcomes):
    say(f"\n{'suite':<16}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}")
    for one in outcomes:
        numbers = [count(one.cases, what) for what in (results.PASSED, results.FAILED, results.SKIPPED)]
        say(f"{one.suite:<16}{numbers[0]:>8}{numbers[1]:>8}{numbers[2]:>9}{one.seconds:>9.1f}")


def parse_arguments():
    names = [suite.name for suite in SUITES]
    parser = argparse.ArgumentParser(prog="tests/run.sh", description="Builds dlaunch and runs its tests.")
    parser.add_argument("--all", action="store_true", help="the long versions and the benchmarks too")
    parser.add_argument("--only", metavar="SUITE,...", help="only these: " + ", ".join(names))
    parser.add_argument("--asan", action="store_true", help="with AddressSanitizer and UBSan")
    arguments = parser.parse_args()
    wanted = arguments.only.split(",") if arguments.only else None
    for name in wanted or []:
        if name not in names:
            parser.error(f"no suite {name}; there are: {', '.join(names)}")
    suites = [suite for suite in SUITES if (suite.name in wanted if wanted else arguments.all or not suite.only_all)]
    return Options(arguments.all, arguments.asan), suites


def main():
    options, suites = parse_arguments()
    folder = os.path.join(TOP, "build", "test-results")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    outcomes, built = [], {}
    for suite in suites:
        for preset in suite.presets(options):
            if preset not in built:
                outcomes.append(build(preset, folder))
                built[preset] = count(outcomes[-1].cases, results.FAILED) == 0
        if all(built[preset] for preset in suite.presets(options)):
            outcomes.append(run_suite(suite, options, folder))
    print_table(outcomes)
    cases = [one for outcome in outcomes for one in outcome.cases]
    failed = count(cases, results.FAILED)
    say(f"\n{count(cases, results.PASSED)} passed, {failed} failed, {count(cases, results.SKIPPED)} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
