#!/usr/bin/python3
"""Runs the fuzz targets: each looks for bugs for a while, and proves that it finds a planted one.

  tests/fuzz/run.py [--only TARGET,...] [--seconds N] [--build FOLDER]
  tests/fuzz/run.py --only wire --input FILE          one input, to see what it does
  tests/fuzz/run.py --only wire --minimise FOLDER     a new corpus from the old one and the inputs in FOLDER
"""

import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TOP, "tests", "support"))
import results  # noqa: E402

TARGETS = ["job_file", "foreign_job", "wire", "hostlist", "hostfile", "pmi"]
JOBS = os.path.join(TOP, "tests", "data", "jobs")
MORE_SEEDS = {"job_file": [JOBS], "foreign_job": [os.path.join(JOBS, "foreign")]}
SECONDS, SECONDS_ALL = 20, 600
# A count, because a busy machine is slow: with a fixed seed every machine tries the same inputs.
PLANTED_RUNS = 1_000_000
# It takes from one minute to several until its planted bug is found: only with --all.
LONG_TO_PLANTED = {"foreign_job"}
PLANTED_LIMIT = 480  # seconds
# Few stack frames per allocation suffice for a finding; recording many takes a third of the time.
SANITIZER_OPTIONS = "malloc_context_size=4:quarantine_size_mb=16"
LIMITS = ["-timeout=25", "-rss_limit_mb=2048", "-malloc_limit_mb=256", "-max_len=4096"]


class Fuzzer:
    def __init__(self, build, folder):
        self.programs = os.path.join(build, "bin")
        self.folder = folder
        self.seeds = os.path.join(folder, "seeds")
        os.makedirs(self.seeds, exist_ok=True)
        subprocess.run([os.path.join(self.programs, "fuzz_seeds"), self.seeds], check=True)

    def seed_folders(self, target):
        folders = [os.path.join(HERE, "corpus", target), os.path.join(self.seeds, target), *MORE_SEEDS.get(target, [])]
        return [folder for folder in folders if os.path.isdir(folder)]

    def run(self, program, arguments, log, limit, environment=None):
        """Exit code of fuzz_<program> and what it printed; None: it did not end."""
        command = [os.path.join(self.programs, f"fuzz_{program}"), *arguments]
        environment = {**os.environ, "ASAN_OPTIONS": SANITIZER_OPTIONS, **(environment or {})}
        with open(log, "wb") as file:
            try:
                code = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=environment,
                                      cwd=self.folder, timeout=limit, check=False).returncode
            except subprocess.TimeoutExpired:
                code = None
        with open(log, encoding="utf-8", errors="replace") as file:
            return code, file.read()

    def planted_seed_folders(self, target):
        """The seeds generated from the tables, if there are any: a growing corpus must not hit the planted bug by chance."""
        made = os.path.join(self.seeds, target)
        return [made] if os.path.isdir(made) else self.seed_folders(target)

    def fuzz(self, program, target, seeds, amount, limit):
        """`amount`: the options that set the duration."""
        found = os.path.join(self.folder, "found", program)
        shutil.rmtree(found, ignore_errors=True)
        os.makedirs(found)
        arguments = [*LIMITS, *amount, "-print_final_stats=1",
                     f"-artifact_prefix={self.folder}/{program}-", f"-dict={self.seeds}/{target}.dict",
                     found, *seeds]
        return self.run(program, arguments, os.path.join(self.folder, f"{program}.log"), limit)


def tail(text, lines=40):
    return "\n".join(text.splitlines()[-lines:])


def numbers(output):
    """What libFuzzer reached: inputs tried, inputs a second, edges and features of coverage."""
    reached = re.findall(r"DONE +cov: (\d+) ft: (\d+) corp: (\S+)", output)
    tried = re.findall(r"stat::number_of_executed_units: (\d+)", output)
    rate = re.findall(r"stat::average_exec_per_sec: +(\d+)", output)
    if not reached or not tried or not rate:
        return None
    edges, features, corpus = reached[-1]
    return f"{tried[-1]} inputs, {rate[-1]} a second, {edges} edges, {features} features, corpus {corpus}"


