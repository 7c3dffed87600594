"""What a terminal shows after the bytes that a run wrote to it."""

import fcntl
import struct
import termios
import time

from expectations import Skip
from processes import PATIENCE

try:
    import pyte
except ImportError:
    pyte = None


class Screen:
    """A terminal of this size and its content. Keeps the lines that have scrolled out at the top."""

    def __init__(self, run, columns=80, rows=24):
        if pyte is None:
            raise Skip("no terminal emulator here: python3-pyte")
        self.run, self.fed = run, 0
        self.screen = pyte.HistoryScreen(columns, rows, history=10000, ratio=1)
        self.stream = pyte.ByteStream(self.screen)
        fcntl.ioctl(run.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def update(self, wait=0.0):
        if self.run.terminal is not None:
            self.run.read_screen(wait)
        self.stream.feed(self.run.screen[self.fed:])
        self.fed = len(self.run.screen)

    def lines(self):
        """All lines, from the first that was written to the last that is not empty."""
        width = self.screen.columns
        above = ["".join(line[x].data for x in range(width)).rstrip() for line in self.screen.history.top]
        return "\n".join([*above, *(line.rstrip() for line in self.screen.display)]).rstrip("\n").split("\n")

    def wait_for(self, condition, what, patience=PATIENCE):
        """Waits until condition(lines) is true, and returns the lines."""
        deadline = time.monotonic() + patience
        while True:
            self.update(0.1)
            if condition(self.lines()):
                return self.lines()
            if time.monotonic() > deadline:
                raise AssertionError(f"the screen never showed {what}:\n" + "\n".join(self.lines()))
