"""Kernels and sandboxes that lack a system call: a filter (seccomp(2)) answers ENOSYS for it."""

import ctypes
import errno
import os
import platform
import resource

from case import case
from expectations import Skip, expect, expect_equal, expect_in
from processes import PATIENCE

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06  # linux/bpf_common.h: BPF_LD|BPF_W|BPF_ABS, ...
ALLOW, ERRNO = 0x7FFF0000, 0x00050000  # linux/seccomp.h
PIDFD_OPEN, CLOSE_RANGE = 434, 436  # the same number on every architecture


class Instruction(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint16), ("jt", ctypes.c_uint8), ("jf", ctypes.c_uint8), ("k", ctypes.c_uint32)]


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint16), ("filter", ctypes.POINTER(Instruction))]


CLONE = {"x86_64": 56, "aarch64": 220}
CLONE3, CLONE_THREAD = 435, 0x10000
FIRST_ARGUMENT = 16  # its lower half, in struct seccomp_data
JUMP_IF_SET = 0x45


def without(number):
    return filtered((LOAD, 0, 0, 0), (JUMP_IF_EQUAL, 0, 1, number), (RETURN, 0, 0, ERRNO | errno.ENOSYS), (RETURN, 0, 0, ALLOW))


def without_threads():
    if platform.machine() not in CLONE:
        raise Skip(f"the number of clone(2) on {platform.machine()} is not known here")
    return filtered((LOAD, 0, 0, 0), (JUMP_IF_EQUAL, 0, 1, CLONE3), (RETURN, 0, 0, ERRNO | errno.ENOSYS),
                    (JUMP_IF_EQUAL, 0, 3, CLONE[platform.machine()]), (LOAD, 0, 0, FIRST_ARGUMENT),
                    (JUMP_IF_SET, 0, 1, CLONE_THREAD), (RETURN, 0, 0, ERRNO | errno.EAGAIN), (RETURN, 0, 0, ALLOW))


def filtered(*instructions):
    def install():
        code = (Instruction * len(instructions))(*instructions)
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(Program(len(code), code))) != 0:
            raise OSError(ctypes.get_errno(), "seccomp")
    return install


@case
def without_pidfds_the_error_is_said_and_nobody_waits_for_ever(box):
    run = box.start("run", "--", "true", before=without(PIDFD_OPEN))
    run.end(patience=PATIENCE)
    expect(run.code in (69, 70), f"exit code {run.code}\n{run.report()}")
    expect_in("pidfd_open", run.text, "what is missing")
    expect(run.seconds < 10, f"{run.seconds:.1f} s until the end")


@case
def without_close_range_only_what_is_open_is_closed(box):
    def before():
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        without(CLOSE_RANGE)()

    run = box.run("run", "--", "sh", "-c", "ls /proc/self/fd | wc -l", before=before)
    expect(run.out.strip() == b"4", f"descriptors of ls: {run.out}")  # the fourth is the folder it reads


LINES = 2000


def expect_all_lines(box, before):
    """stdout is a pipe, which a thread of dlaunch writes to if it can start one."""
    read, write = os.pipe()
    run = box.start("run", "-n", "2", "--", box.rank, "lines", str(LINES), stdout=write, before=before)
    os.close(write)
    with open(read, "rb") as file:
        shown = file.read()
    run.end(0)
    expect_equal(shown.count(b"\n"), 2 * LINES, f"lines on the console\n{run.report()}")
    expect(b"skipped" not in run.err, f"something was left out\n{run.report()}")


@case
def a_stack_limit_beyond_all_memory_does_not_silence_the_console(box):
    """By default, the stack of a thread is as large as this limit."""
    if box.sanitized:
        raise Skip("a sanitizer reserves more memory than the limit allows")

    def before():
        resource.setrlimit(resource.RLIMIT_STACK, (8 << 30, resource.getrlimit(resource.RLIMIT_STACK)[1]))
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))

    expect_all_lines(box, before)


@case
def without_threads_the_console_shows_everything(box):
    if box.has_thread_of_sanitizer:
        raise Skip("ThreadSanitizer needs a thread")
    expect_all_lines(box, without_threads())
