"""What every rank starts with."""

import os
import re
import resource
import signal
import socket

from case import case
from expectations import expect, expect_equal, expect_in, pseudo_random_bytes
from processes import stat_of, wait_gone

SHOW_STATUS = ["sh", "-c", "exec cat /proc/self/status >$CASE/status.$RANK"]


def status_field(box, name, rank=0):
    match = re.search(rf"^{name}:\s*(\S+)", box.read(f"status.{rank}").decode(), re.M)
    return match[1]


@case
def each_rank_leads_a_process_group(box):
    run = box.start("run", "-n", "4", "--", box.rank, "tell", "ready", "gate")
    box.expect_all("ready", 4)
    ranks, agent = run.ranks(), run.chain()[2]
    expect_equal(len(ranks), 4, "ranks")
    for pid in ranks:
        expect_equal(os.getpgid(pid), pid, "process group of a rank")
        expect(os.getpgid(agent) != pid, "the agent shares a rank's group")
    box.open_gate()
    run.end(0)


@case
def engine_is_in_a_session_of_its_own(box):
    run = box.start("run", "--", box.rank, "tell", "ready", "gate")
    box.expect_all("ready", 1)
    engine = run.chain()[0]
    expect_equal(os.getsid(engine), engine, "session of the engine")
    expect(os.getsid(run.pid) != engine, "the front is in the engine's session")
    box.open_gate()
    run.end(0)


@case
def ranks_die_with_the_agent_without_anybodys_help(box):
    run = box.start("run", "-n", "2", "--", box.rank, "ignore", "15", "tell", "ready", "pause")
    box.expect_all("ready", 2)
    engine, guardian, agent = run.chain()
    ranks = run.ranks()
    for pid in (run.pid, engine, guardian):  # no process that could clean up runs, so only PR_SET_PDEATHSIG ends the ranks
        os.kill(pid, signal.SIGSTOP)
    os.kill(agent, signal.SIGKILL)
    wait_gone(ranks, "ranks after the agent's death")
    for pid in (guardian, engine, run.pid):
        os.kill(pid, signal.SIGCONT)
    run.end(69)


@case
def signal_mask_is_empty_and_dispositions_are_default(box):
    def ignore_and_block():
        for number in (signal.SIGPIPE, signal.SIGINT, signal.SIGUSR1, signal.SIGCHLD, signal.SIGTSTP):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2, signal.SIGTERM, signal.SIGRTMIN])

    box.run("run", "-n", "2", "--", *SHOW_STATUS, before=ignore_and_block)
    for rank in (0, 1):
        for field in ("SigBlk", "SigIgn", "SigPnd", "ShdPnd"):
            expect_equal(int(status_field(box, field, rank), 16), 0, f"{field} of rank {rank}")


SHOW_DESCRIPTORS = "exec ls -l /proc/self/fd >$CASE/fds.$RANK"


def expect_standard_descriptors(box, rank):
    """0, 1 and 2, and also 3, on which ls reads the folder."""
    rows = [line.split(" ", 8)[8] for line in box.read(f"fds.{rank}").decode().splitlines()[1:]]
    expect_equal([row.split(" ")[0] for row in rows], ["0", "1", "2", "3"], f"descriptors of rank {rank}, {rows}")


@case
def only_the_three_standard_descriptors_are_open(box):
    fds = [os.open("/dev/null", os.O_RDONLY) for _ in range(5)]
    box.run("run", "-n", "2", "--", "sh", "-c", SHOW_DESCRIPTORS, inherit=fds)
    for rank in (0, 1):
        expect_standard_descriptors(box, rank)


@case
def standard_descriptors_that_the_caller_closed_do_no_harm(box):
    def close_all():
        os.closerange(0, 3)

    box.run("run", "-n", "2", "--", "sh", "-c", f"echo out; echo err >&2; {SHOW_DESCRIPTORS}", before=close_all)
    for rank in (0, 1):
        expect_standard_descriptors(box, rank)
        expect_equal(box.rank_output(rank), b"out\n", "stdout")
        expect_equal(box.rank_output(rank, "err"), b"err\n", "stderr")


