"""The suites of CTest, whose programs are GoogleTest's: their command, and what came of each case."""

import os
import subprocess

import results

# As in tests/process/runner.py: how often an unsteady case has to pass; and more than so many are no chance any more.
REPEATS = 3
MOST_UNSTEADY = 3


def command(build, label, folder):
    return ["ctest", "--test-dir", build, "-L", f"^{label}$", "-j", str(os.cpu_count() or 1), "--output-on-failure", "--no-tests=error",
            "--output-junit", os.path.join(folder, "ctest.xml")]


def collect(folder):
    """Cases of all programs that ctest ran; one that wrote no result (a crash) is one failed case."""
    cases = []
    junit = os.path.join(folder, "ctest.xml")
    if not os.path.exists(junit):
        return cases
    for element in results.ElementTree.parse(junit).getroot().iter("testcase"):
        program = element.get("name")
        try:
            found = results.read_gtest(os.path.join(folder, f"test_{program}.xml"))
        except (OSError, results.ElementTree.ParseError):
            found = []
        for one in found:
            one["program"] = program
        if element.get("status") == "fail" and not any(one["outcome"] == results.FAILED for one in found):
            found.append(results.case(program, results.FAILED, "ended without a result"))
        elif not found:
            found.append(results.case(program, results.PASSED))
        cases += found
    return cases


def settle(build, cases, folder, environment, limit):
    """The cases once those that failed have been tried again, by themselves: some work with processes, and a busy machine is
    sometimes slower than they allow for. One that passes each time is told as unsteady. `limit`: seconds for each."""
    failed = [one for one in cases if one["outcome"] == results.FAILED]
    if len(failed) > MOST_UNSTEADY:
        return
    for one in failed:
        if "program" in one and passes_alone(build, one, os.path.join(folder, "again"), environment, limit):
            one.update(outcome=results.PASSED, unsteady=True)


def passes_alone(build, one, folder, environment, limit):
    """A program that ran no case would pass as well, so its result file is read."""
    os.makedirs(folder, exist_ok=True)
    for number in range(REPEATS):
        own = {**os.environ, **environment, "GTEST_FILTER": one["name"], "GTEST_OUTPUT": f"xml:{folder}/{number}.xml"}
        words = ["ctest", "--test-dir", build, "-R", f"^{one['program']}$", "--no-tests=error"]
        try:
            code = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False, env=own, timeout=limit).returncode
            ran = [case for case in results.read_gtest(f"{folder}/{number}.xml") if case["name"] == one["name"]]
        except (OSError, subprocess.TimeoutExpired, results.ElementTree.ParseError):
            return False
        if code != 0 or [case["outcome"] for case in ran] != [results.PASSED]:
            return False
        os.remove(f"{folder}/{number}.xml")
    return True
