"""Builds dlaunch, runs the suites within their time budgets, and counts the results; called by tests/run.sh."""

import argparse
import glob
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import Callable

import ctest_suite
import results

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PYTHON = "/usr/bin/python3"
TAIL_LINES = 60


@dataclass
class Options:
    everything: bool
    patience: float  # factor of all budgets


@dataclass
class Suite:
    name: str
    presets: list  # CMake presets to build first
    command: Callable[[Options, str], list]  # (options, folder for results) -> argv
    budget: int  # seconds
    budget_all: int = 0  # with --all, when longer
    only_all: bool = False
    presets_all: tuple = ()  # with --all, these too
    variables_all: dict = field(default_factory=dict)  # with --all, these environment variables


@dataclass
class Outcome:
    suite: str
    cases: list
    seconds: float
    log: str


def program(preset):
    return os.path.join(TOP, "build", preset, "bin", "dlaunch")


def python_suite(script, *arguments):
    """A script that takes --all and --results."""
    def command(options, folder):
        extra = ["--all"] if options.everything else []
        return [PYTHON, os.path.join(TOP, "tests", script), *arguments, *extra,
                "--results", os.path.join(folder, "cases.json")]
    return command


def fuzz_suite(options, folder):
    coverage = ["--coverage-build", os.path.join(TOP, "build", "fuzz-coverage")] if options.everything else []
    return python_suite("fuzz/run.py", "--folder", os.path.join(folder, "found"), *coverage)(options, folder)


def build_folder(preset):
    return os.path.join(TOP, "build", preset)


def ctest(preset, label):
    return lambda options, folder: ctest_suite.command(build_folder(preset), label, folder)


SUITES = [
    Suite("layers", [], python_suite("layers/check.py"), budget=20),
    Suite("unit", ["asan"], ctest("asan", "unit"), budget=240, budget_all=480, variables_all={"DLAUNCH_RHYTHMS": "1000"}),
    Suite("sim", ["asan"], ctest("asan", "sim"), budget=300, budget_all=3600),
    # spec_tool, beside this dlaunch, has the same reader.
    Suite("schema", ["asan"], python_suite("schema/check.py", "--dlaunch", program("asan")), budget=60, budget_all=900),
    Suite("process", ["release"], python_suite("process/run.py", "--dlaunch", program("release")), budget=280, budget_all=900),
    # These cases have also run without a sanitizer, so a usual run takes only a third of them.
    Suite("process-asan", ["asan"], python_suite("process/run.py", "--share", "3", "--dlaunch", program("asan")), budget=200,
          budget_all=1800),
    Suite("chaos", ["release"], python_suite("chaos/run.py", "--dlaunch", program("release")), budget=120, budget_all=1200),
    Suite("chaos-nodes", ["release"], python_suite("chaos/run.py", "--nodes", "--dlaunch", program("release")), budget=150,
          budget_all=1800),
    Suite("cluster", ["release"], python_suite("cluster/run.py", "--dlaunch", program("release")), budget=600, budget_all=1200),
    Suite("check", ["release"], python_suite("check/run.py", "--dlaunch", program("release")), budget=480, budget_all=6000),
    Suite("mpi", ["release"], python_suite("mpi/run.py", "--dlaunch", program("release")), budget=240, budget_all=400),
    Suite("watch", ["release"], python_suite("watch/run.py", "--dlaunch", program("release")), budget=220, budget_all=7200),
    Suite("containers", ["release"], python_suite("containers/run.py", "--dlaunch", program("release")), budget=120, budget_all=300),
    Suite("collectives", ["release"], python_suite("collectives/run.py", "--dlaunch", program("release")), budget=150, budget_all=1500),
    # Without a GPU, every case is skipped at once.
    Suite("gpu", ["release"], python_suite("gpu/run.py", "--dlaunch", program("release")), budget=300),
    Suite("slurm", ["release"], python_suite("slurm/run.py", "--dlaunch", program("release")), budget=220, budget_all=400),
    Suite("packages", ["release"], python_suite("packages/run.py", "--dlaunch", program("release")), budget=100, budget_all=14000),
    Suite("examples", ["release"], python_suite("examples/run.py", "--dlaunch", program("release")), budget=120,
          budget_all=360),
    Suite("frameworks", ["release"], python_suite("frameworks/run.py", "--dlaunch", program("release")), budget=240, budget_all=1800),
    Suite("plan-file", ["release"], python_suite("bench/plan-file", "--check", "--dlaunch", program("release")), budget=60),
    Suite("fuzz", ["fuzz"], fuzz_suite, budget=300, budget_all=3000, presets_all=("fuzz-coverage",)),
    Suite("unit-tsan", ["tsan"], ctest("tsan", "unit"), budget=900, only_all=True),
    Suite("process-tsan", ["tsan"], python_suite("process/run.py", "--dlaunch", program("tsan")), budget=3600, only_all=True),
    Suite("tidy", [], python_suite("tidy/run.py"), budget=3600, only_all=True),
    Suite("bench", ["release"], python_suite("bench/launch", "--check", "--dlaunch", program("release")), budget=900, only_all=True),
    Suite("bench-ssh", ["release"], python_suite("bench/ssh", "--check", "--dlaunch", program("release")), budget=1800, only_all=True),
    Suite("bench-mpi", ["release"], python_suite("bench/mpi", "--check", "--dlaunch", program("release")), budget=900, only_all=True),
    Suite("bench-collectives", ["release"], python_suite("bench/collectives", "--dlaunch", program("release")), budget=900, only_all=True),
    Suite("bench-output", ["release"], python_suite("bench/output", "--check", "--dlaunch", program("release")), budget=300, only_all=True),
    Suite("bench-idle", ["release"], python_suite("bench/idle", "--check", "--dlaunch", program("release")), budget=60, only_all=True),
]
# The goal for a usual run from a clean clone on two idle cores, with builds. The budgets above add up to more, because each is a limit for a busy
# machine.
WHOLE_GOAL = 35 * 60
BUILD_BUDGET = 3600


