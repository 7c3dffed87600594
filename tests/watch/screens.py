#!/usr/bin/python3
"""Rewrites the verdicts in docs/how-to/see-where-ranks-stand.md from what the cases of cases_verdict.py get to see. As root.

  tests/watch/screens.py [--dlaunch FILE]
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
PAGE = os.path.join(TOP, "docs", "how-to", "see-where-ranks-stand.md")
BEGIN, END = "<!-- verdicts: written by tests/watch/screens.py -->\n", "<!-- end of verdicts -->\n"

SCENES = ["a_rank_that_never_joins_the_collective", "a_rank_in_another_collective", "two_halves_of_the_ranks_in_different_collectives",
          "a_stopped_rank", "a_rank_in_an_endless_loop", "a_data_loader_whose_file_does_not_answer", "a_file_system_that_does_not_answer",
          "two_threads_that_wait_for_each_others_lock", "a_data_loader_that_is_stopped", "a_rank_in_a_barrier_and_others_in_a_reduction_with_open_mpi",
          "python_that_spins_in_a_collective_of_mpi", "the_network_between_two_nodes_is_cut", "a_long_evaluation_is_no_hang"]


def shown(said):
    """As a user has it, and not the folder of a test."""
    text = "\n".join(["dlaunch: " + said["headline"], *("    " + line for line in said["lines"])])
    text = text.replace(said["folder"], "/home/me/job").replace(HERE + "/ranks", "/home/me/job")
    return "".join(f"    {line}\n" for line in re.sub(r"pid \d+", "pid 4711", text).splitlines())


def title(name):
    words = name[0].upper() + name[1:].replace("_", " ")
    for plain, right in (("for each others lock", "for each other's locks"), ("open mpi", "Open MPI"), (" mpi", " MPI"), ("python", "Python")):
        words = words.replace(plain, right).replace(plain.capitalize(), right)
    return words


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dlaunch", default=os.path.join(TOP, "build/release/bin/dlaunch"))
    options = parser.parse_args()
    only = ",".join(f"verdict.{scene}" for scene in SCENES)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "screens")
        done = subprocess.run([os.path.join(HERE, "run.py"), "--dlaunch", options.dlaunch, "--only", only], env={**os.environ, "SCREENS": path}, check=False)
        with open(path, encoding="utf-8") as file:
            verdicts = [json.loads(line) for line in file]
    screens = {os.path.basename(said["folder"]): said for said in verdicts if os.path.basename(said["folder"]) in SCENES}
    block = "".join(f"{title(name)}:\n\n{shown(said)}\n" for name, said in
                    sorted(screens.items(), key=lambda one: SCENES.index(one[0])))
    with open(PAGE, encoding="utf-8") as file:
        before, _, rest = file.read().partition(BEGIN)
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + "\n" + block + END + rest.partition(END)[2])
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
