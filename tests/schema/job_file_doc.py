#!/usr/bin/python3
"""Writes the generated parts of docs/reference/job-file.md: the text between <!-- keys: ... --> and <!-- end -->.

    tests/schema/job_file_doc.py [--tool build/debug/bin/spec_tool]

Markers: `keys: name restart.*` stands for a table of these keys, `rules` for the contradictions, `sample` for a file with every key."""

import argparse
import difflib
import json
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATH = os.path.join(TOP, "docs", "reference", "job-file.md")
PART = re.compile(r"(<!-- (keys: .+?|rules|sample) -->\n)(.*?)(<!-- end -->)", re.S)

# Keys that contradict other keys of the sample, which shows them as comments.
INSTEAD = {"processes": "instead of processes_per_node", "hostfile": "instead of hosts", "connect.command": "with via: command",
           **{f"connect.{key}": "with via: kubectl" for key in ("namespace", "context", "container", "selector")},
           "mpi.program": "with launcher: mpirun"}
INSTEAD_SECTION = {"roles": "with framework: tensorflow, instead of processes"}


class Wrong(Exception):
    pass


def cell(text):
    return text.replace("|", "\\|")


def value_of(row):
    text = row["type"]
    return text + (", or a mapping" if row["record"] else "")


def table_of(rows):
    lines = ["| key | value | default | meaning |", "|---|---|---|---|"]
    for row in rows:
        default = "required" if row["required"] else f"`{row['default']}`" if row["default"] else ""
        meaning = row["help"]
        lines.append(f"| `{row['key']}` | {cell(value_of(row))} | {default} | {cell(meaning)} |")
    return "\n".join(lines) + "\n"


def matching(pattern, rows):
    found = [row for row in rows if row["key"] == pattern or pattern.endswith(".*") and row["key"].startswith(pattern[:-1])
             or pattern.endswith("[]") and row["key"].startswith(pattern + ".")]
    if not found:
        raise Wrong(f"no key {pattern} in the field table")
    return found


def sample_line(row, name, indent):
    value = row["example"] or row["default"]
    if not value:
        raise Wrong(f"the field table has no example for {row['key']}")
    note = INSTEAD.get(row["key"], "")
    line = f"{name}: {value}"
    return " " * indent + (f"# {line}    # {note}" if note else line)


def sample(rows):
    lines, sections = [], {}
    for row in rows:
        section, _, name = row["key"].rpartition(".")
        if "[" in row["key"] or "*" in row["key"] or section in ("nodes", "sync"):
            continue  # forms of a key that is shown
        if not section:
            lines.append([sample_line(row, name, 0)])
            continue
        if section not in sections:
            sections[section] = []
            lines.append(sections[section])
        sections[section].append((row, name))
    text = []
    for block in lines:
        if isinstance(block[0], str):
            text += block
            continue
        section = block[0][0]["key"].rpartition(".")[0]
        note = INSTEAD_SECTION.get(section, "")
        text.append(f"# {section}:    # {note}" if note else f"{section}:")
        for row, name in block:
            line = sample_line(row, name, 2)
            text.append("#   " + line.strip().removeprefix("# ").split("    # ")[0] if note else line)
    return "```yaml\n" + "\n".join(text) + "\n```\n"


def generated(text, table):
    """The page with its generated parts written anew."""
    rows = table["fields"]
    seen = []

    def part(match):
        what = match[2]
        if what == "rules":
            body = "".join(f"- {rule}.\n" for rule in table["rules"])
        elif what == "sample":
            body = sample(rows)
        else:
            chosen = [row for pattern in what.removeprefix("keys: ").split() for row in matching(pattern, rows)]
            seen.extend(row["key"] for row in chosen)
            body = table_of(chosen)
        return match[1] + body + match[4]
    page = PART.sub(part, text)
    for row in rows:
        if seen.count(row["key"]) != 1:
            raise Wrong(f"{row['key']} is in {seen.count(row['key'])} tables of docs/reference/job-file.md, not in one")
    return page


def read_page():
    with open(PATH, encoding="utf-8") as file:
        return file.read()


def difference(table):
    """How the page differs from the table; "" if it does not."""
    page = read_page()
    try:
        wanted = generated(page, table)
    except Wrong as error:
        return str(error)
    return "\n".join(difflib.unified_diff(page.splitlines(), wanted.splitlines(), "docs/reference/job-file.md", "field table", lineterm="", n=0))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", default=os.path.join(TOP, "build", "debug", "bin", "spec_tool"))
    options = parser.parse_args()
    table = json.loads(subprocess.run([options.tool, "fields"], check=True, capture_output=True, text=True).stdout)
    try:
        page = generated(read_page(), table)
    except Wrong as error:
        sys.exit(f"job_file_doc.py: {error}")
    with open(PATH, "w", encoding="utf-8") as file:
        file.write(page)


if __name__ == "__main__":
    main()
