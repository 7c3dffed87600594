#!/usr/bin/python3
"""Runs the examples as the README tells, with the dlaunch that was just built, and looks at what they say."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests", "support"))
import results  # noqa: E402

LIMIT = 120  # seconds for one example


def run(dlaunch, arguments, folder):
    done = subprocess.run([dlaunch, *arguments], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=LIMIT, check=False)
    print(f"$ dlaunch {' '.join(arguments)}\n{done.stdout}{done.stderr}exit code {done.returncode}", flush=True)
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-3000:]}"
    return done


def check_training(done, ranks):
    """The facts that train.py has asserted in the ranks, as it printed them."""
    total = ranks * (ranks - 1) // 2
    assert f"world of {ranks} ranks, sum of ranks {total}" in done.stdout, "the ranks did not form one world"
    losses = [float(loss) for loss in re.findall(r"loss ([0-9.]+)", done.stdout)]
    assert len(losses) >= 3 and losses[-1] < losses[0], f"the loss did not fall: {losses}"
    assert re.search(rf"equal weights on all {ranks} ranks, sha256 [0-9a-f]{{12}}", done.stdout), "no hash of the weights"
    accuracy = float(re.findall(r"test accuracy ([0-9.]+)", done.stdout)[-1])
    assert accuracy > 0.95, f"test accuracy {accuracy}"
    assert re.search(rf"dlaunch: done in .*, {ranks} ranks ok, logs in runs/", done.stderr), "no summary of dlaunch"


def pytorch_ddp(dlaunch, folder):
    """As examples/quickstart.sh runs it."""
    check_training(run(dlaunch, ["run", "examples/pytorch-ddp/job.yaml"], folder), 4)


def pytorch_ddp_in_its_own_folder(dlaunch, folder):
    """As its README tells, on two ranks."""
    own = os.path.join(folder, "examples/pytorch-ddp")
    check_training(run(dlaunch, ["run", "job.yaml", "--set", "workdir=.", "-n", "2", "--", "--world", "2"], own), 2)


EXAMPLES = [pytorch_ddp, pytorch_ddp_in_its_own_folder]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dlaunch", default=os.environ.get("DLAUNCH_BIN", os.path.join(TOP, "build/release/bin/dlaunch")))
    parser.add_argument("--all", action="store_true", help="accepted for the sake of tests/run.sh; there is no long version")
    parser.add_argument("--results", help="write the cases as JSON to this file")
    options = parser.parse_args()
    cases = []
    for example in EXAMPLES:
        start, fault = time.monotonic(), ""
        with tempfile.TemporaryDirectory(prefix="dlaunch-examples-") as folder:
            shutil.copytree(os.path.join(TOP, "examples"), os.path.join(folder, "examples"))
            try:
                example(os.path.abspath(options.dlaunch), folder)
            except (AssertionError, OSError, subprocess.SubprocessError) as error:
                fault = f"{type(error).__name__}: {error}"
        outcome = results.FAILED if fault else results.PASSED
        cases.append(results.case(example.__name__, outcome, fault, time.monotonic() - start))
        print(f"{outcome:8}{example.__name__}  {fault}", flush=True)
    results.write(options.results, cases)
    return 1 if any(one["outcome"] == results.FAILED for one in cases) else 0


if __name__ == "__main__":
    sys.exit(main())
