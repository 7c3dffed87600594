"""What docs/how-to/see-where-ranks-stand.md shows of each verdict is what the console says today. tests/watch/screens.py rewrites the page."""

import json
import os
import re
import shutil
import subprocess

import cases_slow
import lab
import scenes
from case import case
from expectations import expect_equal
from watch_sandbox import HERE

PAGE = os.path.join(os.path.dirname(os.path.dirname(HERE)), "docs", "how-to", "see-where-ranks-stand.md")
JOB = "/home/me/job"
SCENES = {
    "A rank that never joins the collective": scenes.absent,
    "A rank in another collective": scenes.mismatch,
    "A rank in the same collective, called from another line": scenes.call_site,
    "Two halves of the ranks in different collectives": scenes.halves,
    "A rank that has ended": scenes.ended,
    "A stopped rank": scenes.stopped,
    "A rank in a debugger": scenes.debugger,
    "A rank in an endless loop": scenes.busy,
    "A data loader whose file does not answer": scenes.loader,
    "A data loader on a file system that does not answer": scenes.loader_of_fuse,
    "A file system that does not answer": scenes.fuse,
    "A data loader that is stopped": scenes.stopped_loader,
    "A data loader that was killed": scenes.dead_loader,
    "A rank whose extension in C holds Python's global lock (GIL)": scenes.extension,
    "Two threads that wait for each other's locks": scenes.deadlock,
    "A rank that never joins, with Open MPI": scenes.open_mpi,
    "A rank in a barrier and others in a reduction, with Open MPI": scenes.open_mpi_mismatch,
    "Two ranks that receive from each other, with Open MPI": scenes.open_mpi_receive,
    "Python that spins in a collective of MPI": scenes.mpi4py,
    "The network between two nodes is cut": scenes.cut_between_two,
    "A node that does not answer, and is then lost": scenes.lost,
    "A node with little CPU": scenes.slow_node,
    "What a slow node shows": cases_slow.a_node_with_little_cpu_is_named_with_what_it_shows,
    "A rank whose steps take longer": cases_slow.a_rank_with_fewer_heartbeats_is_named_with_its_host,
    "A long evaluation: no alarm": scenes.evaluation,
    "A training that prints nothing: no alarm": scenes.silent_training,
}
# What the moment decides, and is not compared: in which of its functions a rank was seen, and what else was seen of a node of this busy machine.
STEP = r"in (main|all_reduce|tell|compute|load_for_ever) \([^)]*\)"
LOAD = r"(\d+ % of \d+ % CPU in use, \d+ % not by this job's ranks|processes waited for memory for \d+ % of the time)"
LOAD_AND_ITS_RANK = rf"({LOAD}(, )?)*(rank \d waited for a CPU for \d+ % of the time)?"
OF_A_MOMENT = {
    "A stopped rank": STEP, "A rank in a debugger": STEP, "A data loader that is stopped": STEP,
    "A node with little CPU": r"in (work|all_reduce) \([^)]*\)",
    "What a slow node shows": f"{LOAD}, ", "A rank whose steps take longer": f"; node2: {LOAD_AND_ITS_RANK}$",
    "A long evaluation: no alarm": ", but ranks work: .*", "A training that prints nothing: no alarm": ", but ranks work: .*",
}
TOLD = ("has moved for", "has not moved for", "nothing printed for", " is slow: ", "was lost")


def move_home(box):
    """The case's folder, with the programs of the ranks, becomes a folder of a user's."""
    for name in os.listdir(os.path.join(HERE, "ranks")):
        if name.endswith(".py"):
            shutil.copy(os.path.join(HERE, "ranks", name), box.folder)
    lab.mount("tmpfs", "/home", "tmpfs", 0, "mode=755")
    os.makedirs(JOB)
    lab.mount(box.folder, JOB, None, 4096)  # MS_BIND
    box.folder = box.environment["CASE"] = JOB
    subprocess.run(["hostname", "gpu01"], check=True)


def screen_of(box):
    """The last verdict on the console, with its lines, which are told once."""
    told, is_verdict = [], False
    for line in "\n".join(run.text for run in box.begun).splitlines():
        is_verdict = any(words in line for words in TOLD) if line.startswith("dlaunch: ") else is_verdict and line.startswith("   ")
        if is_verdict and line.startswith("dlaunch: "):
            told.append([])
        if is_verdict:
            told[-1].append(line)
    return max((one for one in told if one[0] == told[-1][0]), key=len)


def form_of(title, screen):
    """In one line, and without numbers."""
    text = re.sub(OF_A_MOMENT.get(title, "$^"), "", " ".join(" ".join(screen).split()))
    return re.sub(r"\d+(\.\d+)?", "N", re.sub(r"\d+ min \d+ s|\d+(\.\d+)? m?s", "N s", text))


def shown_on_the_page(title):
    with open(PAGE, encoding="utf-8") as file:
        after = file.read().partition(f"\n{title}:\n\n")[2]
    return [line[4:] for line in after.partition("\n\n")[0].splitlines()]


def recorded(title, scene):
    def screen(box):
        move_home(box)
        scene(box)
        lines = screen_of(box)
        if "SCREENS" in os.environ:
            with open(os.path.join(os.environ["SCREENS"], title.replace("/", "")), "w", encoding="utf-8") as file:
                json.dump([re.sub(r"pid \d+", "pid 4711", line) for line in lines], file)
            return
        expect_equal(form_of(title, shown_on_the_page(title)), form_of(title, lines), f"{title}: docs/how-to/see-where-ranks-stand.md")
    screen.__name__ = "the_page_shows_" + re.sub("[^a-z]+", "_", title.lower()).strip("_")
    globals()[screen.__name__] = case(long=True, budget=240)(screen)


for each, shown in SCENES.items():
    recorded(each, shown)
