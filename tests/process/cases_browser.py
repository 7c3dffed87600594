"""Reports of real runs in a headless browser: clicked and pointed at, they must show what is in the run folder; and the book. Screenshots stay in
build/test-results/process/screenshots."""

import os
import shutil
import subprocess
import sys

from case import case
from expectations import Skip, expect, expect_equal, expect_in

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests", "support"))
import big_run  # noqa: E402
import browser  # noqa: E402
from report_probe import ReportView, shots  # noqa: E402

LEDGER = {
    "connecting": "connect_s", "preparing": "prepare_s", "starting": "start_s", "until the first output": "first_output_s",
    "productive": "productive_s", "recomputed": "recomputed_s", "stalled": "stalled_s", "stopping": "stopping_s",
    "waiting to restart": "back_off_s", "waiting for lost nodes": "lost_nodes_s", "restarting": "restarting_s"}
SIZES = ((360, 740), (1280, 900), (3840, 2160))
UNITS = {"ms": .001, "s": 1.0, "min": 60.0, "h": 3600.0}


def report(box, run=""):
    if not browser.program():
        raise Skip("no Chromium is installed (the group browser of cmake/packages.txt)")
    return box.path(box.run("report", *([run] if run else [])).out.decode().splitlines()[0])


def expect_near(drawn, value, tolerance, what):
    expect(abs(drawn - value) <= tolerance, f"{what}: {drawn} is drawn for {value}")


def expect_ledger(view, ledger):
    rows = view.table(".shares")
    shown = {LEDGER[name]: time.split() for name, time, _ in rows}
    whole = sum(ledger.values())
    expect_equal([name for name in ledger if ledger[name] > .0005 and name not in shown], [], "times that are not shown")
    for name, (number, unit) in shown.items():
        expect_near(float(number) * UNITS[unit], ledger[name], max(.001, UNITS[unit] * .051), name)
    for name, _, share in rows:
        expect_near(float(share.split()[0]), ledger[LEDGER[name]] / whole * 100, .051, f"share of {name}")


def expect_good_at_all_sizes(view, name):
    view.open_all()
    for width, height in SIZES:
        for dark in (False, True):
            view.look(width, height, dark)
            what = f"{name}-{width}-{'dark' if dark else 'light'}"
            view.shot(what)
            expect_equal((what, view.overflow, view.faint), (what, 0, []), "pixels beside the page, and texts with little contrast")
    view.look(1280)


