#!/usr/bin/python3
"""The JSON Schema, docs/reference/job-file.md and the reader agree.

`dlaunch schema` (with python3-jsonschema) and the reader judge every job file of the repository, and mutated ones. If the reader refuses a file that
the schema accepts, the mistake must be of a kind that JSON Schema cannot express."""

import argparse
import copy
import glob
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests", "support"))
import results  # noqa: E402
import core_yaml  # noqa: E402
import book  # noqa: E402
import doc_commands  # noqa: E402
import job_file_doc  # noqa: E402
from mutations import Mutator, emit  # noqa: E402

FILES, FILES_ALL = 500, 10_000
SEED = 20_261
# What the reader refuses and the schema does not: a name, the message, and how many of a hundred files may have it.
BEYOND = [
    ("counts that do not fit together", r"cannot fill|(processes_per_node|the roles) make \d+ ranks", 8),
    ("more processes than the hosts have slots", r"processes, but the hosts have only \d+ slots?", 5),
    ("lost_after compared with fence_after", r"timeouts\.lost_after must be more than", 5),
    ("a name in env and in env_secret", r"is in env, whose values are shown", 5),
    ("a whole number with a fraction of zero", r"must be (a|a list of) whole number.*not the number [-+0-9.eE]+$", 8),
    ("a range that goes down", r"must go from the shorter to the longer|nodes\.min is greater than nodes\.max", 5),
    ("a number that JSON does not have", r"must be a number .* not the number [-+]?\.(inf|Inf|INF|nan|NaN|NAN)$", 5),
    ("a host list whose brackets or slots are wrong", r"hosts(\[\d+\](\.name)?)?: (.* cannot (be part of|begin with)|this ['\[(]|these brackets|a number is|this range|.* is not a "
     r"number or a range|what follows|an address in brackets|brackets cannot|a host has|no host is named|the name of the|(this names )?more than)", 5),
    ("hosts that contradict each other", r"is named twice|are given twice|is given twice|one address cannot be|hosts? (is|are) given|names no host", 5),
    ("an address or a user beyond its characters", r"(address|user|interface): (give the port|write an IPv6 address|.* has at most)", 5),
    ("keys of connect that do not go together", r"has no effect with (via|connect)|needs connect\.command|connect\.command", 5),
    ("a pattern without its one group, or that is none; another file name", r"(the pattern of )?metrics\.", 5),
    ("longer than the longest duration", r"must be a duration such as .* not \"?36501d", 5),
]

# Forms that occur in no other job file; those that this version does not know are left out.
FORMS = [
    "command: train\nframework: gcp\nroles: {chief: 1, worker: 2}\ngcp: {tf_config: master, cluster_spec: workerpool}\n",
    "command: train\nframework: tensorflow\nroles: {worker: 2, evaluator: {count: 1}}\ntensorflow: {chief: master, evaluator: listed}\n",
    "command: train\n",
    "command: train\nframework: tensorflow\nroles: {chief: 1, worker: {count: 2, command: [w], env: {A: b}}, ps: {count: 1}}\n",
    "command: train\nnodes: {min: 1, max: 2}\nrestart: {max: 3, on: [failure], not_on_exit: [2], backoff: 5s..1m}\n",
    "command: train\nhosts: [gpu01, {name: gpu02, slots: 4, user: me}]\nconnect: {via: ssh, port: 22}\n",
    "command: train\nstage: [{from: a, to: /b, unpack: true}]\n",
    "command: train\ncollect: [{from: c, to: d}]\n",
    "command: train\nlogs: {console: [0, 3]}\nmetrics: {loss: 'loss ([0-9.]+)', prometheus: run.prom}\npreflight: {checks: [node], min_busbw: 2.5}\n",
    "command: train\ncontainer: {image: a, mounts: ['/a:/b'], shm_size: 16g}\npreemption: {command: [notice], interval: 5s, file: /run/notice}\ncheckpoint: {path: ckpt/*, signal: USR1}\n",
]


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def expect(condition, message):
    if not condition:
        raise Failed(message)