def looks_for_bugs(fuzzer, target, seconds):
    code, output = fuzzer.fuzz(target, target, fuzzer.seed_folders(target), [f"-max_total_time={seconds}"], 2 * seconds + 120)
    said = numbers(output)
    if code == 0 and said:
        print(f"{target}: {seconds} s without a finding: {said}", flush=True)
        return ""
    finding = re.findall(r"Test unit written to (\S+)", output)
    return (f"exit code {code}; the input: {finding[-1] if finding else 'not kept'}; "
            f"again: tests/fuzz/run.py --only {target} --input FILE\n{tail(output)}")


def finds_the_planted_bug(fuzzer, target):
    program = f"{target}_planted"
    code, output = fuzzer.run(program, ["-runs=0", *fuzzer.planted_seed_folders(target)],
                              os.path.join(fuzzer.folder, f"{program}-seeds.log"), 120)
    if code != 0:
        return f"the seeds show the planted bug already (exit code {code}), so finding it would prove nothing\n{tail(output)}"
    start = time.monotonic()
    code, output = fuzzer.fuzz(program, target, fuzzer.planted_seed_folders(target), [f"-runs={PLANTED_RUNS}", "-seed=1"], PLANTED_LIMIT)
    if code in (0, None):
        return f"not found in {PLANTED_RUNS} inputs, or {PLANTED_LIMIT} s\n{tail(output)}"
    if "heap-buffer-overflow" not in output or "fill_buffer" not in output:
        return f"it found something else (exit code {code})\n{tail(output)}"
    runs = re.findall(r"^#(\d+)", output, re.MULTILINE)[-1]
    print(f"{target}: the planted bug was found after some {runs} inputs, {time.monotonic() - start:.1f} s", flush=True)
    return ""


def line_coverage(report):
    """{"src/wire": (lines, missed)} of `llvm-cov report`: file name, then regions, functions and lines."""
    layers = collections.defaultdict(lambda: [0, 0])
    for row in report.splitlines():
        columns = row.split()
        found = re.search(r"(?:^|/)src/(\w+)/\S+\.(?:cc|h)$", columns[0]) if len(columns) >= 10 else None
        path = found or (re.match(r"(\w+)/\S+\.(?:cc|h)$", columns[0]) if len(columns) >= 10 else None)
        if path and path.group(1) != "tests":
            layers[f"src/{path.group(1)}"][0] += int(columns[7])
            layers[f"src/{path.group(1)}"][1] += int(columns[8])
    return {layer: tuple(both) for layer, both in layers.items()}


# Lines that the inputs of the targets must reach, in per cent: a target that no longer gets inside shows up here.
COVERAGE = {"src/jobfile": 78, "src/wire": 85}


def coverage_case(build, folder):
    """Runs all known inputs through programs that count lines."""
    fuzzer = Fuzzer(build, folder)
    objects, profiles = [], []
    for target in TARGETS:
        found = os.path.join(folder, "found", target)
        profiles.append(os.path.join(folder, f"{target}.profraw"))
        code, output = fuzzer.run(target, ["-runs=0", *LIMITS, *fuzzer.seed_folders(target), *([found] if os.path.isdir(found) else [])],
                                  os.path.join(folder, f"coverage-{target}.log"), 600, {"LLVM_PROFILE_FILE": profiles[-1]})
        if code != 0:
            return f"{target}: exit code {code}\n{tail(output)}"
        objects += ["-object", os.path.join(build, "bin", f"fuzz_{target}")]
    data = os.path.join(folder, "coverage.profdata")
    subprocess.run(["llvm-profdata-14", "merge", "-o", data, *profiles], check=True)
    report = subprocess.run(["llvm-cov-14", "report", f"-instr-profile={data}", objects[1], *objects[2:], os.path.join(TOP, "src")],
                            check=True, capture_output=True, text=True).stdout
    print(report)
    failures = []
    for layer, (lines, missed) in sorted(line_coverage(report).items()):
        reached = 100 * (lines - missed) / lines
        print(f"{layer}: {reached:.1f} % of {lines} lines", flush=True)
        if reached < COVERAGE.get(layer, 0):
            failures.append(f"{layer}: {reached:.1f} % of the lines, at least {COVERAGE[layer]} % are wanted")
    return "\n".join(failures)


