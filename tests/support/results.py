"""What a suite returns to tests/run.sh: a JSON file with one entry per test case."""

import json
import xml.etree.ElementTree as ElementTree

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


def case(name, outcome, detail="", seconds=0.0):
    """`detail`: why it failed or was skipped."""
    return {"name": name, "outcome": outcome, "detail": detail, "seconds": round(seconds, 3)}


def write(path, cases):
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(cases, file, indent=1)


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def read_gtest(path):
    """The cases of a file that --gtest_output=xml wrote."""
    cases = []
    for element in ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{element.get('classname')}.{element.get('name')}"
        seconds = float(element.get("time", "0"))
        failures = [failure.get("message", "") for failure in element.findall("failure")]
        skipped = element.find("skipped")
        if failures:
            cases.append(case(name, FAILED, "\n".join(failures), seconds))
        elif skipped is not None or element.get("status") == "notrun":
            reason = skipped.get("message", "") if skipped is not None else "disabled"
            cases.append(case(name, SKIPPED, reason, seconds))
        else:
            cases.append(case(name, PASSED, "", seconds))
    return cases
