"""What a process test case works with. A case runs as the init process of its own PID namespace, so that every other process that is still alive
after dlaunch's end is one that it left.

Where namespaces are not allowed, the case is a subreaper instead (prctl(2)): it inherits orphans in the same way, and the processes that are left are
its descendants.
"""

import ctypes
import fcntl
import json
import mmap
import os
import pty
import select
import signal
import termios
import time
import traceback

from expectations import expect, expect_equal, shorten
from processes import PATIENCE, all_processes, children_of, descendants_of, process_table, stat_of, wait_gone

HERE = os.path.dirname(os.path.abspath(__file__))
PR_SET_CHILD_SUBREAPER = 36
LOOK_AROUND = 1.0  # seconds without an event before checking whether any process is left that could report one


class Run:
    """One dlaunch, started by Sandbox.start."""

    def __init__(self, box, pid, out, err, terminal=None, shell=None):
        self.box, self.pid, self.shell, self.terminal = box, pid, shell, terminal
        self._out, self._err = out, err
        self.started = time.monotonic()
        self.signalled = None  # (the last signal, when)
        self.seconds = None
        self.code = None
        self.screen = b""  # the terminal's output

    @property
    def out(self):
        return self.box.read(self._out) if self._out else self.screen

    @property
    def err(self):
        return self.box.read(self._err) if self._err else self.screen

    @property
    def text(self):
        return self.err.decode(errors="replace")

    @property
    def words(self):
        """The text as one line, without its line breaks."""
        return " ".join(self.text.split())

    def chain(self):
        """(engine, guardian, agent): front -> engine -> guardian -> agent -> ranks."""
        chain, at = [], self.pid
        for name in ("engine", "guardian", "agent"):
            below = children_of(at)
            expect(len(below) == 1, f"{name}: expected one child of {at}, found {below}\n{process_table()}")
            at = below[0]
            chain.append(at)
        return tuple(chain)

    def ranks(self):
        return children_of(self.chain()[2])

    def signal(self, number):
        """Sends a signal. Two equal signals are sent far enough apart to count twice (os/signals.h), even on a busy machine."""
        if self.signalled and self.signalled[0] == number:
            time.sleep(max(0.0, self.signalled[1] + 0.5 - time.monotonic()))
        self.signalled = (number, time.monotonic())
        os.kill(self.pid, number)

    def type(self, keys):
        os.write(self.terminal, keys)

    def read_screen(self, wait=0.0):
        """Reads the terminal's output, so that no process blocks on it."""
        while select.select([self.terminal], [], [], wait)[0]:
            try:
                data = os.read(self.terminal, 65536)
            except OSError:
                return False
            if not data:
                return False
            self.screen += data
            wait = 0.0
        return True

    def end(self, code=None, patience=PATIENCE, left=0):
        """Waits for dlaunch's end. At that moment, at most `left` of the processes that it started may be alive."""
        self._wait(patience)
        if self.shell:
            self.box.expect_events(["shell saw the end"])
        self.box.reap()
        survivors = self.box.survivors()
        self.seconds = time.monotonic() - self.started
        if self.terminal:
            self.read_screen()
        self.code = self.box.exit_code(self)
        expect(len(survivors) <= left, f"left running after dlaunch's end: {survivors}\n{process_table()}\n{self.report()}")
        if code is not None:
            expect(self.code == code, f"exit code {self.code} instead of {code}\n{self.report()}")
        return self

    def _wait(self, patience):
        try:
            end = os.pidfd_open(self.pid)
        except ProcessLookupError:  # it has ended, and was reaped already
            return
        deadline = time.monotonic() + patience
        try:
            while True:
                watched = [end] + ([self.terminal] if self.terminal else [])
                ready = select.select(watched, [], [], max(0.0, deadline - time.monotonic()))[0]
                if end in ready:
                    return
                expect(ready, f"dlaunch is still running after {patience:g} s\n{process_table()}\n{self.report()}")
                if not self.read_screen():
                    os.close(self.terminal)
                    self.terminal = None
        finally:
            os.close(end)

    def report(self):
        return f"--- stdout\n{shorten(self.out.decode(errors='replace'), 3000)}\n--- stderr\n{shorten(self.text, 3000)}"

    def folder(self):
        return self.box.run_folder()