@case
def resource_limits_of_the_caller_are_kept(box):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (150, 300))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 4096))
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 23))

    box.run("run", "-n", "2", "--", "sh", "-c", "cat /proc/$$/limits >$CASE/limits.$RANK", before=limit)
    for rank in (0, 1):
        limits = box.read(f"limits.{rank}").decode()
        for name, soft, hard in (("Max open files", 150, 300), ("Max core file size", 0, 4096), ("Max stack size", 1 << 20, 1 << 23)):
            expect(re.search(rf"{name}\s+{soft}\s+{hard}\b", limits), f"{name} of rank {rank}:\n{limits}")


@case
def many_ranks_under_a_small_limit_of_open_files(box):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 4096))

    box.run("run", "-n", "100", "--", "sh", "-c", "ulimit -n", before=limit)
    expect_equal({box.rank_output(rank) for rank in range(100)}, {b"64\n"}, "limit of the ranks")


@case
def umask_and_nice_value_are_kept(box):
    def change():
        os.umask(0o027)
        os.nice(5)

    box.run("run", "--", "sh", "-c", "umask; nice", before=change)
    expect_equal(box.rank_output(0), f"0027\n{os.nice(0) + 5}\n".encode(), "umask and nice value")


@case
def stdin_is_dev_null(box):
    run = box.run("run", "-n", "2", "--", "sh", "-c", "readlink /proc/$$/fd/0; cat; echo end", stdin=b"not for the ranks\n")
    for rank in (0, 1):
        expect_equal(box.rank_output(rank), b"/dev/null\nend\n", f"rank {rank}")
    expect(b"not for the ranks" not in run.out, "a rank read the caller's stdin")


@case
def stdin_of_rank_0_is_the_callers_to_the_byte(box):
    data = pseudo_random_bytes(1_000_003, 7)
    box.run("run", "-n", "2", "--set", "stdin=rank0", "--", "sh", "-c", "cat >$CASE/stdin.$RANK", stdin=data)
    expect(box.read("stdin.0") == data, f"rank 0 got other bytes: {len(box.read('stdin.0'))} of {len(data)}")
    expect_equal(box.read("stdin.1"), b"", "stdin of rank 1")


@case
def stdin_that_stays_open_does_not_hold_the_run(box):
    reader, writer = os.pipe()
    run = box.start("run", "--set", "stdin=rank0", "--", "sh", "-c", "read line; echo got $line", stdin=reader)
    os.write(writer, b"one\n")
    run.end(0)
    os.close(writer)
    os.close(reader)
    expect_equal(box.rank_output(0), b"got one\n", "stdout")


@case
def stdin_keeps_its_blocking_mode(box):
    reader, writer = os.pipe()
    box.start("run", "--set", "stdin=rank0", "--", "true", stdin=reader).end(0)
    expect(os.get_blocking(reader), "the caller's stdin was left non-blocking")
    os.close(writer)


