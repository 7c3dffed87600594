"""Users of `dlaunch attach`, with and without a terminal."""

import fcntl
import struct
import termios

from processes import wait_until


def beside(box, *words, code=0):
    """Runs `dlaunch attach` without a terminal."""
    return box.start("attach", *words).end(code, left=1000)


def wait_on_screen(run, wanted, what):
    """Waits until the terminal has shown `wanted`, after what the last such wait found."""
    run.looked_at = getattr(run, "looked_at", 0)

    def shown():
        run.read_screen(0.05)
        return wanted in run.screen[run.looked_at:]
    try:
        wait_until(shown, what)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{run.screen[run.looked_at:]!r}") from None
    run.looked_at = len(run.screen)


def sit_down(box, *words):
    """Starts `dlaunch attach` on a terminal of its own, with a shell that has a known prompt."""
    guest = box.start_on_terminal("attach", *words, "--", "/bin/sh")
    wait_on_screen(guest, b"dlaunch: rank ", "that it runs")
    wait_until(lambda: is_raw(guest), "raw mode")
    guest.type(b"PS1='['ready'] '\r")  # the echo has no "[ready] "
    wait_on_screen(guest, b"[ready] ", "the prompt")
    return guest


def modes(guest):
    return termios.tcgetattr(guest.terminal)[:4]


def is_raw(guest):
    return not modes(guest)[3] & (termios.ICANON | termios.ECHO)


def resize(guest, rows, columns):
    fcntl.ioctl(guest.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
