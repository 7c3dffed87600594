"""Sessions in the documentation: indented blocks with "    $ COMMAND" and, below it, what the command prints; and lists of commands,
"    dlaunch ...   what it does"."""

import os
import re
import shlex
from dataclasses import dataclass, field

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROMPT = "    $ "
RUN_ID = re.compile(r"\b\d{8}-\d{6}-[0-9a-z]{3}\b")
# Texts that differ from run to run, and the word that replaces them in a comparison.
VARIABLE = [
    (RUN_ID, "RUN"),
    (re.compile(r"\b\d+(\.\d+)?( ms| s| min|ms|s)\b|\b\d+m\d\ds\b"), "TIME"),
    (re.compile(r"\bLinux [0-9]\S*"), "Linux VERSION"),
    (re.compile(r"/\S+/ssh\b"), "/usr/bin/ssh"),
]


@dataclass
class Command:
    line: int
    text: str
    output: list = field(default_factory=list)


def read(page):
    with open(os.path.join(TOP, page), encoding="utf-8") as file:
        return file.read()


def commands(page):
    found, in_block = [], False
    for number, line in enumerate(read(page).splitlines(), 1):
        if line.startswith(PROMPT):
            found.append(Command(number, line[len(PROMPT):]))
            in_block = True
        elif in_block and line.startswith("    "):
            found[-1].output.append(line[4:])
        elif line.strip():
            in_block = False
        elif in_block:
            found[-1].output.append("")
    for command in found:
        while command.output and not command.output[-1]:
            command.output.pop()
    return found


def listed(page):
    """The commands of sessions and of lists, in order; those of lists without the explanations beside them."""
    found = commands(page)
    of_sessions = {line for command in found for line in range(command.line, command.line + 1 + len(command.output))}
    for number, line in enumerate(read(page).splitlines(), 1):
        if re.match(r"    (\S.* \| )?dlaunch [a-z]", line) and number not in of_sessions:
            found.append(Command(number, re.split(r"\s{2,}", line.strip())[0]))
    return sorted(found, key=lambda command: command.line)


def in_tables(page):
    """The commands of dlaunch in the last column of tables."""
    return [Command(number, text) for number, line in enumerate(read(page).splitlines(), 1) if line.startswith("| ")
            for text in re.findall(r"`(dlaunch [a-z][^`]*)`", line.rstrip(" |").rsplit(" | ", 1)[-1])]


def fenced(page, language):
    """The code blocks in this language."""
    return re.findall(rf"^```{language}\n(.*?)^```", read(page), re.M | re.S)


class Names:
    """The names that the page uses for runs and hosts, and the real names here."""

    def __init__(self, host, variable=()):
        self._host, self._variable = host, [*VARIABLE, *variable]
        self._runs = {}  # the page's id, or its end -> the id here

    def learn(self, expected, seen):
        ids = [RUN_ID.findall("\n".join(lines)) for lines in (expected, seen)]
        for theirs, ours in zip(*ids):
            self._runs[theirs] = self._runs[theirs[-3:]] = ours

    def call(self, name, run):
        self._runs[name] = run

    def here(self, command):
        return " ".join(shlex.quote(self._runs[word]) if word in self._runs else word for word in command.split(" "))

    def plain(self, lines):
        text = "\n".join(line.rstrip() for line in lines)
        for pattern, word in self._variable:
            text = pattern.sub(word, text)
        if self._host:
            text = re.sub(rf"\b{re.escape(self._host)}\b", "gpu01", text)
        return text.splitlines()


def difference(names, expected, seen):
    """The first difference between `expected` and `seen`, as a text; None: there is none. "..." stands for any lines; ranks print in any order."""
    wanted, found = (in_order(names.plain(lines)) for lines in (expected, seen))
    may_skip, at = False, 0
    for line in wanted:
        if line == "...":
            may_skip = True
            continue
        rest = found[at:]
        if line not in rest if may_skip else rest[:1] != [line]:
            return f"expected {line!r}, seen {rest[:1] or 'the end'}"
        at += rest.index(line) + 1
        may_skip = False
    return None if may_skip or at == len(found) else f"more than the page has: {found[at]!r}"


def in_order(lines):
    """The lines, with consecutive lines of ranks sorted."""
    ordered, ranks = [], []
    for line in lines:
        if re.match(r"\S+:\d+ \| ", line):
            ranks.append(line)
            continue
        ordered += sorted(ranks) + [line]
        ranks = []
    return ordered + sorted(ranks)
