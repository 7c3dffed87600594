#!/usr/bin/python3
"""Rewrites the verdicts in docs/how-to/see-where-ranks-stand.md from what the console says in the cases of cases_screens.py. As root.

  tests/watch/screens.py [--dlaunch FILE] [--jobs N] [--only PART]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(TOP, "tests", "cluster"), os.path.join(TOP, "tests", "process")]
from cases_screens import PAGE, SCENES, shown_on_the_page  # noqa: E402

BEGIN, END = "<!-- verdicts: written by tests/watch/screens.py -->\n", "<!-- end of verdicts -->\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dlaunch", default=os.path.join(TOP, "build/release/bin/dlaunch"))
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--only", default="", help="screens whose case has this in its name; the others stay")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([os.path.join(HERE, "run.py"), "--dlaunch", options.dlaunch, "--jobs", options.jobs, "--only",
                               f"screens.the_page_shows_{options.only}"], env={**os.environ, "SCREENS": folder}, check=False)
        screens = {}
        for title in SCENES:
            path = os.path.join(folder, title)
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    screens[title] = json.load(file)
            else:
                screens[title] = shown_on_the_page(title)
    block = "".join(f"{title}:\n\n" + "".join(f"    {line}\n" for line in lines) + "\n" for title, lines in screens.items() if lines)
    with open(PAGE, encoding="utf-8") as file:
        before, _, rest = file.read().partition(BEGIN)
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + "\n" + block + END + rest.partition(END)[2])
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
