#!/usr/bin/python3
"""Runs the examples as their READMEs say, with the dlaunch that was just built, and checks their output."""

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
TENSORFLOW_LIMIT = 200  # importing TensorFlow takes 3 s of a core in each process
# Where a TensorFlow from PyPI may be; docs/internals/testing.md says how to install it.
TENSORFLOW = os.path.expanduser("~/.cache/dlaunch-test/tf-venv/bin/python")


class Skip(Exception):
    """Ends an example that cannot run here; the text says why."""


def run(dlaunch, arguments, folder, limit=LIMIT, **environment):
    done = subprocess.run([dlaunch, *arguments], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=limit, env={**os.environ, **environment}, check=False)
    print(f"$ dlaunch {' '.join(arguments)}\n{done.stdout}{done.stderr}exit code {done.returncode}", flush=True)
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-3000:]}"
    return done


def check_training(done, ranks):
    """Checks what train.py printed; the ranks have asserted these facts."""
    total = ranks * (ranks - 1) // 2
    assert f"world of {ranks} ranks, sum of ranks {total}" in done.stdout, "the ranks did not form one world"
    losses = [float(loss) for loss in re.findall(r"loss ([0-9.]+)", done.stdout)]
    assert len(losses) >= 3 and losses[-1] < losses[0], f"the loss did not fall: {losses}"
    assert re.search(rf"equal weights on all {ranks} ranks, sha256 [0-9a-f]{{12}}", done.stdout), "no hash of the weights"
    accuracy = float(re.findall(r"test accuracy ([0-9.]+)", done.stdout)[-1])
    assert accuracy > 0.95, f"test accuracy {accuracy}"
    assert re.search(rf"dlaunch: done in .*, {ranks} ranks ok, logs in runs/", done.stderr), "no summary of dlaunch"


def pytorch_ddp(dlaunch, folder):
    """Runs it like examples/quickstart.sh."""
    check_training(run(dlaunch, ["run", "examples/pytorch-ddp/job.yaml"], folder), 4)


def pytorch_ddp_in_its_own_folder(dlaunch, folder):
    """Runs it as its README says, on two ranks."""
    own = os.path.join(folder, "examples/pytorch-ddp")
    check_training(run(dlaunch, ["run", "job.yaml", "--set", "workdir=.", "-n", "2", "--", "--world", "2"], own), 2)


def python_with_tensorflow():
    """The first Python that finds TensorFlow: $PYTHON, the one in the cache, or the system's."""
    for python in (os.environ.get("PYTHON"), TENSORFLOW, "/usr/bin/python3"):
        find = "import importlib.util, sys; sys.exit(importlib.util.find_spec('tensorflow') is None)"
        if python and os.access(python, os.X_OK) and subprocess.run([python, "-c", find], check=False).returncode == 0:
            return python
    raise Skip("no python here has tensorflow (docs/internals/testing.md, Frameworks)")


def tensorflow_mirrored(dlaunch, folder):
    python = python_with_tensorflow()
    done = run(dlaunch, ["run", "examples/tensorflow-mirrored/job.yaml"], folder, TENSORFLOW_LIMIT, PYTHON=python)
    assert "world of 2 workers, sum of indices 1" in done.stdout, "the workers did not form one world"
    assert "equal weights on all 2 workers" in done.stdout, "the workers did not end with equal weights"
    assert re.search(r"dlaunch: done in .*, 2 ranks ok", done.stderr), "no summary of dlaunch"


def tensorflow_parameter_server(dlaunch, folder):
    """The servers and the evaluator never end by themselves, so a successful run also tests `success: chief`."""
    python = python_with_tensorflow()
    done = run(dlaunch, ["run", "examples/tensorflow-parameter-server/job.yaml"], folder, TENSORFLOW_LIMIT, PYTHON=python)
    assert "chief: 2 workers and 1 parameter servers answered" in done.stdout, "the servers of TF_CONFIG did not answer"
    assert re.search(r"evaluator: ckpt-240  loss 0\.0", done.stdout), "the evaluator saw no last checkpoint"
    assert re.search(r"chief: evaluated loss [0-9.e-]+, done", done.stdout), "the chief did not come to its end"


EXAMPLES = [pytorch_ddp, pytorch_ddp_in_its_own_folder, tensorflow_mirrored, tensorflow_parameter_server]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dlaunch", default=os.environ.get("DLAUNCH_BIN", os.path.join(TOP, "build/release/bin/dlaunch")))
    parser.add_argument("--all", action="store_true", help="accepted for the sake of tests/run.sh; there is no long version")
    parser.add_argument("--only", default="", help="examples whose name contains this")
    parser.add_argument("--results", help="write the cases as JSON to this file")
    options = parser.parse_args()
    cases = []
    for example in (one for one in EXAMPLES if options.only in one.__name__):
        start, fault, skipped = time.monotonic(), "", ""
        with tempfile.TemporaryDirectory(prefix="dlaunch-examples-") as folder:
            shutil.copytree(os.path.join(TOP, "examples"), os.path.join(folder, "examples"))
            try:
                example(os.path.abspath(options.dlaunch), folder)
            except Skip as why:
                skipped = str(why)
            except (AssertionError, OSError, subprocess.SubprocessError) as error:
                fault = f"{type(error).__name__}: {error}"
        outcome = results.FAILED if fault else results.SKIPPED if skipped else results.PASSED
        cases.append(results.case(example.__name__, outcome, fault or skipped, time.monotonic() - start))
        print(f"{outcome:8}{example.__name__}  {fault or skipped}", flush=True)
    results.write(options.results, cases)
    return 1 if any(one["outcome"] == results.FAILED for one in cases) else 0


if __name__ == "__main__":
    sys.exit(main())
