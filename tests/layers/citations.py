"""References resolve: a rule that is cited (job-specs 1.5, env-vars 4.1) is a section in docs/rules/, a page of docs/ that is named exists
and has the section that is named with it, every relative link in Markdown leads to a file and a heading, source files that Markdown
names exist, docs/index.md links every page, and docs/reference/variables.md has every variable of the rank table."""

import os
import re

FOLDERS = ("src", "include", "tests", "docs", "examples", "cmake")
ENDINGS = (".h", ".cc", ".cu", ".py", ".md", ".expect", ".yaml", ".yml", ".sh", ".txt", ".cmake", ".clang-tidy")
CITATION = re.compile(r"\b(job-specs|env-vars)(?:\.md)?,?(?: sections?)? (\d+(?:\.\d+)?)\b")
HEADING = re.compile(r"^#+ (\d+(?:\.\d+)?) ")
# Citations of the first plan of the project, which is not in the repository.
UNKNOWN = re.compile(r"\bdesign sections? \d", re.IGNORECASE)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s#]*)(?:#([^)\s]+))?\)")
PAGE = re.compile(r"(?<![\w/.-])(docs/[\w./-]+\.md)(?:[),;]* (?:has )?\"([^\"]+)\")?")
SOURCE = re.compile(r"(?<![\w/.-])((?:src|tests|cmake|include|examples)/[\w./-]+\.(?:h|cc|cu|c|py|sh|txt|yaml))\b")
# Pages of other projects (DeepSpeed).
ELSEWHERE = {"docs/_tutorials/getting-started.md"}


def sections(top):
    """{page: the numbers of its sections}"""
    found = {}
    folder = os.path.join(top, "docs", "rules")
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            found[name.removesuffix(".md")] = {match[1] for line in file if (match := HEADING.match(line))}
    return found


def text_files(top):
    yield from (os.path.join(top, name) for name in sorted(os.listdir(top)) if name.endswith(ENDINGS))
    for base in FOLDERS:
        for path, _, names in os.walk(os.path.join(top, base)):
            yield from (os.path.join(path, name) for name in sorted(names) if name.endswith(ENDINGS) or "." not in name)


def headings(path):
    with open(path, encoding="utf-8") as file:
        return [line.lstrip("#").strip() for line in re.sub(r"^```.*?^```", "", file.read(), flags=re.M | re.S).splitlines() if re.match(r"#+ ", line)]


def anchor(heading):
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def missing(top, page, section=None, fragment=None):
    """What is wrong with a reference to this page; an empty text: nothing."""
    path = os.path.join(top, page)
    if not os.path.exists(path):
        return f"there is no {page}"
    if section and not any(heading.startswith(section) for heading in headings(path)):
        return f'{page} has no section "{section}"'
    if fragment and path.endswith(".md") and fragment not in map(anchor, headings(path)):
        return f"{page} has no heading for #{fragment}"
    return ""


def page_faults(top):
    """Faults of links and names of pages, and pages that the index leaves out."""
    linked = set()
    for path in text_files(top):
        name = os.path.relpath(path, top)
        if os.path.samefile(path, __file__):
            continue
        with open(path, encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                wanted = [(page, section, None) for page, section in PAGE.findall(line) if page not in ELSEWHERE]
                if name.endswith(".md"):
                    links = [(target, fragment) for target, fragment in LINK.findall(line) if ":" not in target]
                    folder = os.path.dirname(name)
                    links = [(os.path.normpath(os.path.join(folder, target)) if target else name, fragment) for target, fragment in links]
                    linked |= {target for target, _ in links if name == "docs/index.md"}
                    wanted += [(target, None, fragment) for target, fragment in links]
                    if os.path.dirname(name) not in ("docs/rules", "docs/decisions"):  # sources of other projects; what was true once
                        wanted += [(source, None, None) for source in SOURCE.findall(line) if "NAME" not in source]
                yield from (f"{name}:{number}: {fault}" for one in wanted if (fault := missing(top, *one)))
    for folder, names in ((folder, names) for folder, _, names in os.walk(os.path.join(top, "docs")) if os.path.basename(folder) not in ("decisions", "rules")):
        pages = {os.path.relpath(os.path.join(folder, name), top) for name in names if name.endswith(".md")}
        yield from (f"docs/index.md: no link to {page}" for page in sorted(pages - linked - {"docs/index.md"}))


def variable_faults(top):
    """Variables of the rank table that docs/reference/variables.md leaves out."""
    table, page = (os.path.join(top, *names) for names in (("src", "plan", "rank_table.cc"), ("docs", "reference", "variables.md")))
    if not os.path.exists(table):
        return
    with open(table, encoding="utf-8") as file:
        names = re.findall(r'^    \{"(\w+)", k|constexpr char k\w+\[\] = "(\w+)"', file.read(), re.M)
    with open(page, encoding="utf-8") as file:
        text = file.read()
    yield from (f"docs/reference/variables.md: lacks {name}" for name in sorted({one or two for one, two in names}) if f"`{name}`" not in text)


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
    return found + list(page_faults(top)) + list(variable_faults(top))


# (what, files of a small tree, a part of the expected fault; None: no fault)
PROBES = [
    ("a citation that resolves", {"docs/rules/job-specs.md": "## 1 A\n### 1.5 B\n", "src/a.h": "// job-specs 1.5\n"}, None),
    ("a citation of a missing section", {"docs/rules/job-specs.md": "## 1 A\n", "tests/a.expect": "ranks 2 # job-specs 1.5\n"}, "has no section 1.5"),
    ("a citation of a missing page", {"src/a.cc": "// env-vars 4.1: ranks\n"}, "env-vars.md has no section 4.1"),
    ("a citation of what readers do not have", {"src/a.cc": "// Design section 5\n"}, "not in the repository"),
    ("a page that does not exist", {"src/a.cc": "// docs/rules/none.md\n"}, "there is no docs/rules/none.md"),
    ("a section that does not exist", {"docs/index.md": "# A\n", "src/a.cc": '// docs/index.md, "B"\n'}, 'has no section "B"'),
    ("a file that does not exist", {"README.md": "`src/plan/none.cc`\n"}, "there is no src/plan/none.cc"),
    ("a variable that the page lacks", {"docs/reference/variables.md": "`RANK`\n", "docs/index.md": "[a](reference/variables.md)\n",
     "src/plan/rank_table.cc": '    {"RANK", kTorch,\n    {"WORLD_SIZE", kTorch,\n'}, "lacks WORLD_SIZE"),
    ("a link to a page and to a heading", {"docs/index.md": "[a](a.md#one-two)\n", "docs/a.md": "## One, two\n"}, None),
    ("a link that leads nowhere", {"docs/index.md": "[a](a.md)\n"}, "there is no docs/a.md"),
    ("a link to a missing heading", {"docs/index.md": "[a](a.md#three)\n", "docs/a.md": "## One\n"}, "no heading for #three"),
    ("a page outside of the book", {"docs/index.md": "# A\n", "docs/how-to/a.md": "# B\n"}, "no link to docs/how-to/a.md"),
]
