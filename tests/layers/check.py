#!/usr/bin/python3
"""Checks the layering: includes point downward, and the pure layers have no access to the outside.

docs/internals/architecture.md draws the layers. Checked for every layer under src/:
  down     what it includes is in a lower layer, or one of the few named neighbours, and is listed
           in USES of its CMakeLists.txt
  pure     (the floors up to sync) no header and no call that accesses a clock, descriptor, thread or process
  headers  its headers include no heavy third-party header
  names    no two sources or headers of src/ and tests/ have the same name
  dialects only jobfile knows the formats of other systems: no other layer includes or names them
  docs     cited rules, named pages and links resolve, and the index has every page (citations.py)
  walks    the walks of docs/internals/architecture.md lead through the code (walks.py)
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests", "support"))
import citations  # noqa: E402
import results  # noqa: E402
import walks  # noqa: E402

FLOORS = [{"text"}, {"model"}, {"jobfile", "supervise", "wire", "node/pmi", "measure/figures"}, {"plan", "sync"}, {"measure/speed"},
          {"os", "fabric", "node/fetch", "node/nvml", "node/pmix", "measure/collectives/program"}, {"runs"}, {"report", "node"}, {"launch"}, {"measure"}, {"cli"}]
# A separate library. It includes only itself and its public headers, and only its program (USERS) includes it. All layers may include its public
# headers.
APART = {"measure/collectives"}
USERS = {"measure/collectives/program"}
# Layers in the folder of another layer.
NESTED = {layer for layer in {one for floor in FLOORS for one in floor} | APART if "/" in layer}
NESTED_TARGETS = {layer.replace("/", "_"): layer for layer in NESTED} | {"collectives_image": "measure/collectives/program"}
PURE = FLOORS[0] | FLOORS[1] | FLOORS[2] | FLOORS[3]

# Headers through which a pure layer would reach the outside world, or that cost too much to include.
# <csignal> is allowed for its numbers, <filesystem> for paths as values.
IMPURE_HEADER = re.compile(
    r"<(asio|boost|spdlog|unistd|fcntl|poll|pthread|signal\.h|dirent|spawn|sched|ctime|time\.h|sys/|linux/|net/|"
    r"netinet/|arpa/|iostream|fstream|thread|mutex|shared_mutex|condition_variable|future|atomic|stop_token|"
    r"semaphore|latch|barrier|random)")
# The results of inet_pton and inet_ntop depend only on their arguments.
PURE_USES = {("model/ip_address.cc", "arpa/inet.h")}
IMPURE_CALL = re.compile(
    r"(system_clock|steady_clock|high_resolution_clock)::now|\bgetenv\(|\bstd::(rand|raise|signal|system)\b|"
    r"(?<![\w>])::(open|read|write|fork|kill|raise|signal|getpid|time|clock_gettime)\(|"
    r"\b(fs|filesystem)::(exists|status|is_directory|is_regular_file|canonical|absolute|current_path|remove|rename|"
    r"create_director\w*|\w*directory_iterator|temp_directory_path)\b")
HEAVY_HEADER = re.compile(r"#\s*include\s*<(nlohmann/json\.hpp|yaml-cpp/|CLI/|spdlog/|re2/)")
# Azure's machine sizes are not a job file format.
DIALECT = re.compile(r"azure(?!_?size)|vertex|kubeflow|accelerate|ai_?platform", re.IGNORECASE)
TEXT = re.compile(r'"(\\.|[^"\\])*"')
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def floor_of(layer):
    for number, floor in enumerate(FLOORS):
        if layer in floor:
            return number
    return None


def layer_of(name):
    """The layer of a file; `name` is its path below src/, as in an include."""
    parts = name.split("/")
    for length in (3, 2):
        if "/".join(parts[:length]) in NESTED and len(parts) > length:
            return "/".join(parts[:length])
    return parts[0]


def source_files(folder, layer):
    for path, folders, names in os.walk(os.path.join(folder, layer)):
        folders[:] = [one for one in folders if os.path.relpath(f"{path}/{one}", folder) not in NESTED]
        yield from (os.path.join(path, name) for name in sorted(names) if name.endswith((".h", ".cc")))


def includes_of(path):
    """(line number, '<' or '"', name)"""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            match = INCLUDE.match(line)
            if match:
                yield number, match[1], match[2]


def declared_uses(folder):
    """The layers after USES in the folder's CMakeLists.txt; None where it declares none (a program)."""
    try:
        with open(os.path.join(folder, "CMakeLists.txt"), encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return None
    match = re.search(r"dlaunch_layer\(([^)]*)\)", text)
    if not match:
        return None
    words = match[1].split()
    if "USES" not in words:
        return set()
    uses = words[words.index("USES") + 1:]
    stop = next((i for i, word in enumerate(uses) if word.isupper()), len(uses))
    return {NESTED_TARGETS.get(name, name) for name in uses[:stop]}


def closure(layer, uses_of):
    seen, todo = set(), [layer]
    while todo:
        for other in uses_of.get(todo.pop()) or ():
            if other not in seen:
                seen.add(other)
                todo.append(other)
    return seen


def is_library(name):
    return name.startswith("dlaunch/collectives/") or layer_of(name) in APART


def check_apart(source, layer):
    faults = []
    for path in source_files(source, layer):
        for number, kind, name in includes_of(path):
            if kind == '"' and not is_library(name):
                faults.append(f"src/{os.path.relpath(path, source)}:{number}: {layer} must not include {name}: it is a library of its own")
    return faults


def check_down(source, layer, uses_of):
    if layer in APART:
        return check_apart(source, layer)
    faults = []
    own = floor_of(layer)
    if own is None:
        return [f"src/{layer}: not a layer of the house; add it to FLOORS in tests/layers/check.py"]
    for other in sorted(uses_of.get(layer) or ()):
        if floor_of(other) is None or floor_of(other) >= own:
            faults.append(f"src/{layer}/CMakeLists.txt: USES {other}, which does not lie below {layer}")
    covered = closure(layer, uses_of)
    for path in source_files(source, layer):
        where = os.path.relpath(path, source)
        for number, kind, name in includes_of(path):
            if kind == "<":
                continue
            other = layer_of(name)
            if is_library(name) and (layer in USERS or name.startswith("dlaunch/")):
                continue
            if "/" not in name or floor_of(other) is None:
                faults.append(f"src/{where}:{number}: \"{name}\" is not written as \"layer/file.h\"")
            elif other != layer and floor_of(other) >= own:
                faults.append(f"src/{where}:{number}: {layer} must not include {other}/, which does not lie below it")
            elif other != layer and uses_of.get(layer) is not None and other not in covered:
                faults.append(f"src/{where}:{number}: {other} is not in USES of src/{layer}/CMakeLists.txt")
    return faults


def without_comments(line):
    return line.split("//", 1)[0]


def check_pure(source, layer):
    faults = []
    for path in source_files(source, layer):
        where = os.path.relpath(path, source)
        for number, kind, name in includes_of(path):
            if kind == "<" and IMPURE_HEADER.match(f"<{name}>") and (where, name) not in PURE_USES:
                faults.append(f"src/{where}:{number}: <{name}> in a pure layer")
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                match = IMPURE_CALL.search(without_comments(line))
                if match:
                    faults.append(f"src/{where}:{number}: {match[0].rstrip('(')} in a pure layer")
    return faults


def check_headers(source, layer):
    faults = []
    for path in source_files(source, layer):
        if not path.endswith(".h"):
            continue
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                match = HEAVY_HEADER.match(line)
                if match:
                    where = os.path.relpath(path, source)
                    faults.append(f"src/{where}:{number}: heavy header {match[1]} in a header: include it in .cc files")
    return faults


# Every program has a file of this name.
SAME_NAMES = {"main.cc"}


def check_names(top):
    """Two files must not have the same name: it would be one word for two things."""
    by_name = {}
    for folder in ("src", "tests"):
        for path, _, names in os.walk(os.path.join(top, folder)):
            for name in names:
                if name.endswith((".h", ".cc")) and name not in SAME_NAMES:
                    by_name.setdefault(name, []).append(os.path.relpath(os.path.join(path, name), top))
    return [f"{' and '.join(sorted(paths))} have the same name" for name, paths in sorted(by_name.items()) if len(paths) > 1]


def check_dialects(source, layer):
    """The names of other systems may occur only in comments and texts."""
    faults = []
    for path in source_files(source, layer):
        where = os.path.relpath(path, source)
        for number, _, name in includes_of(path):
            if name.startswith("jobfile/dialects/"):
                faults.append(f"src/{where}:{number}: only jobfile may include {name}")
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                match = DIALECT.search(TEXT.sub('""', without_comments(line)))
                if match:
                    faults.append(f"src/{where}:{number}: {match[0]}: no dialect's name outside jobfile")
    return faults


def check_tree(source):
    """(name, faults) for every layer and rule."""
    layers = sorted(name for name in [*os.listdir(source), *NESTED]
                    if any(True for _ in source_files(source, name)))
    uses_of = {layer: declared_uses(os.path.join(source, layer)) for layer in layers}
    found = []
    for layer in layers:
        found.append((f"{layer} includes downward", check_down(source, layer, uses_of)))
        if layer in PURE:
            found.append((f"{layer} is pure", check_pure(source, layer)))
        found.append((f"{layer} headers are light", check_headers(source, layer)))
        if layer != "jobfile":
            found.append((f"{layer} knows no dialect", check_dialects(source, layer)))
    return found


# (what, files of a small tree, a part of the expected fault; None: no fault)
PROBES = [
    ("a clean tree passes",
     {"model/a.h": "#include <string>\n", "model/CMakeLists.txt": "dlaunch_layer(model SOURCES a.cc)",
      "os/b.cc": '#include "model/a.h"\n#include <unistd.h>\n', "os/CMakeLists.txt": "dlaunch_layer(os SOURCES b.cc USES model)"},
     None),
    ("an include that points up", {"model/a.h": '#include "os/b.h"\n', "os/b.h": ""}, "model must not include os/"),
    ("an include of a neighbour", {"jobfile/a.h": '#include "plan/b.h"\n', "plan/b.h": ""}, "jobfile must not include plan/"),
    ("an include that USES does not cover",
     {"os/b.cc": '#include "model/a.h"\n', "os/CMakeLists.txt": "dlaunch_layer(os SOURCES b.cc)", "model/a.h": ""},
     "model is not in USES"),
    ("USES that points up", {"model/a.h": "", "model/CMakeLists.txt": "dlaunch_layer(model SOURCES a.cc USES os)", "os/b.h": ""},
     "USES os"),
    ("a thread in a pure layer", {"plan/a.cc": "#include <thread>\n"}, "<thread> in a pure layer"),
    ("a system header in a pure layer", {"wire/a.cc": "#include <sys/socket.h>\n"}, "<sys/socket.h> in a pure layer"),
    ("Asio in a pure layer", {"supervise/a.h": "#include <asio/io_context.hpp>\n"}, "in a pure layer"),
    ("a clock read in a pure layer", {"plan/a.cc": "auto t = std::chrono::steady_clock::now();\n"}, "steady_clock::now in a pure layer"),
    ("a look at the disk in a pure layer", {"jobfile/a.cc": "if (std::filesystem::exists(p)) {}\n"}, "filesystem::exists in a pure layer"),
    ("a call of the system in a pure layer", {"wire/a.cc": "::read(fd, b, 1);\n"}, "::read in a pure layer"),
    ("a function of our own called read", {"jobfile/a.cc": "Status Reader::read(int);\n"}, None),
    ("a clock named in a comment", {"plan/a.cc": "// not steady_clock::now()\n"}, None),
    ("a heavy header in a header", {"report/a.h": "#include <nlohmann/json.hpp>\n"}, "heavy header nlohmann/json.hpp"),
    ("a library apart that includes the house", {"measure/collectives/a.cc": '#include "model/b.h"\n', "model/b.h": ""}, "a library of its own"),
    ("the house including a library apart", {"cli/a.cc": '#include "measure/collectives/b.h"\n', "measure/collectives/b.h": ""}, 'is not written as'),
    ("a library apart that includes the program over it",
     {"measure/collectives/a.cc": '#include "measure/collectives/program/b.h"\n', "measure/collectives/program/b.h": ""}, "a library of its own"),
    ("the program over a library apart", {"measure/collectives/program/a.cc": '#include "measure/collectives/b.h"\n#include "measure/figures/c.h"\n',
                                          "measure/collectives/b.h": "", "measure/figures/c.h": ""}, None),
    ("the program over a library that points up", {"measure/collectives/program/a.cc": '#include "node/b.h"\n', "node/b.h": ""}, "must not include node/"),
    ("its own public header in a library apart", {"measure/collectives/a.cc": '#include "dlaunch/collectives/b.h"\n'}, None),
    ("a dialect included outside jobfile", {"cli/a.cc": '#include "jobfile/dialects/x.h"\n', "jobfile/dialects/x.h": ""}, "only jobfile may include"),
    ("a dialect named outside jobfile", {"cli/a.cc": "bool is_vertex = true;\n"}, "no dialect's name outside jobfile"),
    ("a dialect named in a comment or a text", {"cli/a.cc": 'say("Vertex AI");  // Kubeflow\n'}, None),
    ("an unknown layer", {"util/a.h": ""}, "not a layer of the house"),
]


NAME_PROBES = [
    ("two headers of one name", {"src/model/a.h": "", "src/os/a.h": ""}, "src/model/a.h and src/os/a.h have the same name"),
    ("a test's source of one name with another's", {"tests/unit/os/a_test.cc": "", "tests/unit/plan/a_test.cc": ""}, "have the same name"),
    ("a header beside its source", {"src/os/a.h": "", "src/os/a.cc": ""}, None),
    ("two programs", {"src/cli/main.cc": "", "src/node/pmix/main.cc": ""}, None),
]
COMMIT = re.compile(r"`([0-9a-f]{7,40})`|git show (?:--\S+ )*([0-9a-f]{7,40})\b")


def check_commits():
    """(faults, why they were not checked) for the example commits of CONTRIBUTING.md."""
    def git(*words):
        return subprocess.run(["git", "-C", TOP, *words], capture_output=True, text=True)

    shallow = git("rev-parse", "--is-shallow-repository")
    if shallow.returncode != 0 or shallow.stdout.strip() != "false":
        return [], "without the history of the repository"
    with open(os.path.join(TOP, "CONTRIBUTING.md"), encoding="utf-8") as file:
        named = {one or other for one, other in COMMIT.findall(file.read())}
    return [f"CONTRIBUTING.md: {commit} is not a commit of this repository" for commit in sorted(named)
            if git("merge-base", "--is-ancestor", commit, "HEAD").returncode != 0], ""


def tree_faults(top):
    return [fault for _, found in check_tree(top) for fault in found]


def probe(find, files, expected):
    """Checks that `find` finds the expected fault. Returns the problem, or an empty text."""
    with tempfile.TemporaryDirectory() as tree:
        for name, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(tree, name)), exist_ok=True)
            with open(os.path.join(tree, name), "w", encoding="utf-8") as file:
                file.write(text)
        faults = find(tree)
    if expected is None:
        return "" if not faults else f"unexpected: {faults}"
    return "" if any(expected in fault for fault in faults) else f"expected {expected!r}, found {faults}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", help="write the cases as JSON to this file")
    options, _ = parser.parse_known_args()
    cases = []
    found = [*check_tree(os.path.join(TOP, "src")), ("each source and header has a name of its own", check_names(TOP)), ("rules, pages and links resolve", citations.faults(TOP)),
             ("the walks of the architecture lead through the code", walks.faults(TOP))]
    probes = [(tree_faults, *one) for one in PROBES] + [(check_names, *one) for one in NAME_PROBES] + [(citations.faults, *one) for one in citations.PROBES] + [(walks.faults, *one) for one in walks.PROBES]
    for name, check in ([(name, lambda f=faults: "\n".join(f)) for name, faults in found] +
                        [(f"the check finds {what}" if expected else f"the check accepts: {what}",
                          lambda c=find, f=files, e=expected: probe(c, f, e)) for find, what, files, expected in probes]):
        start = time.monotonic()
        fault = check()
        outcome = results.FAILED if fault else results.PASSED
        cases.append(results.case(name, outcome, fault, time.monotonic() - start))
        print(f"{outcome:8}{name}" + (f"\n{fault}" if fault else ""))
    faults, skipped = check_commits()
    outcome = results.SKIPPED if skipped else results.FAILED if faults else results.PASSED
    cases.append(results.case("example commits exist", outcome, skipped or "\n".join(faults)))
    print(f"{outcome:8}example commits exist" + "".join(f"\n{line}" for line in ([skipped] if skipped else faults)))
    results.write(options.results, cases)
    return 1 if any(one["outcome"] == results.FAILED for one in cases) else 0


if __name__ == "__main__":
    sys.exit(main())