def presets_of(suite, options):
    return suite.presets + (list(suite.presets_all) if options.everything else [])


def say(text):
    print(text, flush=True)


def tail(path, lines=TAIL_LINES):
    with open(path, encoding="utf-8", errors="replace") as file:
        content = file.read().splitlines()
    skipped = len(content) - lines
    head = [f"  [{skipped} lines before these in {os.path.relpath(path, TOP)}]"] if skipped > 0 else []
    return "\n".join(head + ["  | " + line for line in content[-lines:]])


def run_logged(command, log, budget, environment=None):
    """The exit code, or None if the command ran over its budget and was killed with all its children."""
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
    """Returns one case, because a build that fails counts as a failed test."""
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


def sanitizer_options(suite, folder):
    """The options of the sanitizers. Reports go to files, so that none is lost with the stderr of its process. The fuzz targets have other options,
    because libFuzzer reads their reports."""
    if not any(preset in suite.presets for preset in ("asan", "tsan")):
        return {}
    common = f"log_path={folder}/sanitizer-report"
    return {"ASAN_OPTIONS": common + ":detect_leaks=1:strict_string_checks=1", "UBSAN_OPTIONS": common + ":print_stacktrace=1",
            "TSAN_OPTIONS": common + ":second_deadlock_stack=1"}


def sanitizer_reports(folder):
    """A failed case for each report."""
    cases = []
    for path in sorted(glob.glob(os.path.join(folder, "sanitizer-report.*"))):
        with open(path, encoding="utf-8", errors="replace") as file:
            cases.append(results.case(os.path.basename(path), results.FAILED, file.read()))
    return cases