@case(budget=120.0)
def ranks_and_attempts_of_a_restart(box):
    box.write("job.yaml", "name: train\nprocesses: 3\nrestart: {max: 1, backoff: 100ms..200ms}\n"
              "metrics: {loss: 'loss ([0-9.]+)', step: 'step ([0-9]+)'}\nenv: {LR: '0.1'}\ncommand: |\n"
              "  for i in 1 2 3 4 5 6; do echo step $i loss 0.$((7 - i))$RANK; sleep 0.5; done\n"
              "  case $DLAUNCH_ATTEMPT$RANK in 01) echo boom >&2; exit 5;; 10) exit 0;; 12) echo bang >&2; kill -9 $$;; esac\n  sleep 60\n")
    box.run("run", code=137)
    with ReportView(report(box)) as view:
        summary, samples = box.json("summary.json"), box.json("samples.json")
        expect_equal(view.text("h1"), " ".join(line.strip() for line in summary["text"][:2]).removeprefix("dlaunch: "), "the headline")
        expect_ledger(view, summary["ledger"])
        expect_near(view.length, summary["elapsed_s"], .05, "the length of the run")
        first, last = view.table("#attempts")[1:]
        earlier = summary["earlier"][0]
        expect_equal(first[:4], [str(earlier[name]) for name in ("attempt", "cause", "first", "exit_code")], "attempt 0")
        expect_equal(last[:4], [str(summary["attempt"]), summary["cause"], str(summary["first"]), str(summary["exit_code"])], "attempt 1")
        expect_equal(int(first[9]), earlier["steps_lost"], "steps that were lost")
        for one, row in zip(summary["ranks"], view.table("#ranks")[1:], strict=True):
            end = one["how"] + ", " + (one["signal"] or f"code {one['exit_code']}")
            expect_equal(row[:3], [str(one["rank"]), one["node"], end], "a rank's row")
            expect_in(f"Rank {one['rank']} on {one['node']}: {end}.", view.pick(one["rank"]), "the rank that was clicked")
            expect_equal((view.variables()["RANK"], view.variables()["LR"]), (str(one["rank"]), "0.1"), "its variables")
        middle = earlier["ran_s"] / 2
        expect_in("rank 1, attempt 0: ", view.tip_of_rank(1, middle), "a bar of attempt 0")
        expect_in("exited with code 5", view.text("#tip"), "its end")
        expect_in("rank 2, attempt 1: ", view.tip_of_rank(2, view.length - middle), "a bar of attempt 1")
        expect_in("was killed by SIGKILL", view.text("#tip"), "its end")
        view.tip_of_rank(1, 1.0)
        for name, tolerance in (("loss", .002), ("step", .02)):
            means = next(one for one in samples["metrics"] if one["name"] == name)["mean"]
            known = [index for index, mean in enumerate(means) if mean is not None]
            expect(len(known) >= 4, f"samples of {name}: {means}")
            for index in known:
                expect_near(view.plotted(view.plot_of_metric(name), index, samples["step_s"]), means[index], tolerance, f"{name} of sample {index}")
        expect_near(view.zoom_to(1, 3), view.length / 2, .2, "zoom by dragging")
        view.click("[data-z=out]")
        expect_near(view.zoomed, view.length / 4, .2, "zoom out")
        view.click("[data-z=all]")
        expect_near(view.zoomed, 1.0, 0.0, "the whole run")
        view.shot("restart-picked", whole=False)
        expect_good_at_all_sizes(view, "restart")
        view.pick(2)
        view.click("#pick a", 1, goes=True)
        log = box.path(box.run_folder(), "attempt-1/rank-2.err")
        expect_equal((view.value("location.pathname"), view.text("body")), (log, "bang\n"), "the log behind the link")
        expect_equal(view.mistakes, [], "errors of the console")


@case(budget=120.0)
def a_hang_and_its_metrics(box):
    box.write("job.yaml", "processes: 2\nmetrics: {loss: 'loss ([0-9.]+)'}\nwatch: {after: 1s}\ntimeouts: {hang: 3s, stop: 1s}\n"
              "command: echo loss 0.5; sleep 1.2; echo loss 0.25; sleep 60\n")
    box.run("run", code=None)
    with ReportView(report(box)) as view:
        summary, samples = box.json("summary.json"), box.json("samples.json")
        expect_equal(summary["cause"], "hang", "the cause")
        expect_ledger(view, summary["ledger"])
        expect(summary["ledger"]["stalled_s"] > 1 and "stalled" in [row[0] for row in view.table(".shares")], f"stalled: {summary['ledger']}")
        expect_in("ranks 0, 1", view.text("#stacks"), "stacks")
        order = view.value("[...document.querySelectorAll('section')].map(one => one.id)")
        expect(order.index("stacks") < order.index("metrics"), f"stacks come first: {order}")
        expect(view.box("#stacks pre")[3] > 0, "stacks are open")
        metric = samples["metrics"][0]
        expect_near(view.plotted(view.plot_of_metric("loss"), len(metric["mean"]) - 1, samples["step_s"]), 0.25, .001, "the last loss")
        expect_good_at_all_sizes(view, "hang")
        expect_equal(view.mistakes, [], "errors of the console")


