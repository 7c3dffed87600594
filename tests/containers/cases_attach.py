"""dlaunch attach and --pty with ranks in containers."""

import os
import shutil
import signal

from case import case
from expectations import expect, expect_equal, expect_in
from guests import beside, is_raw, resize, sit_down, wait_on_screen
from processes import command_of, wait_until
from run_helpers import NOBODY, USAGE, as_nobody

LEFT = 129
SLEEPER = "sleep 987654"


def begin(box, container, ranks=2, options=(), **more):
    """Starts ranks whose program is busybox's sleep, and returns when each has said that it runs."""
    script = "echo ready; exec " + SLEEPER
    run = box.ranks_in(container, ranks, "sh", "-c", script, options=["--set", "framework=pytorch", "--set", "timeouts.stop=1s", *options], **more)
    until_ready(box, ranks)
    return run


def until_ready(box, ranks):
    wait_until(lambda: box.exists("runs") and box.runs() and all(box.rank_output(rank) == b"ready\n" for rank in range(ranks)), "the ranks", 30, 0.05)


def end(box, run, code=143):
    run.signal(signal.SIGTERM)
    run.end(code)
    expect_equal(box.json("summary.json")["leftovers"], 0, "left over")
    box.expect_no_container()


def both(what):
    """Registers a case for each runtime, and names it after the runtime."""
    for runtime in ("podman", "docker", "charliecloud"):
        def run_it(box, runtime=runtime):
            what(box, getattr(box, runtime)())
        run_it.__name__ = f"{runtime}_{what.__name__}"
        run_it.__module__ = __name__
        run_it.__doc__ = what.__doc__
        globals()[run_it.__name__] = case(long=runtime == "docker")(run_it)
    return what


@both
def command_beside_a_rank(box, container):
    """The command runs in the rank's container, and {pid} is the rank's process."""
    run = begin(box, container, options=["--set", "env={MINE: my value}"])
    script = "echo $RANK $WORLD_SIZE $MINE; pwd; readlink -f /bin/sh; tr '\\0' ' ' </proc/$1/cmdline; for n in mnt user pid; do " \
             "test $(readlink /proc/self/ns/$n) = $(readlink /proc/$1/ns/$n) || echo other $n; done"
    said = beside(box, "1", "--", "sh", "-c", script, "sh", "{pid}")
    expect_equal(said.out.decode().splitlines(), ["1 2 my value", box.folder, "/bin/busybox", SLEEPER + " "], said.text)
    expect_equal(beside(box, "0", "--", "sh", "-c", "cat; echo err >&2; exit 7", code=7).err, b"err\n", "stderr apart")
    expect_equal(beside(box, "0", "--", "sh", "-c", "kill -SEGV $$", code=139).out, b"", "a signal")
    expect_in('cannot execute "nothing-here"', beside(box, "0", "--", "nothing-here", code=127).text, "not in the image")
    end(box, run)


@case
def podman_with_process_numbers_of_its_own(box):
    """With this option of the user's, {pid} is the number that the process has in the container."""
    run = begin(box, box.podman(), ranks=1, options=["--set", "container.options=[--pid=private]"])
    said = beside(box, "0", "--", "sh", "-c", "tr '\\0' ' ' </proc/$1/cmdline; test $1 -lt 10 && ls /proc/1/exe", "sh", "{pid}").out.decode()
    expect_equal(said.splitlines(), [SLEEPER + " /proc/1/exe"], "the rank")
    end(box, run)


@both
def terminal_beside_a_rank(box, container):
    """The terminal has a name in the container's /dev/pts. The image does not contain the user's shell."""
    run = begin(box, container)
    guest = sit_down(box, "1")
    resize(guest, 33, 101)
    os.kill(guest.pid, signal.SIGWINCH)
    guest.type(b"stty size; echo rank=$RANK tty=$(test -c $(tty) && tty | cut -c-8)\r")
    wait_on_screen(guest, b"33 101\r\nrank=1 tty=/dev/pts", "the size, variables and terminal")
    guest.type(b"sleep 123456\r")
    sleeping = lambda: "sleep 123456" in [line.strip() for line in box.command_lines()]  # noqa: E731
    wait_until(sleeping, "sleep")
    guest.type(b"\x03")
    guest.type(b"echo st=$?\r")
    wait_on_screen(guest, b"st=130\r\n", "Ctrl-C ends the program only")
    guest.type(b"exit 5\r")
    guest.end(5, left=1000)
    end(box, run)


@both
def shell_of_the_user_or_else_the_image(box, container):
    for shell, expected in (("/bin/ash", b"/bin/ash"), ("/no/such/shell", b"/bin/sh")):
        run = begin(box, container, ranks=1, env={"SHELL": shell})
        expect_equal(beside(box, "0", "--", "sh", "-c", "echo $SHELL").out.strip(), shell.encode(), "the variable")
        guest = box.start_on_terminal("attach", "0")
        wait_on_screen(guest, b"dlaunch: rank 0", "that it runs")
        wait_until(lambda: is_raw(guest), "raw mode")
        guest.type(b"echo shell=$0\r")
        wait_on_screen(guest, b"shell=" + expected + b"\r\n", "the shell")
        guest.type(b"exit\r")
        guest.end(0, left=1000)
        run.signal(signal.SIGTERM)
        run.end(143)
        shutil.rmtree(box.path("runs"))


