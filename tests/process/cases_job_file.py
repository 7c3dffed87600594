"""Whatever a job file contains, and whatever is in its place, a mistake gives one error that says what to do, with exit code 65 and at once."""

import os
import random
import resource

from case import case
from expectations import Skip, expect, expect_in

JOB_FILE = 65
CPU_SECONDS = 5  # a slow path takes more on any machine; the right one takes a hundredth of that
BOM = b"\xef\xbb\xbf"


def limit_cpu():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))


def is_refused(box, text, expected, also="", name="job.yaml"):
    """Checks that the only error begins with the name of the file and `expected`, and contains `also`."""
    box.write(name, text)
    run = box.run("run", name, code=JOB_FILE, before=limit_cpu)
    lines = [line for line in run.text.splitlines() if "error: " in line]
    expect(len(lines) == 1, f"{len(lines)} errors: {run.text[:2000]}")
    expect(lines[0].startswith(name + expected), f"expected {name}{expected}, not {lines[0][:300]}")
    expect_in(also, lines[0], "what is wrong")
    expect(not box.exists("runs"), "a run folder was made")
    expect(len(run.text) < 1000, f"{len(run.text)} bytes of error")


@case
def a_file_without_a_value(box):
    for text in ("", "\n \n", "# nothing\n", "---\n", "---\n...\n", "~\n", BOM):
        is_refused(box, text, ": error: the file is empty")


@case
def a_file_of_another_shape(box):
    for text in ("- command: [true]\n", "python train.py\n", "3\n", "command=true\n"):
        is_refused(box, text, ":1:1: error: a job file is made of keys and values")


@case
def a_file_in_another_encoding(box):
    job = "command: [true]\n"
    for name in ("utf-16", "utf-16-le", "utf-16-be"):
        is_refused(box, job.encode(name), ": error: the file is UTF-16; save it as UTF-8")
    is_refused(box, job.encode("utf-32"), ": error: the file is UTF-32; save it as UTF-8")
    is_refused(box, "command: x\nname: café\n".encode("latin-1"), ":2:10: error: the byte 0xe9 is not UTF-8")
    is_refused(box, "command: echo “x”\n".encode("cp1252"), ":1:15: error: the byte 0x93 is not UTF-8 (a curly quote")


@case
def a_file_that_is_no_text(box):
    for text in (b"\x7fELF\x02\x01\x01" + bytes(9), b"\x1f\x8b\x08\x00" + bytes(range(128, 160)), random.Random(1).randbytes(3000)):
        is_refused(box, text, ": error: this is not a text file")
    is_refused(box, b"command: x\nname: a\0b\n", ":2:8: error: a NUL byte")


@case
def marks_and_line_ends_of_other_systems_are_fine(box):
    for text in (BOM + b"command: [true]\n", b"command: [true]\r\nname: x\r\nenv:\r\n  A: b\r\n",
                 BOM + b"command: [true]\r\n"):
        box.write("job.yaml", text)
        box.run("run")


@case
def what_word_processors_make_of_a_file(box):
    is_refused(box, "command: “python train.py”\n", ":1:10: error: a curly quote is an ordinary letter to YAML")
    is_refused(box, "command: x\n\u00a0name: x\n", ":2:1: error: a no-break space")
    is_refused(box, "command:\u00a0x\n", ":1:9: error: a no-break space")
    is_refused(box, "command: x\nenv:\n\tA: 1\n", ":3:1: error: not valid YAML: indent with spaces")
    is_refused(box, "command: [true]\rname: x\r", ":1:16: error: a carriage return without a line feed")


@case
def a_file_that_is_too_large(box):
    line = "  VARIABLE_{}: {}\n"
    text = "command: [true]\nenv:\n" + "".join(line.format(i, i) for i in range(400_000))
    expect(len(text) > 10_000_000, "10 MB")
    is_refused(box, text, ": error: the file is larger than 256 KiB")
    is_refused(box, "command: [true]\nenv:\n" + "".join(f" A{i}: 1\n" for i in range(20_000)),
               ":10000:2: error: a job file holds at most 20,000 values")


@case
def a_file_that_is_nested_deeply(box):
    for levels in (1_000, 30_000):
        for text in ("command: " + "[" * levels, "command: " + "[" * levels + "]" * levels,
                     "command: " + "{a: " * levels + "}" * levels, "command:\n  " + "- " * levels + "x\n",
                     "? " * levels):
            is_refused(box, text, ":", "nested deeper than 64 levels")
    block = "".join(" " * i + "a:\n" for i in range(600))
    is_refused(box, block, ":65:65: error: nested deeper than 64 levels")
    # Beyond the size limit the error is about the size, whatever the depth.
    is_refused(box, "[" * 300_000, ": error: the file is larger than 256 KiB")


