"""Every citation of a rule (job-specs 1.5, env-vars 4.1) has a section in docs/rules/, and nothing is cited that readers do not have."""

import os
import re

FOLDERS = ("src", "include", "tests", "docs", "examples")
ENDINGS = (".h", ".cc", ".cu", ".py", ".md", ".expect", ".yaml", ".yml", ".sh", ".txt")
CITATION = re.compile(r"\b(job-specs|env-vars)(?:\.md)?,?(?: sections?)? (\d+(?:\.\d+)?)\b")
HEADING = re.compile(r"^#+ (\d+(?:\.\d+)?) ")
# Once the first plan of the project, which is not in the repository.
UNKNOWN = re.compile(r"\bdesign sections? \d", re.IGNORECASE)


def sections(top):
    """{page: its numbered headings}"""
    found = {}
    folder = os.path.join(top, "docs", "rules")
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            found[name.removesuffix(".md")] = {match[1] for line in file if (match := HEADING.match(line))}
    return found


def text_files(top):
    for base in FOLDERS:
        for path, _, names in os.walk(os.path.join(top, base)):
            yield from (os.path.join(path, name) for name in sorted(names) if name.endswith(ENDINGS))


def faults(top):
    known = sections(top)
    found = []
    for path in text_files(top):
        if os.path.basename(path) == os.path.basename(__file__):
            continue
        with open(path, encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                where = f"{os.path.relpath(path, top)}:{number}"
                found += [f"{where}: docs/rules/{page}.md has no section {section}"
                          for page, section in CITATION.findall(line) if section not in known.get(page, ())]
                if UNKNOWN.search(line):
                    found.append(f"{where}: cites a document that is not in the repository")
    return found


# (what, files of a small tree, a part of the fault that has to be found; None: no fault)
PROBES = [
    ("a citation that resolves", {"docs/rules/job-specs.md": "## 1 A\n### 1.5 B\n", "src/a.h": "// job-specs 1.5\n"}, None),
    ("a citation of a missing section", {"docs/rules/job-specs.md": "## 1 A\n", "tests/a.expect": "ranks 2 # job-specs 1.5\n"}, "has no section 1.5"),
    ("a citation of a missing page", {"src/a.cc": "// env-vars 4.1: ranks\n"}, "env-vars.md has no section 4.1"),
    ("a citation of what readers do not have", {"src/a.cc": "// Design section 5\n"}, "not in the repository"),
]
