"""The suites that CTest runs, with GoogleTest programs: their command, and the result of each case."""

import os
import subprocess

import results
import unsteady


def command(build, label, folder):
    return ["ctest", "--test-dir", build, "-L", f"^{label}$", "-j", str(os.cpu_count() or 1), "--output-on-failure", "--no-tests=error",
            "--output-junit", os.path.join(folder, "ctest.xml")]


def collect(folder):
    """The cases of all programs that ctest ran. A program that failed without a result (a crash) is one failed case."""
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
    """Repeats the cases that failed (unsteady.py). `limit`: seconds for each."""
    unsteady.settle(cases, lambda i, repeat: passes_alone(build, cases[i], os.path.join(folder, f"again-{repeat}"), environment, limit))


def passes_alone(build, one, folder, environment, limit):
    """Reads the result file, because a program that runs no case passes, too."""
    if "program" not in one:
        return False
    os.makedirs(folder, exist_ok=True)
    own = {**os.environ, **environment, "GTEST_FILTER": one["name"], "GTEST_OUTPUT": f"xml:{folder}/result.xml"}
    words = ["ctest", "--test-dir", build, "-R", f"^{one['program']}$", "--no-tests=error"]
    try:
        code = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False, env=own, timeout=limit).returncode
        ran = [case for case in results.read_gtest(f"{folder}/result.xml") if case["name"] == one["name"]]
        os.remove(f"{folder}/result.xml")
    except (OSError, subprocess.TimeoutExpired, results.ElementTree.ParseError):
        return False
    return code == 0 and [case["outcome"] for case in ran] == [results.PASSED]