@case
def a_file_full_of_aliases(box):
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    for i in range(1, 12):
        bomb += f"a{i}: &a{i} [" + ", ".join([f"*a{i - 1}"] * 10) + "]\n"
    too_many = "aliases expand to more than 10,000 values"
    is_refused(box, bomb, ":4:", too_many)
    is_refused(box, "command: x\nenv: &e {A: *e}\n", ":2:13: error: this alias is inside the value")
    is_refused(box, "command: &c [a, *c]\n", ":1:17: error: this alias is inside the value")
    is_refused(box, "command: [&a x" + ", *a" * 50_000 + "]\n", ":1:", too_many)


@case
def what_would_take_long_to_read(box):
    """Texts that would take a reader with a quadratic step minutes."""
    for text in ("command: [" + "a," * 120_000, "command: [" + "!a x," * 50_000 + "]", "command: [" + '"a",' * 60_000 + "]",
                 "{" + "a:" * 120_000 + "}", "{}" * 120_000, ":" * 250_000, "!a " * 80_000, '"' + "x" * 250_000,
                 "command: x\nx: [" + ",".join(f"&a{i} x" for i in range(18_000)) + "]",
                 "command: [true]\nenv_secret: [" + ",".join(f"A{i}" for i in range(9_000)) + "]\nenv: {"
                 + ",".join(f"A{i}: 1" for i in range(5_000)) + "}"):
        box.write("job.yaml", text)
        run = box.run("run", code=JOB_FILE, before=limit_cpu)
        expect_in("job.yaml:", run.text, "where")


@case
def yaml_that_is_not_for_job_files(box):
    is_refused(box, "command: x\n---\ncommand: y\n", ":2:1: error: a job file holds one YAML document")
    is_refused(box, "command: x\ncommand: y\n", ':2:1: error: duplicate key "command", already given in line 1')
    is_refused(box, "command: x\nenv:\n  <<: {A: 1}\n", ":3:3: error: merge keys (<<) are not supported")
    is_refused(box, "command: !py x\n", ":1:14: error: tags (!name) are not supported here")
    is_refused(box, 'command: !!python/object/apply:os.system ["touch made"]\n', ":1:42: error: tags")
    expect(not box.exists("made"), "a tag was executed")


@case
def other_habits_of_writing(box):
    is_refused(box, "command: x\nname = y\n", ':2:1: error: unknown key "name = y"; write "name: ..."')
    is_refused(box, "command: x\n  name: y\n", ":2:7: error: not valid YAML: this line is indented further")


@case
def a_folder_in_place_of_a_file(box):
    box.make_folder("job")
    expect_in("the folder job contains no job.yaml", box.run("run", "job", code=JOB_FILE).text, "what is missing")
    box.write("job/train.yaml", "command: [true]\n")
    expect_in("dlaunch run job/train.yaml", box.run("run", "job", code=JOB_FILE).text, "what to type")
    box.write("job/job.yaml", "command: [true]\n")
    box.run("run", "job")
    box.run("run", "job/")
    box.make_folder("other/job.yaml")
    expect_in("other/job.yaml: Is a directory", box.run("run", "other", code=JOB_FILE).text, "what it is")


@case
def a_file_that_may_not_be_read(box):
    with open("/proc/self/uid_map", encoding="utf-8") as file:
        if os.geteuid() != 0 or int(file.read().split()[2]) < 65535:
            raise Skip("only root of the machine can become a user who may not read the file")
    box.write("job.yaml", "command: [true]\n", 0o600)
    os.chmod(box.folder, 0o755)
    run = box.run("run", "job.yaml", code=JOB_FILE,
                  prefix=["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"])
    expect_in("cannot read the job file job.yaml: Permission denied", run.text, "why")


@case
def what_is_no_file(box):
    os.symlink("loop", box.path("loop"))
    expect_in("Too many levels of symbolic links", box.run("run", "loop", code=JOB_FILE).text, "why")
    for device in ("/dev/zero", "/dev/urandom"):
        expect_in("larger than 256 KiB", box.run("run", device, code=JOB_FILE).text, device)
    expect_in("the file is empty", box.run("run", "/dev/null", code=JOB_FILE).text, "/dev/null")


@case
def a_pipe_that_nobody_writes_to(box):
    os.mkfifo(box.path("pipe"))
    run = box.run("run", "pipe", code=JOB_FILE, patience=60)
    expect_in("cannot read the job file pipe: it is a pipe", run.text, "what")


@case
def a_job_file_from_a_pipe(box):
    """`dlaunch run <(make-job)`"""
    read_end, write_end = os.pipe()
    run = box.start("run", f"/dev/fd/{read_end}", inherit=[read_end])
    os.close(read_end)
    os.write(write_end, b"command: [sh, -c, 'echo made']\n")
    os.close(write_end)
    run.end(0)
    expect_in(b"made", run.out, "the rank's output")