@case(budget=180.0)
def a_day_of_512_ranks(box):
    box.make_folder("runs")
    run = big_run.make(box.path("runs"))
    with ReportView(report(box, run)) as view:
        processor = view.opening["ProcessTime"]  # the time that passes depends on what else runs here
        expect(processor < 2, f"it needs {processor:.1f} s of processor time to open")
        line = f"a day of 512 ranks: the report is open after {view.opened_ms:.0f} ms, with {processor * 1000:.0f} ms of processor time"
        with open(os.path.join(shots(), "opened.txt"), "w", encoding="utf-8") as file:
            file.write(line + "\n")
        expect_in("Rank 137 on gpu017: stopped, SIGTERM", view.pick(137), "the rank that was clicked")
        variables = view.variables()
        expect_equal((variables["RANK"], variables["LOCAL_RANK"], variables["X"]), ("137", "1", big_run.HOSTILE), "its variables")
        view.value("one = document.querySelector('#envpick input'), one.value = 0, one.dispatchEvent(new Event('input'))")
        expect_equal(view.variables()["RANK"], "0", "the variables of another")
        samples = box.json("samples.json")
        loss = samples["metrics"][0]["mean"]
        for index in (3, len(loss) // 2, len(loss) - 10):
            drawn = view.plotted(view.plot_of_metric(samples["metrics"][0]["name"]), index, samples["step_s"])
            near = loss[index - 1:index + 2]  # two samples to a pixel
            expect(min(near) - .01 < drawn < max(near) + .01, f"sample {index}: {drawn} is drawn for {near}")
        expect_near(view.zoom_to(view.length / 4, view.length / 2), 4.0, .05, "zoom")
        view.click("[data-z=all]")
        outside = "document.querySelectorAll('[src],link,iframe,object,embed,img').length"
        expect_equal(view.value(f"[typeof injected, document.scripts.length, {outside}]"), ["undefined", 2, 0], "scripts, and what comes from outside")
        expect_equal(view.mistakes, [], "errors of the console")
        for width, height in SIZES:
            view.look(width, height)
            view.shot(f"day-{width}", whole=False)
            expect_equal((width, view.overflow), (width, 0), "pixels beside the page")


@case(budget=120.0)
def the_book_and_its_search(box):
    """From the folder, as a reader without a server opens it."""
    if not browser.program() or not shutil.which("mkdocs"):
        raise Skip("no Chromium or no mkdocs is installed")
    subprocess.run(["mkdocs", "build", "-q", "-d", box.path("book")], cwd=TOP, check=True)
    with browser.Browser() as book:
        for page, heading in (("index.html", "The dlaunch book"), ("how-to/share-a-report.html", "Share a report"),
                              ("reference/exit-codes.html", "Exit codes")):
            book.open(box.path("book", page))
            expect_equal((page, book.value("document.querySelector('h1').firstChild.textContent.trim()")), (page, heading), "the heading")
            expect_equal((page, book.mistakes), (page, []), "errors of the console")
            for width in (360, 1280):
                book.look(width)
                expect_equal((page, width, book.value("document.documentElement.scrollWidth")), (page, width, width), "the width of the page")
            expect(book.value("[...document.images].every(one => one.complete && one.naturalWidth)"), f"images of {page}")
        book.screenshot(os.path.join(shots(), "book.png"))
        links = book.value("[...document.querySelectorAll('nav a')].map(one => one.textContent)")
        book.click("nav a", links.index("Messages"), goes=True)
        expect_equal(book.value("document.title"), "Messages - dlaunch", "the page behind the link in the contents")
        book.value("document.getElementById('search').focus()")
        book.type("grace Slurm")
        book.until("document.querySelectorAll('#found a').length")
        found = book.value("[...document.querySelectorAll('#found p')].map(one => one.textContent)")
        expect(all("slurm" in text.lower() or "grace" in text.lower() for text in found), f"what was found: {found}")
        target = book.value("document.querySelector('#found a').href")
        book.screenshot(os.path.join(shots(), "book-search.png"))
        book.click("#found a", goes=True)
        expect_equal(book.value("location.href"), target, "the page that was found")
        expect(book.value("!!document.getElementById(location.hash.slice(1))"), f"{target} leads to no heading")
        book.value("document.getElementById('search').focus()")
        book.type("zzyzx")
        book.until("document.querySelector('#found').textContent == 'Nothing was found.'")
        expect_equal(book.mistakes, [], "errors of the console")
