"""The walks of docs/internals/architecture.md lead through the code: each step names a function and its file, the file contains the function, and it
names the function of the next step, unless that step is marked *message*, *action* or *next* (it is reached through a value). Also, every path below
src/ that a page of docs/internals names must exist."""

import os
import re

PAGE = os.path.join("docs", "internals", "architecture.md")
WALK = re.compile(r"^### (.+)$")
STEP = re.compile(r"^\d+\. (\*(?:message|action|next)\* )?`([\w:]+)` in `([\w/.]+)`")
NAMED = re.compile(r"`([a-z]+(?:/\w+)+(?:\.(?:h|cc))?)`")
MOST_STEPS = 10


def walks_of(text):
    """{title: [(whether it is reached through a value, function, file)]} for the section Walks."""
    found, title, inside = {}, None, False
    for line in text.splitlines():
        if line.startswith("## "):
            inside = line == "## Walks"
        elif inside and (match := WALK.match(line)):
            title = match[1]
            found[title] = []
        elif inside and title and re.match(r"\d+\. ", line):
            step = STEP.match(line)
            found[title].append((bool(step[1]), step[2].split("::")[-1], step[3]) if step else (False, "", line))
    return found


def code_of(top, name):
    try:
        with open(os.path.join(top, "src", name), encoding="utf-8") as file:
            return file.read()
    except OSError:
        return None


def step_faults(top, steps):
    if not 1 < len(steps) <= MOST_STEPS:
        yield f"has {len(steps)} steps; at most {MOST_STEPS}"
    before = None
    for by_value, function, name in steps:
        if not function:
            yield f'not "`function` in `file`": {name}'
            continue
        code = code_of(top, name)
        called = re.compile(rf"\b{function}\b")
        if code is None:
            yield f"there is no src/{name}"
        elif not called.search(code):
            yield f"{function} is not in src/{name}"
        elif before and not by_value and not called.search(before):
            yield f"the step before src/{name} does not name {function}"
        before = code


def path_faults(top):
    rooms = set(os.listdir(os.path.join(top, "src"))) if os.path.isdir(os.path.join(top, "src")) else set()
    folder = os.path.join(top, "docs", "internals")
    for page in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        with open(os.path.join(folder, page), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                for name in NAMED.findall(line):
                    path = os.path.join(top, "src", name)
                    if name.split("/")[0] in rooms and not any(os.path.exists(path + ending) for ending in ("", ".h", ".cc")):
                        yield f"docs/internals/{page}:{number}: there is no src/{name}"


def faults(top):
    found = list(path_faults(top))
    path = os.path.join(top, PAGE)
    if not os.path.exists(path):
        return found
    with open(path, encoding="utf-8") as file:
        walks = walks_of(file.read())
    if not walks:
        found.append(f"{PAGE}: no walk in a section Walks")
    return found + [f'{PAGE}: "{title}": {fault}' for title, steps in walks.items() for fault in step_faults(top, steps)]


TREE = {"src/os/a.cc": "void first() { second(); }\n", "src/os/b.cc": "void second() {}\n"}
# (what, files of a small tree, a part of the expected fault; None: no fault)
PROBES = [
    ("a walk through the code", {**TREE, PAGE: "## Walks\n### W\n1. `first` in `os/a.cc`: x\n2. `second` in `os/b.cc`: y\n"}, None),
    ("a function that left its file", {**TREE, PAGE: "## Walks\n### W\n1. `third` in `os/a.cc`: x\n2. `second` in `os/b.cc`: y\n"}, "third is not in"),
    ("a step that is not called", {**TREE, PAGE: "## Walks\n### W\n1. `second` in `os/b.cc`: x\n2. `first` in `os/a.cc`: y\n"}, "does not name first"),
    ("a step behind a message", {**TREE, PAGE: "## Walks\n### W\n1. `second` in `os/b.cc`: x\n2. *message* `first` in `os/a.cc`: y\n"}, None),
    ("a page without walks", {**TREE, PAGE: "# A\n"}, "no walk"),
    ("a path that is gone", {**TREE, PAGE: "`os/gone`\n## Walks\n### W\n1. `first` in `os/a.cc`: x\n2. `second` in `os/b.cc`: y\n"}, "there is no src/os/gone"),
]