def minimise(fuzzer, target, folder):
    """By edges alone: a corpus by features would be ten times as large, and libFuzzer finds those again in seconds."""
    new = os.path.join(fuzzer.folder, "minimised")
    shutil.rmtree(new, ignore_errors=True)
    os.makedirs(new)
    made = set()  # seeds that seeds.cc generates anyway are not needed in the corpus
    seeds = os.path.join(fuzzer.seeds, target)
    if os.path.isdir(seeds):
        shutil.copytree(seeds, new, dirs_exist_ok=True)
        made = set(os.listdir(seeds))
    corpus = os.path.join(HERE, "corpus", target)
    os.makedirs(corpus, exist_ok=True)
    code, output = fuzzer.run(target, ["-set_cover_merge=1", "-use_counters=0", *LIMITS, new, corpus, folder],
                              os.path.join(fuzzer.folder, "minimise.log"), 1800)
    if code != 0:
        sys.exit(tail(output))
    for name in made:
        os.unlink(os.path.join(new, name))
    shutil.rmtree(corpus)
    shutil.copytree(new, corpus)
    sizes = [entry.stat().st_size for entry in os.scandir(corpus)]
    print(f"{corpus}: {len(sizes)} files, {sum(sizes)} bytes")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(TOP, "build", "fuzz"), help="where the targets were built")
    parser.add_argument("--coverage-build", type=os.path.abspath, help="where they were built to count lines; default: no coverage")
    parser.add_argument("--only", help="only these targets: " + ", ".join(TARGETS))
    parser.add_argument("--seconds", type=int, help=f"for each target; default {SECONDS}, with --all {SECONDS_ALL}")
    parser.add_argument("--all", action="store_true", help="the long version")
    parser.add_argument("--jobs", type=int, default=max(1, min(len(TARGETS), os.cpu_count() or 1)))
    parser.add_argument("--input", help="run this one input and show what happens")
    parser.add_argument("--minimise", metavar="FOLDER", help="make a new corpus out of the old one and this folder")
    parser.add_argument("--folder", help="for logs and findings; default: fuzz-results beside the programs")
    parser.add_argument("--results", help="write the cases as JSON to this file")
    options = parser.parse_args()
    options.targets = options.only.split(",") if options.only else TARGETS
    unknown = set(options.targets) - set(TARGETS)
    if unknown:
        parser.error(f"no target {', '.join(sorted(unknown))}; there are: {', '.join(TARGETS)}")
    return options


def run_case(name, function, *arguments):
    start = time.monotonic()
    failure = function(*arguments)
    return results.case(name, results.FAILED if failure else results.PASSED, failure, time.monotonic() - start)


def main():
    options = parse_arguments()
    fuzzer = Fuzzer(options.build, os.path.abspath(options.folder or os.path.join(options.build, "fuzz-results")))
    if options.input:
        program = os.path.join(fuzzer.programs, f"fuzz_{options.targets[0]}")
        return subprocess.run([program, options.input], check=False).returncode
    if options.minimise:
        return minimise(fuzzer, options.targets[0], options.minimise)
    seconds = options.seconds or (SECONDS_ALL if options.all else SECONDS)
    with ThreadPoolExecutor(options.jobs) as pool:
        running = [pool.submit(run_case, f"{target}.looks_for_bugs", looks_for_bugs, fuzzer, target, seconds)
                   for target in options.targets]
        running += [pool.submit(run_case, f"{target}.finds_the_planted_bug", finds_the_planted_bug, fuzzer, target)
                    for target in options.targets if options.all or target not in LONG_TO_PLANTED]
        cases = [one.result() for one in running]
    if options.coverage_build:
        cases.append(run_case("coverage", coverage_case, options.coverage_build, fuzzer.folder))
    for one in cases:
        print(f"{one['outcome']:8}{one['name']}  {one['seconds']:.1f} s" + (f"\n{one['detail']}" if one["detail"] else ""))
    results.write(options.results, cases)
    return 1 if any(one["outcome"] == results.FAILED for one in cases) else 0


if __name__ == "__main__":
    sys.exit(main())
