"""Progress bars: in place on a terminal, one line elsewhere, complete in the files."""

import os
import re

from case import case
from expectations import Skip, expect, expect_equal, expect_in
from screen import Screen

HOST = os.uname().nodename


def bars_of(lines):
    return [line for line in lines if "%|" in line]


@case
def bars_stand_still_below_the_lines(box):
    run = box.start_on_terminal("run", "-n", "3", "--", box.rank, "error", "\r 10%|#", "tell", "drawn", "gate",
                                "print", "a line\n", "error", "\r100%|#####|\n", "print", "end\n", env={"NO_COLOR": "1"})
    screen = Screen(run)
    box.expect_all("drawn", 3)
    lines = screen.wait_for(lambda lines: len(bars_of(lines)) == 3, "three bars")
    expect_equal(lines[-3:], [f"{HOST}:{rank} |  10%|#" for rank in range(3)], "bars, by rank, at the bottom")
    box.open_gate()
    run.end(0)
    screen.update()
    lines = screen.lines()
    for rank in range(3):
        for text in ("a line", "100%|#####|", "end"):
            expect_equal(lines.count(f"{HOST}:{rank} | {text}"), 1, f"{text} of rank {rank} on\n" + "\n".join(lines))
    expect(not any(" 10%" in line for line in lines), "an old state is left:\n" + "\n".join(lines))
    expect_in("dlaunch: done", lines[-1], "the last line")


@case
def many_bars_take_half_of_a_small_terminal(box):
    run = box.start_on_terminal("run", "-n", "12", "--", box.rank, "tell", "ready", "error", "\r 10%|" + "#" * 200, "tell", "drawn", "gate",
                                env={"NO_COLOR": "1"})
    screen = Screen(run, columns=50, rows=10)
    box.expect_all("drawn", 12)
    lines = screen.wait_for(lambda lines: "... and 8 more" in lines, "how many are left out")
    expect_equal(len(bars_of(lines)), 4, "bars\n" + "\n".join(lines))
    expect(all(len(line) < 50 for line in bars_of(lines)), "a bar reaches the edge")
    box.open_gate()
    run.end(0)


@case
def lines_go_by_above_a_bar(box):
    """Hundreds of lines scroll by above a bar; none is lost or overwritten."""
    run = box.start_on_terminal("run", "-n", "2", "--", "sh", "-c",
                                f'if [ $RANK = 0 ]; then {box.rank} error "$(printf "\\r 42%%|##")" tell drawn gate; '
                                f"else seq -f 'line %g' 1 500; {box.rank} tell drawn gate; fi", env={"NO_COLOR": "1"})
    screen = Screen(run)
    box.expect_all("drawn", 2)
    lines = screen.wait_for(lambda lines: any("line 500" in line for line in lines) and bars_of(lines), "the lines and the bar")
    expect_equal([line for line in lines if "| line" in line], [f"{HOST}:1 | line {n}" for n in range(1, 501)], "lines")
    expect_equal(lines[-1], f"{HOST}:0 |  42%|##", "the bar is below")
    box.open_gate()
    run.end(0)


@case
def two_bars_of_a_rank_keep_their_rows(box):
    """tqdm at position 1 goes one line down and up again (ESC [ A)."""
    inner = "".join(f"\n\rinner {n}%|\x1b[A" for n in range(10))
    run = box.start_on_terminal("run", "-n", "2", "--", box.rank, "error", "\router 1%|" + inner + "\router 2%|", "tell", "drawn", "gate",
                                env={"NO_COLOR": "1"})
    screen = Screen(run)
    box.expect_all("drawn", 2)
    lines = screen.wait_for(lambda lines: len(bars_of(lines)) == 4, "four bars")
    expect_equal(lines[-4:], [f"{HOST}:{rank} | {bar}" for rank in (0, 1) for bar in ("outer 2%|", "inner 9%|")], "bars")
    box.open_gate()
    run.end(0)


TQDM = """
import os, sys, time
from tqdm import tqdm
for epoch in tqdm(range(2), desc="epochs", position=0):
    for step in tqdm(range(40), desc="steps", position=1, leave=False):
        time.sleep(0.01)
tqdm.write("all done")
"""


def needs_tqdm():
    try:
        __import__("tqdm")
    except ImportError:
        raise Skip("no tqdm here: python3-tqdm") from None


@case
def tqdm_on_a_terminal(box):
    needs_tqdm()
    box.write("bars.py", TQDM)
    run = box.start_on_terminal("run", "-n", "2", "--", "/usr/bin/python3", "bars.py", env={"NO_COLOR": "1"})
    screen = Screen(run)
    lines = screen.wait_for(lambda lines: sum("steps:" in line for line in lines) == 2 and sum("epochs:" in line for line in lines) == 2,
                            "two bars of each rank")
    run.end(0)
    screen.update()
    lines = screen.lines()
    for rank in range(2):
        own = [line for line in lines if line.startswith(f"{HOST}:{rank} |")]
        expect_equal(sum("epochs: 100%" in line for line in own), 1, "the outer bar is left, once, on\n" + "\n".join(lines))
        expect_equal(sum("steps:" in line for line in own), 0, "the inner bars are wiped, on\n" + "\n".join(lines))
        expect_equal(sum("all done" in line for line in own), 1, "the line at the end")


@case
def tqdm_in_a_pipe_is_few_lines(box):
    needs_tqdm()
    box.write("bars.py", TQDM)
    run = box.run("run", "-n", "2", "--", "/usr/bin/python3", "bars.py")
    for rank in range(2):
        bars = [line for line in run.text.splitlines() if line.startswith(f"{HOST}:{rank} |") and "%|" in line]
        expect_equal(sum("epochs: 100%" in line for line in bars), 1, f"the bar when it was complete: {bars}")
        expect(len(bars) <= 6, f"{len(bars)} lines for a bar: {bars}")
        expect(box.rank_output(rank, "err").count(b"\r") > 10, "every state is in the file")


@case
def a_bar_is_one_line_where_there_is_no_terminal(box):
    states = "".join(f"\r{n:3}%|" for n in range(100))
    run = box.run("run", "-n", "2", "--", box.rank, "print", states + "\r100%|\n", "print", "end\n")
    expect_equal(sorted(run.out.decode().splitlines()), [f"{HOST}:{rank} | {text}" for rank in (0, 1) for text in ("100%|", "end")], "console")
    for rank in (0, 1):
        expect_equal(box.rank_output(rank), (states + "\r100%|\nend\n").encode(), "file")


@case
def a_bar_without_an_end_is_shown_at_the_end(box):
    run = box.run("run", "-n", "2", "--", box.rank, "print", "\r 10%|\r 20%|")
    expect_equal(sorted(run.out.decode().splitlines()), [f"{HOST}:{rank} |  20%|" for rank in (0, 1)], "console")


@case
def a_single_rank_draws_its_bar_itself(box):
    run = box.start_on_terminal("run", "--", box.rank, "error", "\r 10%|#\r 20%|##\n")
    run.end(0)
    expect_in(b"\r 10%|#\r 20%|##", run.screen, "bytes as they were written")


@case
def binary_output_is_no_bar(box):
    """In random bytes, one in 256 is a carriage return; the bytes before it must not be lost."""
    size = 1_000_000
    run = box.run("run", "-n", "2", "--", "head", "-c", str(size), "/dev/urandom")
    shown = re.sub(rb"^\S+:[01] \| ", b"", run.out, flags=re.MULTILINE)
    expect(2 * size - 5000 < len(shown) < 2 * size + 5000, f"{len(shown)} bytes of {2 * size} on the console")
