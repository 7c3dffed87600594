#!/usr/bin/python3
"""Chaos: random parts of dlaunch are killed or stopped at random moments, see docs/internals/testing.md.

  tests/chaos/run.py [--nodes] [--seed N] [--count N] [--all] [--jobs N] [--keep] [--dlaunch FILE]     (or $DLAUNCH_BIN)

--nodes: the same on two to four nodes over ssh, and nodes and links are hit too; as root.
Without --seed: seeds 1 to 20 (10); with --all 200 (100) seeds, drawn anew each time. To repeat a failure, use
`--seed N`; the moments are then the same as far as the machine allows.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(TESTS, "support"))
sys.path.insert(0, os.path.join(TESTS, "process"))
sys.path.append(os.path.join(TESTS, "cluster"))
import lab  # noqa: E402
import results  # noqa: E402
import run as process_tests  # noqa: E402

USUAL, MANY = 20, 200
USUAL_NODES, MANY_NODES = 10, 100
BUDGET = 120.0  # seconds for one run


class Runner:
    def __init__(self, folder, dlaunch, nodes):
        self.folder, self.nodes = folder, nodes
        self.namespace = lab.command() if nodes else process_tests.namespace_command()
        self.script = os.path.join(HERE, "perform_on_nodes.py" if nodes else "perform.py")
        self.dlaunch = shutil.copy(dlaunch, os.path.join(folder, "dlaunch"))
        self.rank = os.path.join(folder, "rank")
        subprocess.run(["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-o", self.rank, os.path.join(HERE, "rank.c")], check=True)

    def run(self, seed):
        folder, result = os.path.join(self.folder, str(seed)), os.path.join(self.folder, f"{seed}.json")
        os.makedirs(folder)
        start = time.monotonic()
        command = self.namespace + ["/usr/bin/python3", self.script, str(seed), folder, result,
                                    self.dlaunch, self.rank]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            output = process.communicate(timeout=BUDGET)[0]
        except subprocess.TimeoutExpired:
            process.kill()  # and --kill-child ends the namespace
            output = process.communicate()[0] + b"\nover its budget"
        try:
            with open(result, encoding="utf-8") as file:
                outcome = json.load(file)
        except (OSError, ValueError):
            outcome = {"outcome": results.FAILED, "detail": output.decode(errors="replace"), "story": "ended without a result"}
        seconds = time.monotonic() - start
        print(f"{outcome['outcome']:8}seed {seed}: {outcome['story']}, {seconds:.1f} s"
              + (f"\n{outcome['detail']}" if outcome["detail"] else ""), flush=True)
        detail = f"{outcome['story']}\n{outcome['detail']}\nagain: tests/chaos/run.py {'--nodes ' if self.nodes else ''}--seed {seed}"
        return results.case(f"seed-{seed}", outcome["outcome"], detail if outcome["detail"] else "", seconds)


def choose_seeds(options):
    if options.seed is not None:
        return range(options.seed, options.seed + (options.count or 1))
    first = random.SystemRandom().randrange(1000, 10 ** 8) if options.all else 1
    usual, many = (USUAL_NODES, MANY_NODES) if options.nodes else (USUAL, MANY)
    return range(first, first + (options.count or (many if options.all else usual)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    top = os.path.dirname(TESTS)
    parser.add_argument("--dlaunch", default=os.environ.get("DLAUNCH_BIN", os.path.join(top, "build/release/bin/dlaunch")))
    parser.add_argument("--nodes", action="store_true", help="over ssh, on nodes in namespaces (tests/cluster)")
    parser.add_argument("--seed", type=int, help="the first seed")
    parser.add_argument("--count", type=int, help="how many; 1 with --seed")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--all", action="store_true", help=f"{MANY} runs instead of {USUAL} ({MANY_NODES}, {USUAL_NODES} with --nodes)")
    parser.add_argument("--keep", action="store_true", help="keep the folders of the runs, and say where")
    parser.add_argument("--results", help="write the cases as JSON to this file")
    options = parser.parse_args()
    reason = lab.why_not() if options.nodes else ""
    if reason:
        print(f"skipped: {reason}")
        results.write(options.results, [results.case("nodes", results.SKIPPED, reason)])
        return 0
    seeds = choose_seeds(options)
    print(f"seeds {seeds[0]} to {seeds[-1]}", flush=True)
    folder = tempfile.mkdtemp(prefix="dlaunch-chaos-")
    os.chmod(folder, 0o755)
    try:
        runner = Runner(folder, options.dlaunch, options.nodes)
        if not runner.namespace:
            print("no namespaces here (unshare is not permitted): the runs are below a subreaper instead", flush=True)
        with ThreadPoolExecutor(options.jobs) as pool:
            outcomes = list(pool.map(runner.run, seeds))
    finally:
        if options.keep:
            print(f"the runs' folders are in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    results.write(options.results, outcomes)
    failed = [one["name"] for one in outcomes if one["outcome"] == results.FAILED]
    print(f"{len(outcomes) - len(failed)} passed, {len(failed)} failed" + (": " + " ".join(failed) if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
