"""Makes job files with random mistakes from a seed: keys are renamed, removed, added and moved; values have other types or are out of range."""

import json
import re

import core_yaml

SAFE_PLAIN = re.compile(r"[A-Za-z0-9_./+~-][A-Za-z0-9_./+ *~-]*[A-Za-z0-9_./+*~-]\Z|[A-Za-z0-9_./~]\Z")


class Plain(str):
    """A text that goes into the file as it is."""


PLAIN = [Plain(text) for text in """no yes on off y n True TRUE False null Null ~ 0 1 -1 +5 007 017 0x10 0o17 0b11 1_000 1.0 2.5 1e3
 .5 5. 1.e1 .inf -.inf .nan 65535 65536 100000 100001 2147483647 2147483648 9223372036854775808 99999999999999999999 1:30
 2026-01-01 30 30s 5m 1h30m 1m1h 0s 0ms 500ms 2d 36501d 5s..5m 5m..5s 16g 512m 16GiB 0g 1.5g g auto none gpu all rank0
 default pid-namespace TERM term SIGTERM sigusr1 SIG 15 FOO RTMIN chief workers failure pytorch tensorflow mpi gcp jax bash zsh
 per-node per_node once always RANK A NCCL_* *X A? 9A x-y DLAUNCH_X PMIX_RANK ssh""".split()]
PLAIN += [Plain('""'), Plain("''"), Plain("' '"), Plain('"1"'), Plain('"true"'), Plain('"auto"'), Plain('"30s"'), Plain('"a\\nb"'),
          Plain('"30s\\n"'), Plain('"TERM\\n"'), Plain('"A\\n"'), Plain("[]"), Plain("{}"), Plain("[a]"), Plain("[1, 2]"), Plain("[0]"), Plain("[-1]"),
          Plain("[a, [b]]"), Plain("[~]"), Plain('[""]'), Plain("[a, 1, true, 1.50]"), Plain("[RANK]"), Plain("[A, B_2]"),
          Plain("[\"A*\"]"), Plain("[node]"), Plain("[failure, hang]"), Plain("[1.0]"), Plain("{A: b}"), Plain("{A: 1, B: true, C: 1.5, D: ''}"),
          Plain("{A: ~}"), Plain("{A: [1]}"), Plain("{9: x}"), Plain("{RANK: 1}"), Plain("{DLAUNCH_A: 1}"), Plain("{A-B: 1}"),
          Plain("{count: 2}"), Plain("{count: 1, env: {A: b}}"), Plain("{count: 1, command: [a]}"), Plain("{min: 1, max: 2}"), Plain("{min: 1}"),
          Plain("{worker: 2, ps: 1}"), Plain("{worker: 0}"), Plain("{worker: {count: 0}}"), Plain("{chief: 2}"), Plain("{evaluator: 1, worker: 1}"),
          Plain("{run: 1h, stop: 5s}"), Plain("{fence_after: 1m}"), Plain("{max: 3}"), Plain("{max: 3, on: [failure]}"), Plain("{port: 22}"),
          Plain("{console: [0, 1]}"), Plain("{image: a/b}"), Plain("{from: a, to: b}")]
UNKNOWN = ["nope", "command ", "Command", "comand", "restarts", "proceses", "timeout", "a.b", "timeouts.stop", "*", "roles.*", "",
           "<", "hosts[]", "run", "count"]


def emit(value, random, indent=None):
    """The value in flow style, or in block style with this `indent`."""
    if isinstance(value, Plain):
        return str(value)
    if isinstance(value, dict):
        if indent is not None and value:
            lines = [" " * indent + f"{key_text(key, random)}: {emit(item, random)}" for key, item in value.items()]
            return "\n".join(lines) + "\n"
        return "{" + ", ".join(f"{key_text(key, random)}: {emit(item, random)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(emit(item, random) for item in value) + "]"
    if isinstance(value, str):
        is_safe = SAFE_PLAIN.match(value) and core_yaml.plain(value) == value
        return value if is_safe and random.random() < 0.6 else json.dumps(value)
    return json.dumps(value)


def key_text(key, random):
    return key if re.fullmatch(r"[a-z_]+", key) and random.random() < 0.9 else json.dumps(key)


def mappings_in(value):
    """All mappings in a tree, the topmost first."""
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
        yield from mappings_in(item)


def renamed(key, random):
    at = random.randrange(len(key)) if key else 0
    return random.choice([key[:at] + key[at + 1:], key[:at] + "x" + key[at:], key.upper(), key.replace("_", "-"),
                          key + "s", random.choice(UNKNOWN)])


class Mutator:
    """`keys`: dotted paths of the table without lists, so that every key is tried."""

    def __init__(self, keys, random):
        self.keys = keys
        self.random = random

    def mutate(self, job):
        for _ in range(self.random.choice([1, 1, 1, 2, 3])):
            self.random.choice([self.replace, self.replace, self.put, self.put, self.put, self.rename, self.remove, self.move,
                                self.in_list])(job)

    def mapping(self, job):
        return self.random.choice(list(mappings_in(job)))

    def value(self):
        return self.random.choice(PLAIN)

    def replace(self, job):
        mapping = self.mapping(job)
        if mapping:
            mapping[self.random.choice(list(mapping))] = self.value()

    def put(self, job):
        path = self.random.choice(self.keys).split(".")
        for name in path[:-1]:
            if not isinstance(job.get(name), dict):
                job[name] = {}
            job = job[name]
        job[path[-1]] = self.value()

    def rename(self, job):
        mapping = self.mapping(job)
        if mapping:
            key = self.random.choice(list(mapping))
            mapping[renamed(key, self.random)] = mapping.pop(key)

    def remove(self, job):
        mapping = self.mapping(job)
        if mapping:
            del mapping[self.random.choice(list(mapping))]

    def move(self, job):
        source, target = self.mapping(job), self.mapping(job)
        if source and source is not target:
            key = self.random.choice(list(source))
            moved = source.pop(key)
            if target not in mappings_in(moved):
                target[key] = moved

    def in_list(self, job):
        lists = [item for mapping in mappings_in(job) for item in mapping.values() if isinstance(item, list)]
        if lists:
            self.random.choice(lists).insert(0, self.value())
