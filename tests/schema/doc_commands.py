"""The command lines of dlaunch in README.md and docs/, and their mistakes: an unknown command or option.

They are in code blocks and code spans. "--" is followed by the user's own program."""

import functools
import glob
import os
import re
import shlex
import subprocess

FENCE = re.compile(r"^(```.*?^```|~~~.*?^~~~)", re.M | re.S)
SPAN = re.compile(r"`([^`\n]+)`")
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")
ENDS = {"|", "&", ">", "2>", "--", "..."}
HIDDEN = {"agent", "collectives"}  # dlaunch starts these itself
# Texts that are not command lines: what a rank prints, the first line of a file, messages.
NO_COMMANDS = {"dlaunch works here", "dlaunch output times 1", "dlaunch was started there and WHAT before it answered",
               "dlaunch itself was still being copied there"}


def command_lines(text):
    """(line number, command line) for each command line."""
    for fence in FENCE.finditer(text):
        first = text.count("\n", 0, fence.start()) + 1
        for number, line in enumerate(fence[0].replace("\\\n", "  ").splitlines(), first):
            yield from ((number, part) for part in _commands(line))
    rest = FENCE.sub(lambda fence: "\n" * fence[0].count("\n"), text)
    for number, line in enumerate(rest.splitlines(), 1):
        if line.startswith("    "):
            yield from ((number, part) for part in _commands(line))
            continue
        for span in SPAN.findall(line):
            yield from ((number, part) for part in _commands(span))


def _commands(line):
    for part in re.split(r"(?:;|&&|\|\|?)\s+", line):
        part = part.strip().removeprefix("$ ")
        if part.startswith("dlaunch ") and part.split()[1] not in HIDDEN and part not in NO_COMMANDS:
            yield part


class Program:
    def __init__(self, path):
        self.path = path
        listed = re.findall(r"^  ([a-z][\w-]*) {2,}", self._help(), re.M)
        self.commands = set(listed) | {"help"}

    def _help(self, *command):
        return subprocess.run([self.path, *command, "--help"], capture_output=True, text=True, check=True).stdout

    @functools.lru_cache(maxsize=None)
    def options(self, command):
        rows = [line for line in self._help(*command).splitlines() if line.startswith("  -")]
        return {option for row in rows for option in OPTION.findall(row.split("   ")[0])}

    def mistake(self, line):
        """The mistake in this line; None: there is none."""
        try:
            words = shlex.split(line, comments=True)[1:]
        except ValueError:
            words = line.split()[1:]
        words = [word.strip("[]") for word in words]
        command = ()
        if words and not words[0].startswith("-"):
            if words[0] not in self.commands:
                return None if not re.fullmatch(r"[a-z][a-z-]*", words[0]) else f"there is no command {words[0]}"
            command = (words.pop(0),)
        if command == ("help",):  # an option is a topic there
            return None
        known = self.options(command) if command else self.options(("run",)) | self.options(())
        for word in words:
            if word in ENDS:
                return None
            name = word.split("=")[0]
            if re.fullmatch(r"--?[A-Za-z][\w-]*", name) and name not in known and name[:2] not in known - {name}:
                return f"{' '.join(('dlaunch', *command))} has no option {name}"
        return None


def mistakes(top, path):
    """(mistakes such as "README.md:12: `dlaunch ...`: dlaunch run has no option --y", number of lines that were checked)"""
    program = Program(path)
    found, count = [], 0
    for file in [os.path.join(top, "README.md"), *sorted(glob.glob(os.path.join(top, "docs", "**", "*.md"), recursive=True))]:
        with open(file, encoding="utf-8") as opened:
            text = opened.read()
        for number, line in command_lines(text):
            count += 1
            if mistake := program.mistake(line):
                found.append(f"{os.path.relpath(file, top)}:{number}: `{line}`: {mistake}")
    return found, count
