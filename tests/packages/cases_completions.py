"""The completion files of the packages: someone presses Tab in a terminal, in bash, zsh and fish."""

import os
import shutil
import subprocess

from case import case
from expectations import Skip
from screen import Screen

PROMPT = "> "
# What is typed before Tab, and what the line is then. A blank at the end: the word is complete.
TYPED = [
    ("dlaunch self", "dlaunch self-check "),
    ("dlaunch run --no-pre", "dlaunch run --no-preflight "),
    ("dlaunch run --set restart.ma", "dlaunch run --set restart.max="),
    ("dlaunch run --set framework=ja", "dlaunch run --set framework=jax "),
    ("dlaunch run --hosts lo", "dlaunch run --hosts login "),
    ("dlaunch run --hosts gpu01,far", "dlaunch run --hosts gpu01,far-away "),
    ("dlaunch logs 2026", "dlaunch logs 20261129-101500-abc "),
    ("dlaunch run trai", "dlaunch run train.py "),
]


class Shell:
    def __init__(self, box, *argv):
        if shutil.which(argv[0]) is None:
            raise Skip(f"no {argv[0]} here")
        self.folder = box.make_folder("installed")
        subprocess.run(["tar", "-xzf", box.packages()["tar.gz"], "-C", self.folder, "--strip-components=1"], check=True)
        box.write("train.py", "")
        box.write("home/.ssh/config", "Host login gpu01 far-away\n")
        box.write("runs/20261129-101500-abc/run.json", '{"version": 1, "run": "20261129-101500-abc", "name": "a", "started": "2026-11-29T10:15:00Z"}')
        share = os.path.join(self.folder, "share")
        environment = {"PATH": f"{self.folder}/bin:/usr/bin:/bin", "TERM": "xterm", "XDG_DATA_DIRS": f"{share}:/usr/share", "SHARE": share}
        self.run = box.start_on_terminal(*argv[1:], program=shutil.which(argv[0]), env=environment)
        self.screen = Screen(self.run, columns=120)

    def line(self):
        """What stands at the cursor's line, up to the cursor."""
        terminal = self.screen.screen
        return terminal.display[terminal.cursor.y][:terminal.cursor.x]

    def wait_for_line(self, line, what):
        self.screen.wait_for(lambda _: self.line() == line, f"{line!r}: {what}")

    def types(self):
        self.wait_for_line(PROMPT, "the prompt")
        for typed, wanted in TYPED:
            self.run.type(typed.encode())
            self.wait_for_line(PROMPT + typed, "what was typed")
            self.run.type(b"\t")
            self.wait_for_line(PROMPT + wanted, "after Tab")
            self.run.type(b"\x15")
            self.wait_for_line(PROMPT, "after Ctrl-U")
        self.run.type(b"dlaunch versio\t")
        self.wait_for_line(PROMPT + "dlaunch version ", "after Tab")
        self.run.type(b"\r")
        self.screen.wait_for(lambda lines: any(line.startswith("dlaunch ") for line in lines), "the output of a completed command")
        self.run.type(b"exit\r")
        self.run.end(0)


@case
def in_bash(box):
    """bash-completion finds the file by its folder; without that package ~/.bashrc sources it."""
    loader = "/usr/share/bash-completion/bash_completion"
    box.write("rc", f"PS1='{PROMPT}'\n[ -e {loader} ] && . {loader} || . $SHARE/bash-completion/completions/dlaunch\n")
    Shell(box, "bash", "--noprofile", "--rcfile", box.path("rc"), "-i").types()


@case
def in_zsh(box):
    box.write("home/.zshrc", f"PS1='{PROMPT}'\nunsetopt PROMPT_SP\nfpath=($SHARE/zsh/site-functions $fpath)\nautoload -Uz compinit && compinit -u\n")
    Shell(box, "zsh", "-d", "-i").types()


@case
def in_fish(box):
    box.make_folder("home/.local/share/fish/generated_completions")  # else fish's first start reads all manual pages in the background
    box.write("home/.config/fish/config.fish", "set -g fish_greeting\nset -g fish_autosuggestion_enabled 0\n"
                                               f"function fish_prompt; echo -n '{PROMPT}'; end\n")
    Shell(box, "fish", "-i").types()