@case
def omp_num_threads_is_cores_by_ranks(box):
    box.run("run", "-n", "64", "--", "sh", "-c", "echo $OMP_NUM_THREADS")
    wanted = max(1, len(os.sched_getaffinity(0)) // 64)
    expect_equal(box.rank_output(0), f"{wanted}\n".encode(), "OMP_NUM_THREADS")


@case
def omp_num_threads_of_the_user_is_kept(box):
    box.run("run", "-n", "2", "--", "sh", "-c", "echo $OMP_NUM_THREADS", env={"OMP_NUM_THREADS": "3"})
    expect_equal(box.rank_output(1), b"3\n", "OMP_NUM_THREADS")


@case
def threads_can_be_set(box):
    box.run("run", "--set", "binding.threads=5", "--", "sh", "-c", "echo $OMP_NUM_THREADS")
    expect_equal(box.rank_output(0), b"5\n", "OMP_NUM_THREADS")


@case
def output_of_python_is_not_buffered(box):
    box.run("run", "--", "sh", "-c", "echo $PYTHONUNBUFFERED")
    expect_equal(box.rank_output(0), b"1\n", "PYTHONUNBUFFERED")


@case
def rank_0_can_listen_on_the_master_port(box):
    listen = ("import os, socket\ns = socket.socket()\ns.bind((os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT'])))\n"
              "s.listen()\nprint('listening')\n")
    box.write("listen.py", listen)
    box.run("run", "-n", "2", "--", "sh", "-c", "test $RANK != 0 || exec /usr/bin/python3 listen.py")
    expect_equal(box.rank_output(0), b"listening\n", "rank 0")


@case
def two_runs_have_different_master_ports(box):
    runs = [box.start("run", "--set", f"logs.dir=runs-{i}", "--", "sh", "-c",
                      f"echo $MASTER_PORT >$CASE/port.{i}; exec {box.rank} tell ready-{i} gate") for i in (0, 1)]
    box.expect_events(["ready-0 0", "ready-1 0"])
    box.open_gate()
    for run in runs:
        run.end(0)
    expect(box.read("port.0") != box.read("port.1"), "two runs at once got the same MASTER_PORT")


@case
def a_master_port_that_is_taken_is_an_error(box):
    holder = socket.socket()
    holder.bind(("0.0.0.0", 0))
    holder.listen()
    port = holder.getsockname()[1]
    run = box.start("run", "--set", f"rendezvous.port={port}", "--", "true").end()
    holder.close()
    expect(run.code != 0, "a taken port was accepted")
    expect_in(str(port), run.text, "which port")


@case
def gpus_of_a_machine_without_any(box):
    """dlaunch makes no GPU visible where there is none, and does not widen the caller's restriction."""
    box.run("run", "-n", "2", "--set", "binding.gpus=none", "--", "sh", "-c", 'echo "[${CUDA_VISIBLE_DEVICES-unset}]"',
            env={"CUDA_VISIBLE_DEVICES": "2,5"})
    for rank in (0, 1):
        expect(box.rank_output(rank) in (b"[]\n", b"[-1]\n"), f"CUDA_VISIBLE_DEVICES with binding.gpus=none: {box.rank_output(rank)}")


@case
def visible_devices_of_the_caller_are_respected(box):
    box.run("run", "-n", "2", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES", env={"CUDA_VISIBLE_DEVICES": "2,5"})
    for rank in (0, 1):
        expect_equal(box.rank_output(rank), b"2,5\n", "all GPUs that the caller allows, for every rank")


@case
def one_gpu_per_process_out_of_the_visible_ones(box):
    run = box.start("run", "-n", "2", "--set", "binding.gpus=one-per-process", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES",
                    env={"CUDA_VISIBLE_DEVICES": "2,5"}).end()
    if "GPU" in run.text:
        return  # no driver, no GPU: the variable alone does not provide one, and dlaunch says so
    expect_equal([box.rank_output(rank) for rank in (0, 1)], [b"2\n", b"5\n"], "CUDA_VISIBLE_DEVICES")


@case
def a_stopped_agent_counts_as_dead_after_the_fencing_time(box):
    run = box.start("run", "-n", "2", "--set", "timeouts.fence_after=1s", "--set", "timeouts.lost_after=6s", "--",
                    box.rank, "child", "daemon", "tell", "ready", "pause")
    box.expect_all("ready", 2)
    os.kill(run.chain()[2], signal.SIGSTOP)
    run.end(69, patience=25)


@case
def a_rank_may_leave_its_group_and_is_still_watched(box):
    run = box.start("run", "--", "setsid", "--wait", box.rank, "tell", "ready", "gate", "exit", "5")
    box.expect_all("ready", 1)
    expect(stat_of(run.pid) is not None, "the run ended before its rank")
    box.open_gate()
    run.end(5)