def validator_of(schema):
    """A validator with the patterns of ECMA-262; Python's $ would also match before a line feed at the end."""
    import jsonschema

    def pattern(_, wanted, instance, __):
        if isinstance(instance, str) and not re.search(re.sub(r"(?<!\\)\$", r"\\Z", wanted), instance):
            yield jsonschema.ValidationError(f"{instance!r} does not match {wanted!r}")
    return jsonschema.validators.extend(jsonschema.Draft202012Validator, {"pattern": pattern})(schema)


class Judges:
    def __init__(self, tool, dlaunch):
        self.tool, self.dlaunch = tool, dlaunch
        schema = subprocess.run([dlaunch, "schema"], check=True, capture_output=True, text=True).stdout
        self.schema = json.loads(schema)
        self.validator = validator_of(self.schema)

    def reader(self, paths):
        """{path: error}; "" for a job file that is accepted."""
        answer = subprocess.run([self.tool, "verdicts"], input="".join(path + "\n" for path in paths), check=True,
                                capture_output=True, text=True, errors="replace").stdout
        return {one["file"]: one.get("error", "") for one in map(json.loads, answer.splitlines())}

    def by_schema(self, text):
        """The first error; "" for a job file that the schema accepts."""
        try:
            job = core_yaml.load(text)
        except core_yaml.Unusable as error:
            return f"no YAML for job files: {error}"
        return next((f"{'.'.join(map(str, error.path))}: {error.message}" for error in self.validator.iter_errors(job)), "")

    def table(self):
        return json.loads(subprocess.run([self.tool, "fields"], check=True, capture_output=True, text=True).stdout)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def job_files():
    examples = glob.glob(os.path.join(TOP, "examples", "**", "*.y*ml"), recursive=True)
    # Some examples are job files of other systems, which the schema does not know.
    examples = [path for path in examples if not re.search(r"^trainingInput:", read(path), re.M)]
    return sorted(examples), sorted(glob.glob(os.path.join(TOP, "tests", "data", "jobs", "*.y*ml")))


def class_of(error):
    """The class (BEYOND) of the reader's errors; None: one of them has none."""
    found = None
    for line in error.splitlines():
        if "error: " not in line:
            continue
        names = [name for name, pattern, _ in BEYOND if re.search(pattern, line)]
        if not names:
            return None
        found = names[0]
    return found


def the_schema_is_one(judges, _):
    judges.validator.check_schema(judges.schema)
    expect(judges.schema["$schema"].endswith("2020-12/schema"), judges.schema["$schema"])


def every_example_is_accepted_by_both(judges, _):
    examples, _ = job_files()
    expect(examples, "there is no example")
    verdicts = judges.reader(examples)
    for path in examples:
        expect(not verdicts[path], f"the reader refuses {path}: {verdicts[path]}")
        expect(not (error := judges.by_schema(read(path))), f"the schema refuses {path}: {error}")


def both_judge_the_test_data_alike(judges, _):
    _, data = job_files()
    verdicts = judges.reader(data)
    expect(any(verdicts.values()) and not all(verdicts.values()), "good and bad files are wanted")
    for path in data:
        expect(bool(verdicts[path]) == bool(judges.by_schema(read(path))),
               f"{path}: reader: {verdicts[path] or 'accepted'}; schema: {judges.by_schema(read(path)) or 'accepted'}")