def run_suite(suite, options, folder):
    folder = os.path.join(folder, suite.name)
    os.makedirs(folder)
    log = os.path.join(folder, "log")
    budget = int(options.patience * max(suite.budget, suite.budget_all if options.everything else 0))
    say(f"{suite.name} ... (at most {budget} s)")
    # GoogleTest writes <folder>/<program>.xml when it is given a folder.
    environment = {"GTEST_OUTPUT": f"xml:{folder}/", **sanitizer_options(suite, folder), **(suite.variables_all if options.everything else {})}
    start = time.monotonic()
    code = run_logged(suite.command(options, folder), log, budget, environment)
    seconds = time.monotonic() - start
    try:
        cases = results.read(os.path.join(folder, "cases.json"))
    except (OSError, ValueError):
        cases = ctest_suite.collect(folder)
        if not options.everything:
            ctest_suite.settle(build_folder(suite.presets[0]), cases, folder, environment, budget)
    cases += sanitizer_reports(folder)
    failed = [one for one in cases if one["outcome"] == results.FAILED]
    if code is None:
        cases.append(results.case(suite.name, results.FAILED, f"over its budget of {budget} s", seconds))
    elif code != 0 and not failed and not any(one.get("unsteady") for one in cases):
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
    for one in cases:
        if "unsteady" in one:
            known = f"known: {one['unsteady']}" if one["unsteady"] else "counts as failed"
            say(f"  UNSTEADY {one['name']}: failed at first, then passed each time by itself ({known})")
            if one["unsteady"]:
                say("    " + "\n    ".join(one["detail"].splitlines()[:20]))
    for one in failed:
        detail = "\n".join("    " + line for line in one["detail"].splitlines()[:40])
        say(f"  FAILED {one['name']}\n{detail}")
    if failed:
        say(f"  end of the log of {name}:\n{tail(log)}")


def count(cases, outcome):
    return sum(one["outcome"] == outcome for one in cases)


def print_table(outcomes, seconds):
    say(f"\n{'suite':<16}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}")
    for one in outcomes:
        numbers = [count(one.cases, what) for what in (results.PASSED, results.FAILED, results.SKIPPED)]
        say(f"{one.suite:<16}{numbers[0]:>8}{numbers[1]:>8}{numbers[2]:>9}{one.seconds:>9.1f}")
    say(f"{'in all':<41}{seconds:>9.1f}")


def print_failures(outcomes):
    """Prints the failures once more at the end, where a reader of a long log looks first."""
    for one in outcomes:
        for failed in (case for case in one.cases if case["outcome"] == results.FAILED):
            lines = failed["detail"].strip().splitlines() or [""]
            say(f"FAILED {one.suite}: {failed['name']}" + "".join(f"\n    {line[:200]}" for line in lines[:6]))
        if count(one.cases, results.FAILED):
            say(tail(one.log, 6))


def parse_arguments():
    names = [suite.name for suite in SUITES]
    parser = argparse.ArgumentParser(prog="tests/run.sh", description="Builds dlaunch and runs its tests.")
    parser.add_argument("--all", action="store_true", help="the long versions and the benchmarks too")
    parser.add_argument("--only", metavar="SUITE,...", help="only these: " + ", ".join(names))
    parser.add_argument("--patience", metavar="N", type=float, default=1, help="time budgets times N, for a busy machine")
    arguments = parser.parse_args()
    if arguments.patience <= 0:
        parser.error("--patience wants a number above 0")
    wanted = arguments.only.split(",") if arguments.only else None
    for name in wanted or []:
        if name not in names:
            parser.error(f"no suite {name}; there are: {', '.join(names)}")
    suites = [suite for suite in SUITES if (suite.name in wanted if wanted else arguments.all or not suite.only_all)]
    return Options(arguments.all, arguments.patience), suites


def main():
    sys.stdout.reconfigure(errors="backslashreplace")  # a failure may quote a name that is not UTF-8
    options, suites = parse_arguments()
    folder = os.path.join(TOP, "build", "test-results")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    start = time.monotonic()
    outcomes, built = [], {}
    for suite in suites:
        for preset in presets_of(suite, options):
            if preset not in built:
                outcomes.append(build(preset, folder))
                built[preset] = count(outcomes[-1].cases, results.FAILED) == 0
        if all(built[preset] for preset in presets_of(suite, options)):
            outcomes.append(run_suite(suite, options, folder))
    seconds = time.monotonic() - start
    print_table(outcomes, seconds)
    print_failures(outcomes)
    if not options.everything and seconds > WHOLE_GOAL:
        say(f"note: {seconds / 60:.0f} minutes; on two idle cores the goal is at most {WHOLE_GOAL // 60}")
    cases = [one for outcome in outcomes for one in outcome.cases]
    failed = count(cases, results.FAILED)
    unsteady = sum(bool(one.get("unsteady")) for one in cases)
    if unsteady:
        say(f"\n{unsteady} of those that passed failed at first (UNSTEADY above)")
    say(f"\n{count(cases, results.PASSED)} passed, {failed} failed, {count(cases, results.SKIPPED)} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
