"""Kernels and sandboxes that lack a system call: a filter (seccomp(2)) answers ENOSYS for it."""

import ctypes
import errno
import resource

from case import case
from expectations import expect, expect_in
from processes import PATIENCE

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06  # linux/bpf_common.h: BPF_LD|BPF_W|BPF_ABS, ...
ALLOW, ERRNO = 0x7FFF0000, 0x00050000  # linux/seccomp.h
PIDFD_OPEN, CLOSE_RANGE = 434, 436  # the same number on every architecture


class Instruction(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint16), ("jt", ctypes.c_uint8), ("jf", ctypes.c_uint8), ("k", ctypes.c_uint32)]


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint16), ("filter", ctypes.POINTER(Instruction))]


def without(number):
    def install():
        code = (Instruction * 4)((LOAD, 0, 0, 0), (JUMP_IF_EQUAL, 0, 1, number),
                                 (RETURN, 0, 0, ERRNO | errno.ENOSYS), (RETURN, 0, 0, ALLOW))
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(Program(4, code))) != 0:
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