def blocks_of_the_documentation(judges, _):
    text = read(job_file_doc.PATH)
    blocks = re.findall(r"^```yaml\n(.*?)^```", text, re.M | re.S)
    expect(len(blocks) > 5, f"{len(blocks)} examples in docs/reference/job-file.md")
    with tempfile.TemporaryDirectory() as folder:
        for number, block in enumerate(blocks):
            job = block if re.search(r"^command:", block, re.M) else "command: [train]\n" + block
            path = os.path.join(folder, f"{number}.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(job)
            reader, schema = judges.reader([path])[path], judges.by_schema(job)
            expect(not (error := reader or schema), f"an example of docs/reference/job-file.md is refused:\n{block}\n{error}")


def mutated(judges, count):
    """(text, base) for each of `count` different files."""
    examples, data = job_files()
    verdicts = judges.reader(examples + data)
    bases = [core_yaml.load(read(path)) for path, error in verdicts.items() if not error]
    bases += [core_yaml.load(text) for text in FORMS if not judges.by_schema(text)]
    keys = [row["key"] for row in judges.table()["fields"] if "[" not in row["key"]]
    keys += [key.replace("*", "worker") for key in keys if "*" in key]
    source = random.Random(SEED)
    seen = set()
    while len(seen) < count:
        job = copy.deepcopy(source.choice(bases))
        Mutator([key for key in keys if "*" not in key], source).mutate(job)
        text = emit(job, source, indent=0)
        if text not in seen:
            seen.add(text)
            yield text


def judge_all(judges, texts, folder):
    """(texts that both accept, texts that both refuse, {class: texts}, faults)"""
    paths = []
    for number, text in enumerate(texts):
        paths.append(os.path.join(folder, f"{number}.yaml"))
        with open(paths[-1], "w", encoding="utf-8") as file:
            file.write(text)
    verdicts = judges.reader(paths)
    accepted, refused, beyond, faults = 0, 0, {}, []
    for path, text in zip(paths, texts):
        reader, schema = verdicts[path], judges.by_schema(text)
        if bool(reader) == bool(schema):
            accepted, refused = accepted + (not reader), refused + bool(reader)
        elif reader and (kind := class_of(reader)):
            beyond.setdefault(kind, []).append(text)
        else:
            faults.append(f"--- reader: {reader or 'accepted'}\n--- schema: {schema or 'accepted'}\n{text}")
    return accepted, refused, beyond, faults


def both_judge_mutated_files_alike(judges, options):
    count = FILES_ALL if options.all else FILES
    with tempfile.TemporaryDirectory() as folder:
        accepted, refused, beyond, faults = judge_all(judges, list(mutated(judges, count)), folder)
    print(f"  {count} mutated files: both accept {accepted}, both refuse {refused}, only the reader refuses:")
    for name, _, _ in BEYOND:
        print(f"    {len(beyond.get(name, [])):>5}  {name}")
    expect(not faults, f"{len(faults)} of {count} files are judged differently\n" + "\n".join(faults[:8]))
    expect(accepted > count / 10 and refused > count / 10, "the mutations are too tame or too wild")
    for name, _, most in BEYOND:
        found = len(beyond.get(name, []))
        expect(found <= count * most / 100, f"{found} of {count} files: {name}")


def the_documentation_is_generated(judges, _):
    problem = job_file_doc.difference(judges.table())
    expect(not problem, f"{problem}\ndocs/job-file.md is not what the field table says; to make it again:\n"
                        f"  tests/schema/job_file_doc.py --tool {os.path.relpath(judges.tool, TOP)}")


def commands_in_the_documentation_exist(judges, _):
    found, count = doc_commands.mistakes(TOP, judges.dlaunch)
    expect(count > 300, f"{count} command lines were found")
    expect(not found, "\n".join(found))


def the_book_has_no_broken_link(*_):
    if book.why_not():
        raise Skipped(book.why_not())
    found, count = book.problems(TOP)
    expect(not found, "\n".join(found))
    expect(count > 3000, f"{count} links were found")


CASES = [the_schema_is_one, every_example_is_accepted_by_both, both_judge_the_test_data_alike, blocks_of_the_documentation,
         both_judge_mutated_files_alike, the_documentation_is_generated, commands_in_the_documentation_exist, the_book_has_no_broken_link]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dlaunch", default=os.path.join(TOP, "build", "debug", "bin", "dlaunch"))
    parser.add_argument("--tool", help="spec_tool; default: beside dlaunch")
    parser.add_argument("--results", help="write the outcome of each case to this file")
    parser.add_argument("--all", action="store_true", help=f"{FILES_ALL} mutated files")
    options = parser.parse_args()
    judges = Judges(options.tool or os.path.join(os.path.dirname(options.dlaunch), "spec_tool"), options.dlaunch)
    outcomes = []
    for case in CASES:
        name, start, outcome, problem = "schema." + case.__name__, time.monotonic(), results.PASSED, ""
        try:
            case(judges, options)
        except Failed as failure:
            outcome, problem = results.FAILED, str(failure)
        except Skipped as skipped:
            outcome, problem = results.SKIPPED, str(skipped)
        outcomes.append(results.case(name, outcome, problem, time.monotonic() - start))
        print(f"{outcome}  {name}" + (f"\n{problem}" if problem else ""))
    results.write(options.results, outcomes)
    return 1 if any(one["outcome"] == results.FAILED for one in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