class Sandbox:
    """The folder of one case, its events, its gate and its processes."""

    def __init__(self, folder, dlaunch, rank_program, namespaced):
        self.folder, self.dlaunch, self.rank = folder, dlaunch, rank_program
        self.namespaced = namespaced
        self.ranks_folder = os.path.join(HERE, "ranks")
        self._statuses, self._own, self._runs = {}, {os.getpid()}, []
        self._lines, self._rest = [], b""
        self.events = self.path("events")
        os.mkfifo(self.events)
        os.chmod(self.events, 0o666)
        self._events = os.open(self.events, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self.gate = self.path("gate")
        self._gate = os.open(self.gate, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        fcntl.flock(self._gate, fcntl.LOCK_EX)
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": self.make_folder("home"), "LANG": "C.UTF-8",
            "CASE": folder, "EVENTS": self.events, "GATE": self.gate, "RANK_PROGRAM": rank_program}

    # --- files

    def _holds(self, *names):
        with open(self.dlaunch, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return any(content.find(name) != -1 for name in names)

    @property
    def sanitized(self):
        """Whether dlaunch was built with a sanitizer, which needs memory of its own and keeps freed memory for a while."""
        return self._holds(b"__asan_init", b"__tsan_init")

    @property
    def has_thread_of_sanitizer(self):
        """Whether dlaunch has a thread of ThreadSanitizer from the start: unshare(CLONE_NEWUSER) fails in a process with several threads (unshare(2),
        EINVAL)."""
        return self._holds(b"__tsan_init")

    def memory(self, megabytes):
        """A bound for dlaunch's own memory, in bytes."""
        return (megabytes + (600 if self.sanitized else 0)) << 20

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def make_folder(self, *parts):
        os.makedirs(self.path(*parts), exist_ok=True)
        return self.path(*parts)

    def write(self, name, text, mode=0o644):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        os.chmod(path, mode)
        return path

    def read(self, *parts):
        with open(self.path(*parts), "rb") as file:
            return file.read()

    def exists(self, *parts):
        return os.path.exists(self.path(*parts))

    def runs(self, folder="runs"):
        """The names of the run folders, without the .gitignore beside them."""
        return [name for name in os.listdir(self.path(folder)) if not name.startswith(".")]

    def run_folder(self, runs="runs"):
        """The folder of the only run so far."""
        names = self.runs(runs) if self.exists(runs) else []
        expect_equal(len(names), 1, f"folders in {runs}/")
        return self.path(runs, names[0])

    def rank_output(self, rank, stream="out", runs="runs"):
        path = os.path.join(self.run_folder(runs), "attempt-0", f"rank-{rank}.{stream}")
        try:
            return self.read(path)
        except FileNotFoundError:
            return b""

    def json(self, name, runs="runs"):
        return json.loads(self.read(self.run_folder(runs), name))

    @property
    def begun(self):
        """All runs of the case."""
        return list(self._runs)

    # --- events and gate

    def next_event(self, patience=PATIENCE):
        deadline = time.monotonic() + patience
        while b"\n" not in self._rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._events], [], [], left)[0]:
                return None
            self._rest += os.read(self._events, 65536)
        line, self._rest = self._rest.split(b"\n", 1)
        return line.decode()

    def expect_events(self, wanted, patience=PATIENCE):
        """Waits until all of these lines have arrived, in any order; others are kept for later."""
        wanted = list(wanted)
        for line in [line for line in self._lines if line in wanted]:
            if line in wanted:
                wanted.remove(line)
                self._lines.remove(line)
        deadline = time.monotonic() + patience
        while wanted:
            line = self.next_event(min(LOOK_AROUND, max(0.0, deadline - time.monotonic())))
            if line is None and time.monotonic() < deadline and not self._nobody_is_left():
                continue
            if line is None:
                runs = "\n".join(run.report() for run in self._runs)
                raise AssertionError(f"no event {wanted} within {patience:g} s, or no process left to report it; others: {self._lines}\n{process_table()}\n{runs}")
            if line in wanted:
                wanted.remove(line)
            else:
                self._lines.append(line)

    def _nobody_is_left(self):
        """True when no process is left that could report an event: all runs have ended, and everything they started."""
        self.reap()
        return not self.has_events() and not self.survivors() and all(run.pid in self._statuses for run in self._runs)

    def expect_all(self, word, count):
        self.expect_events([f"{word} {rank}" for rank in range(count)])

    def no_event(self, word):
        """True if no event with this word has arrived so far."""
        while self.has_events():
            self._lines.append(self.next_event())
        return not any(line.startswith(word + " ") for line in self._lines)

    def has_events(self):
        return b"\n" in self._rest or bool(select.select([self._events], [], [], 0)[0])

    def open_gate(self):
        fcntl.flock(self._gate, fcntl.LOCK_UN)

    def close_gate(self):
        """Closes the gate for another run, when the last has ended."""
        fcntl.flock(self._gate, fcntl.LOCK_EX)

    # --- processes

    def start(self, *arguments, stdin=None, env=None, cwd=None, before=None, program=None, stdout=None,
              inherit=(), prefix=()):
        """Starts dlaunch. stdin: None (/dev/null), bytes, or a descriptor; stdout: None (a file) or a
        descriptor; before: called in the child; prefix: a command that executes dlaunch."""
        number = len(self._runs)
        out = None if stdout is not None else self.path(f"stdout-{number}")
        err = self.path(f"stderr-{number}")
        if isinstance(stdin, bytes):
            stdin = os.open(self.write(f"stdin-{number}", stdin), os.O_RDONLY)
        argv = [os.fsencode(word) for word in [*prefix, program or self.dlaunch, *arguments]]
        pid = os.fork()
        if pid == 0:
            self._child(argv, stdin, stdout, out, err, env, cwd, before, inherit)
        run = Run(self, pid, out, err)
        self._runs.append(run)
        return run

    def _child(self, argv, stdin, stdout, out, err, env, cwd, before, inherit):
        try:
            create = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            os.dup2(os.open("/dev/null", os.O_RDONLY) if stdin is None else stdin, 0)
            os.dup2(os.open(out, create, 0o666) if stdout is None else stdout, 1)
            os.dup2(os.open(err, create, 0o666), 2)
            keep = sorted(set(inherit))
            for low, high in zip([3] + [fd + 1 for fd in keep], keep + [256]):
                os.closerange(low, high)
            for fd in keep:
                os.set_inheritable(fd, True)
            self._become(argv, env, cwd, before)
        finally:
            os._exit(96)

    def _become(self, argv, env, cwd, before):
        try:
            for number in range(1, signal.NSIG):
                if number not in (signal.SIGKILL, signal.SIGSTOP) and signal.getsignal(number) not in (None, signal.SIG_DFL):
                    signal.signal(number, signal.SIG_DFL)
            os.chdir(cwd or self.folder)
            if before:
                before()
            os.execvpe(argv[0], argv, {**self.environment, **(env or {})})
        except BaseException:
            os.write(2, traceback.format_exc().encode())
        os._exit(97)

    def run(self, *arguments, code=0, patience=PATIENCE, **options):
        return self.start(*arguments, **options).end(code, patience)

    def start_on_terminal(self, *arguments, env=None, program=None):
        """Starts dlaunch as the foreground job of a small shell on a pseudo terminal. The shell reports the events "shell saw a stop" and "shell saw
        the end", passes SIGHUP on as shells do, and on SIGUSR1 brings the job to the foreground again (fg)."""
        master, slave = pty.openpty()
        read_pid, write_pid = os.pipe()
        shell = os.fork()
        if shell == 0:
            try:
                os.close(master)
                self._shell([os.fsencode(word) for word in [program or self.dlaunch, *arguments]], slave, write_pid, env)
            finally:
                os._exit(95)
        os.close(slave)
        os.close(write_pid)
        pid = int(os.read(read_pid, 20))
        os.close(read_pid)
        self._own.add(shell)
        run = Run(self, pid, None, None, terminal=master, shell=shell)
        self._runs.append(run)
        return run

    def _tell(self, line):
        fd = os.open(self.events, os.O_WRONLY)
        os.write(fd, line.encode() + b"\n")
        os.close(fd)

    def _shell(self, argv, slave, write_pid, env):
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        job = os.fork()
        if job == 0:
            os.setpgid(0, 0)
            os.tcsetpgrp(slave, os.getpid())
            for fd in (0, 1, 2):
                os.dup2(slave, fd)
            os.closerange(3, 256)
            self._become(argv, env, None, None)
        os.write(write_pid, str(job).encode())
        os.close(write_pid)

        def bring_back(number, frame):
            del number, frame
            os.tcsetpgrp(slave, job)
            os.killpg(job, signal.SIGCONT)

        signal.signal(signal.SIGUSR1, bring_back)
        signal.signal(signal.SIGHUP, lambda number, frame: os.killpg(job, signal.SIGHUP))
        while True:
            _, status = os.waitpid(job, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                break
            os.tcsetpgrp(slave, os.getpgrp())
            self._tell("shell saw a stop")
        with open(self.path("status-of-job"), "w", encoding="utf-8") as file:
            file.write(str(status))
        self._tell("shell saw the end")
        while True:
            signal.pause()

    def reap(self):
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._statuses[pid] = status

    def has_ended(self, run):
        self.reap()
        return run.pid in self._statuses

    def exit_code(self, run):
        status = int(self.read("status-of-job")) if run.shell else self._statuses[run.pid]
        return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)

    def survivors(self):
        """Processes that are alive, except this one, its helpers, and those of runs that have not ended."""
        self.reap()
        processes = all_processes()  # one listing, because a rank of another run that ends between two listings would be counted
        mine = sorted(processes) if self.namespaced else descendants_of(os.getpid(), processes)
        running = {run.pid for run in self._runs if run.code is None and run.pid not in self._statuses}
        below = set()
        for pid in running:
            below |= {pid, *descendants_of(pid, processes)}  # including itself while it is ending: nothing of it outlives it
        return [pid for pid in mine if pid not in self._own and pid not in below]

    def expect_nobody(self, what, patience=PATIENCE):
        """Waits until nothing but this process is alive."""
        deadline = time.monotonic() + patience
        while True:
            left = [pid for pid in (all_processes() if self.namespaced else descendants_of(os.getpid()))
                    if pid not in self._own]
            if not left:
                return
            wait_gone(left[:1], what, max(0.0, deadline - time.monotonic()))
            self.reap()

    def finish(self):
        """Checks what must hold at the end of a case."""
        unfinished = [run.pid for run in self._runs if run.code is None and stat_of(run.pid)]
        expect(not unfinished, f"the case did not wait for its runs {unfinished}")

    def close(self):
        for run in self._runs:
            for pid in (run.shell, run.pid):
                try:
                    if pid and (run.code is None or pid == run.shell):
                        os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            if run.shell:
                self._own.discard(run.shell)