@both
def leaving_ends_what_was_started(box, container):
    run = begin(box, container, ranks=1)
    guest = box.start_on_terminal("attach", "0", "--", "sh", "-c", "trap '' HUP TERM; sleep 123456 & sleep 123457; true")
    wait_on_screen(guest, b"dlaunch: rank 0", "that it runs")
    wait_until(lambda: is_raw(guest), "raw mode")
    sleeping = lambda: [line for line in box.command_lines() if line.startswith("sleep 12345")]  # noqa: E731
    wait_until(lambda: len(sleeping()) == 2, "both")
    guest.type(b"~.")
    guest.end(LEFT, left=1000)
    expect(not is_raw(guest), "modes of the terminal")
    wait_until(lambda: not sleeping(), "their end, though they ignore SIGHUP")
    expect_equal(beside(box, "0", "--", "sh", "-c", "echo $RANK").out, b"0\n", "the rank goes on")
    end(box, run)


@both
def rank_that_ends_takes_its_terminal_along(box, container):
    """The other ranks go on, because a container ends with its rank."""
    script = "echo ready; if [ $RANK = 0 ]; then until [ -e go ]; do sleep 0.05; done; else exec " + SLEEPER + "; fi"
    run = box.ranks_in(container, 2, "sh", "-c", script, options=["--set", "framework=pytorch", "--set", "timeouts.stop=1s"])
    until_ready(box, 2)
    guest = box.start_on_terminal("attach", "0", "--", "sh", "-c", "trap '' HUP TERM INT; echo here; while :; do sleep 1000; done")
    wait_on_screen(guest, b"here", "the command")
    box.write("go", "")
    guest.end(USAGE, left=1000)
    expect_in(b"rank 0 has ended", guest.screen, "why")
    expect(not is_raw(guest), "modes of the terminal")
    expect_in("rank 0 has ended", beside(box, "0", "--", "true", code=USAGE).text, "another one")
    expect_equal(beside(box, "1", "--", "sh", "-c", "echo $RANK").out, b"1\n", "the other rank goes on")
    end(box, run)


@both
def agent_that_is_killed_leaves_nothing(box, container):
    run = begin(box, container, ranks=1)
    guest = sit_down(box, "0")
    guest.type(b"sleep 123456\r")
    wait_until(lambda: "sleep 123456" in [line.strip() for line in box.command_lines()], "sleep")
    os.kill(run.chain()[2], signal.SIGKILL)
    guest.end(69, left=1000)
    run.end(69, left=1000)
    wait_until(lambda: not box.survivors(), "nothing is left", 20, 0.05)
    box.expect_no_container()


@both
def rank_with_a_terminal_of_its_own(box, container):
    script = "if test -t 0 && test -t 1 && test -t 2 && (: </dev/tty) 2>/dev/null; then trap 'echo caught; c=1' INT; " \
             "echo terminal $(stty size) $(tty | cut -c-8); while [ -z \"$c\" ]; do sleep 0.05; done; else echo none; fi; cat"
    run = box.start_on_terminal("run", "-n", "2", "--pty", "0", "--set", "framework=pytorch", *container, "--", "sh", "-c", script, env={"NO_COLOR": "1"})
    wait_on_screen(run, b":0 | terminal 24 80 /dev/pts", "of rank 0")
    run.type(b"\x03")
    wait_on_screen(run, b":0 | caught", "Ctrl-C is the program's")
    run.type(b"typed\n")
    wait_on_screen(run, b":0 | typed", "what it has read")
    run.type(b"\x04")
    run.end(0)
    expect_in(b":1 | none", run.screen, "of rank 1")
    box.expect_no_container()


@case
def charliecloud_as_an_ordinary_user(box):
    """The rank is in a user namespace that the runtime has made, which dlaunch can enter without root's rights."""
    options = as_nobody(box)
    os.chmod(box.folder, 0o755)
    run = box.ranks_in(box.charliecloud(), 1, "sh", "-c", "echo ready; exec " + SLEEPER, options=["--set", "timeouts.stop=1s"], **options)
    wait_until(lambda: box.exists("of-nobody/runs") and box.runs("of-nobody/runs") and box.rank_output(0, runs="of-nobody/runs") == b"ready\n",
               "the rank", 30, 0.05)
    script = "readlink -f /bin/sh; id -u; readlink /proc/self/ns/user; readlink /proc/$1/ns/user"
    said = box.start("attach", "0", "--", "sh", "-c", script, "sh", "{pid}", **options).end(0, left=1000).out.decode().splitlines()
    expect_equal(said[:2], ["/bin/busybox", str(NOBODY)], "image and user")
    expect(said[2] == said[3] != os.readlink("/proc/self/ns/user"), f"namespaces: {said}")
    run.signal(signal.SIGTERM)
    run.end(143)
