"""What cannot be started is reported clearly, with the right exit code, and leaves nothing behind."""

import os
import re
import shlex

from case import case
from expectations import expect, expect_equal, expect_in

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HOST = os.uname().nodename
USAGE, JOB_FILE = 64, 65


def names_rank(run, rank=0):
    expect_in(f"rank {rank} on {HOST}", run.text, "which rank and where")
    expect(run.seconds < 3, f"took {run.seconds:.1f} s: nothing is to be waited for")
    expect("too slow" not in run.text, f"a note that is not true: {run.text}")


@case
def a_command_that_does_not_exist(box):
    run = box.run("run", "--", "no-such-program", code=127)
    names_rank(run)
    expect_in('cannot execute "no-such-program": No such file or directory', run.text, "what")
    expect_in("PATH", run.text, "where it was looked for")


@case
def a_path_that_does_not_exist(box):
    run = box.run("run", "--", "/no/such/program", code=127)
    names_rank(run)
    expect_in("/no/such/program", run.text, "what")


@case
def a_file_that_is_not_executable(box):
    box.write("program", "#!/bin/sh\n", 0o644)
    run = box.run("run", "--", "./program", code=126)
    names_rank(run)
    expect_in("Permission denied", run.text, "why")


@case
def a_folder_is_not_executable(box):
    box.make_folder("program")
    run = box.run("run", "--", "./program", code=126)
    names_rank(run)
    expect_in("Is a directory", run.text, "why")


@case
def a_script_given_as_a_program(box):
    box.write("train.py", "print(1)\n", 0o644)
    run = box.run("run", "--", "train.py", code=127)
    expect_in("./train.py, or python3 train.py", run.text, "what to type")
    run = box.run("run", "--", "./train.py", code=126)
    expect_in("/train.py, or chmod +x", run.text, "what to type")
    expect("/./" not in run.text, f"a path as no user writes it: {run.text}")


@case
def a_run_folder_that_cannot_be_made(box):
    box.write("file", "")
    run = box.run("run", "--set", "logs.dir=file/a", "--", "true", code=70, env={"HOME": "/dev/null"})
    expect_in("no folder for this run", run.text, "what")
    expect_in("--set logs.dir=FOLDER", run.text, "what to do")


@case
def a_bad_interpreter(box):
    box.write("program", "#!/no/such/interpreter\n", 0o755)
    run = box.run("run", "--", "./program", code=126)
    names_rank(run)
    expect_in("interpreter", run.text, "why")


@case
def a_file_that_is_no_program(box):
    box.write("program", b"\x00\x01\x02 not a program", 0o755)
    run = box.run("run", "--", "./program", code=126)
    names_rank(run)
    expect_in("it is neither a program nor", run.text, "why")


@case
def a_workdir_that_does_not_exist(box):
    run = box.start("run", "--set", "workdir=/no/such/folder", "--", "true").end()
    expect(run.code in (126, 127), f"exit code {run.code}")
    names_rank(run)
    expect_in("/no/such/folder", run.text, "which folder")
    expect_in("No such file or directory", run.text, "why")


@case
def a_workdir_that_is_a_file(box):
    run = box.start("run", "--set", f"workdir={box.write('file', '')}", "--", "true").end()
    expect(run.code in (126, 127), f"exit code {run.code}")
    expect_in("Not a directory", run.text, "why")


@case
def a_program_missing_in_the_shell_is_127(box):
    box.write("job.yaml", "command: no-such-program\n")
    box.run("run", code=127)


@case
def no_job_at_all(box):
    run = box.run("run", code=USAGE)
    expect_in("job.yaml", run.text, "what to do")


@case
def an_unknown_option(box):
    run = box.run("run", "--no-such-option", "--", "true", code=USAGE)
    expect_in("--no-such-option", run.text, "which")


@case
def advice_works_when_it_is_typed(box):
    """Types what the messages advise users of other launchers to type."""
    box.write("train.py", "import os\nprint('rank', os.environ['RANK'], 'of', os.environ['WORLD_SIZE'])\n")
    box.write("job.yaml", "command: python3 train.py\n")
    for number, (words, wanted) in enumerate((
            (["train.py"], "dlaunch run -- python3 train.py"),
            (["./train.py", "--lr", "1"], "dlaunch run -- python3 ./train.py --lr 1"),
            (["python3", "train.py", "-x"], "dlaunch run -- python3 train.py -x"),
            (["-n", "2", "python3", "train.py", "-n", "7"], "dlaunch run -n 2 -- python3 train.py -n 7"),
            (["-np", "2", "train.py"], "dlaunch run -n 2 -- python3 train.py"),
            (["run", "-n", "2", "--env", "A=b c", "--set", "timeouts.run=1h", "train.py"],
             "dlaunch run -n 2 --env 'A=b c' --set timeouts.run=1h -- python3 train.py"),
            (["-n", "2", "run", "job.yaml"], "dlaunch run -n 2 job.yaml"),
            (["-n", "2"], "dlaunch run -n 2"),
            (["job.yaml"], "dlaunch run job.yaml"),
            (["status"], "dlaunch runs"),
            (["top"], "dlaunch runs"),
            (["ps"], "dlaunch runs"),
            (["doctor"], None),
            (["run", "-n", "1", "--gpus", "2", "--", "true"], None),
            (["run", "--bogus", "3", "--", "true"], None))):
        message = box.run(*words, code=USAGE).text
        if wanted is None:
            continue
        expect_in(wanted, message.splitlines()[0] + "\n", f"dlaunch {' '.join(words)}")
        typed = message.splitlines()[0]
        typed = typed[typed.index("dlaunch ", len("dlaunch: ")):]
        expect_equal(typed, wanted, "all that is to be typed")
        after = box.start(*shlex.split(typed)[1:]).end(0)
        ranks = 2 if "-n 2" in typed else 1
        if "run" in shlex.split(typed):
            expect_equal(after.out.count(f"of {ranks}\n".encode()), ranks, f"case {number}: ranks of {typed}")


@case
def run_is_meant_where_its_options_come_first(box):
    run = box.run("-n", "2", "--name", "mine", "--", "sh", "-c", "echo $WORLD_SIZE")
    expect_equal(run.out.count(b"| 2"), 2, "ranks")
    expect_equal(box.run("--", "echo", "one").out, b"one\n", "without any option")
    expect_in("dlaunch: unknown option", box.run("--bogus", "--", "true", code=USAGE).text, "no option of run")


@case
def a_command_in_one_word(box):
    box.write("job.yaml", "command: [echo a b]\n")
    run = box.start("run").end(127)
    expect_in('"echo a b" is one word', run.text, "what is wrong")
    expect_in("command: echo a b", run.text, "what to write")
    box.write("job.yaml", "command: echo a b\n")
    expect_equal(box.run("run").out, b"a b\n", "what the advice leads to")
    box.write("job.yaml", "run: echo a b\n")
    expect_in('unknown key "run", did you mean "command"?', box.run("run", code=JOB_FILE).text, "key run")


@case
def gpus_of_a_machine_without_any(box):
    run = box.run("run", "-n", "2", "--gpus", "2", "--", "true", code=JOB_FILE, env={"CUDA_VISIBLE_DEVICES": ""})
    expect_in("--gpus 2 but ", run.text, "what is wanted")
    expect_in("try: -n N", run.text, "what to type")
    run = box.run("run", "-n", "3", "--gpus", "2", "--", "true", code=USAGE)
    expect_in("-n 3 and --gpus 2 contradict each other", run.text, "what is wrong")
    expect_in("or all", box.run("run", "--gpus", "many", "--", "true", code=USAGE).text, "what is expected")


@case
def nnodes_as_a_range(box):
    box.run("run", "--nnodes", "1:4", "--", "true")
    for hosts in ([], ["--hosts", "localhost"]):
        run = box.run("run", "-n", "2", "--nnodes", "1:4", *hosts, "--", "sh", "-c", "echo $WORLD_SIZE")
        expect_equal(run.out.split().count(b"2"), 2, "ranks")
    expect_in("MIN:MAX", box.run("run", "--nnodes", "4:", "--", "true", code=USAGE).text, "what is expected")
    expect_in("--nnodes 2:4", box.run("run", "--nnodes", "2:4", "--", "true", code=JOB_FILE).text, "what was typed")


@case
def the_usual_options_have_names_of_their_own(box):
    box.run("run", "--name", "mine", "--env", "A=1", "--env", "B=x = y", "--restarts", "0", "--", "sh", "-c", "echo $A $B")
    expect_equal(box.rank_output(0), b"1 x = y\n", "variables")
    expect_equal(box.json("summary.json")["name"], "mine", "name")
    run = box.run("run", "--max-restarts=1", "--set", "restart.backoff=0s..0s", "--", "sh", "-c", "exit 3", code=3)
    expect_in("restart 1 of 1", run.text, "restarts")
    expect_in("--set env_pass=[HOME]", box.run("run", "--env", "HOME", "--", "true", code=USAGE).text, "what to type")
    expect_in("expected a number from 0 to", box.run("run", "--restarts", "often", "--", "true", code=USAGE).text, "what is wrong")
    expect_in("--name a and --set name=b", box.run("run", "--name", "a", "--set", "name=b", "--", "true", code=USAGE).text, "twice")


@case
def an_option_misspelt(box):
    run = box.run("run", "--nproc-per-nod=4", "--", "true", code=USAGE)
    expect_in('did you mean "--nproc-per-node"?', run.text, "suggestion")


@case
def an_option_before_the_command(box):
    run = box.run("-n", "4", "run", "--", "true", code=USAGE)
    expect_in("dlaunch run -n 4", run.text, "what to type")


@case
def an_option_without_its_value(box):
    run = box.run("run", "-n", "--", "true", code=USAGE)
    expect_in("-n needs a value", run.text, "what is missing")


@case
def an_option_that_is_given_twice(box):
    run = box.run("run", "--hosts", "gpu01", "--hosts", "gpu02", "--", "true", code=USAGE)
    expect_in("--hosts is given more than once", run.text, "what is wrong")


@case
def a_command_without_the_dashes(box):
    run = box.run("run", "-n", "2", "python3", "train.py", "--lr", "1", code=USAGE)
    expect_in("dlaunch run -n 2 -- python3 train.py --lr 1", run.text, "what to type")


@case
def a_program_where_a_job_file_is_expected(box):
    box.write("train.py", "import os\n")
    run = box.run("run", "-n", "4", "train.py", code=USAGE)
    expect_in("train.py is a program, not a job file", run.text, "what")
    expect_in("dlaunch run -n 4 -- python3 train.py", run.text, "what to type")


@case
def a_batch_script_where_a_job_file_is_expected(box):
    box.write("job.sbatch", "#!/bin/bash\n#SBATCH --nodes=2\nsrun python3 train.py\n")
    run = box.run("run", "-n", "4", "--", "job.sbatch", code=JOB_FILE)
    expect_in("job.sbatch: this is a Slurm batch script. To run the line that starts its ranks: dlaunch run SCRIPT", run.text, "what")
    expect("dlaunch run -n 4" not in run.text, "advises to run it under every rank:\n" + run.text)


@case
def a_batch_script_is_not_run_by_every_rank(box):
    box.write("job.sh", "#!/bin/bash\n#SBATCH --nodes=2\necho ran\n")
    os.chmod(box.path("job.sh"), 0o755)
    for words, code in ((["run", "-n", "2", "--", "./job.sh"], JOB_FILE),
                        (["run", "--", "bash", "-x", "job.sh", "a"], JOB_FILE), (["bash", "job.sh"], JOB_FILE),
                        (["run", "-n", "2", "./job.sh", "a"], USAGE), (["-n", "2", "bash", "job.sh"], USAGE)):
        run = box.run(*words, code=code)
        expect_in("job.sh: this is a Slurm batch script.", run.text, f"dlaunch {' '.join(words)}")
        expect("ran" not in run.text.split() and "-- ./job.sh" not in run.text, "it was run or advised:\n" + run.text)
    run = box.run("run", "job.sh", code=JOB_FILE)
    expect_in("job.sh: error: no line of this batch script starts a program with srun, mpirun, torchrun", run.text, "a script without a launch line")
    expect(not box.exists("runs"), "something was started")


@case
def a_shell_script_is_advised_with_its_shell(box):
    box.write("go.sh", "echo rank $RANK of $WORLD_SIZE\n")
    box.write("tool", "#!/bin/sh\necho rank $RANK of $WORLD_SIZE\n")
    for mode, tool in ((0o644, "bash tool"), (0o755, "./tool")):
        for name in ("go.sh", "tool"):
            os.chmod(box.path(name), mode)
        for words, wanted in ((["run", "-n", "2", "go.sh"], "dlaunch run -n 2 -- bash go.sh"), (["go.sh", "x"], "dlaunch run -- bash go.sh x"),
                              (["run", "go.sh", "x"], "dlaunch run -- bash go.sh x"), (["tool"], f"dlaunch run -- {tool}")):
            first = box.run(*words, code=USAGE).text.splitlines()[0]
            expect(first.endswith(wanted), f"dlaunch {' '.join(words)}: {first}")
            expect_in(b"rank 0 of ", box.run(*shlex.split(wanted)[1:]).out, wanted)


@case
def a_job_file_misspelt(box):
    box.write("sky.yaml", "command: [true]\n")
    expect_in('no job file sk.yaml, did you mean "sky.yaml"?', box.run("run", "sk.yaml", code=JOB_FILE).text, "the nearest")
    expect_equal("did you mean" in box.run("run", "quite-another.yaml", code=JOB_FILE).text, False, "nothing is near")


@case
def arguments_without_their_job_file(box):
    run = box.run("run", "--", "--lr", "0.1", code=USAGE)
    expect_in('"--lr" is not a program\n', run.text, "what")
    box.write("job.yaml", "command: [true]\n")
    run = box.run("run", "--", "--lr", "0.1", code=USAGE)
    expect_in('"--lr" is not a program; to pass these arguments to job.yaml: dlaunch run job.yaml -- --lr 0.1', run.text, "what to type")
    for words in (["run", "--smoke", "--name", "a b", "-n2"], ["plan", "--json"], ["run", "-np", "2"]):
        run = box.run(*words, "--", "--lr", "0.1", code=USAGE)
        line = run.text.split("to pass these arguments to job.yaml: ")[1].splitlines()[0]
        expect_in("job.yaml -- --lr 0.1", line, f"the line for {words}")
        expect(shlex.split(line)[1] == words[0] and all(word in shlex.split(line) for word in words[1:] if word != "-np"), f"{words}: {line}")
    expect(not box.exists("runs"), "something was started")


@case
def two_words_for_one_count(box):
    for option, key in (("-n", "processes"), ("--nnodes", "nodes"), ("--nproc-per-node", "processes_per_node")):
        run = box.run("run", option, "1", "--set", key + "=2", "--", "true", code=USAGE)
        expect_in(f"{option} 1 and --set {key}=2", run.text, "which")
    for typed in ("-n", "--np", "--processes"):
        run = box.run("run", typed, "4", "--nproc-per-node", "2", "--", "true", code=USAGE)
        expect_in(f"dlaunch: {typed} cannot be given together with --nproc-per-node\n", run.text, "which")


@case
def a_command_misspelt(box):
    for word, meant in (("rusn", "runs"), ("pln", "plan"), ("rnu", "run"), ("sotp", "stop"), ("rum", "run")):
        expect_in(f'did you mean "{meant}"?', box.run(word, code=USAGE).text, word)
    for word in ("rm", "resume", "foobar", "gone.py"):
        text = box.run(word, code=USAGE).text
        expect_in(f'unknown command "{word}"; the commands: run, rerun, plan, ', text, word)
    expect_in("dlaunch run -- hostname", box.run("hostname", code=USAGE).text, "a program in PATH")


@case
def a_rank_that_is_no_number(box):
    run = box.run("plan", "--env", "-1", "--", "true", code=USAGE)
    expect_in("--env -1: expected a rank, or NAME=VALUE", run.text, "what is wanted")


@case
def an_unknown_command(box):
    box.run("rum", code=USAGE)


@case
def set_without_a_value(box):
    box.run("run", "--set", "processes", "--", "true", code=USAGE)


@case
def a_missing_job_file(box):
    run = box.run("run", "absent.yaml", code=JOB_FILE)
    expect_in("absent.yaml", run.text, "which")


@case
def a_folder_with_job_yml(box):
    box.write("job.yml", "command: [true]\n")
    run = box.run("run", ".", code=JOB_FILE)
    expect_in("dlaunch run ./job.yml", run.text, "what to type")


def expect_refused(box, keys, *words):
    """A job file with these keys below a command in line 1 is refused, with these words."""
    box.write("job.yaml", "command: [true]\n" + keys)
    run = box.run("run", code=JOB_FILE)
    for part in words:
        expect_in(part, run.text, "the error")


@case
def an_unknown_key_is_shown_in_its_line(box):
    expect_refused(box, "name: x\n\nproceses_per_node: 4\n", 'job.yaml:4:1: error: unknown key "proceses_per_node"',
                   'did you mean "processes_per_node"?', "proceses_per_node: 4", "^")


@case
def a_wrong_type(box):
    expect_refused(box, "processes: many\n", "job.yaml:2:12: error:")


@case
def a_duplicate_key(box):
    expect_refused(box, "processes: 1\nprocesses: 2\n", "job.yaml:3:1: error:")


@case
def contradictory_keys(box):
    expect_refused(box, "processes: 2\nprocesses_per_node: 2\n", "job.yaml:3:")


@case
def a_rank_variable_in_env(box):
    expect_refused(box, "env:\n  RANK: 3\n", "job.yaml:3:", "RANK")


@case
def where_staged_files_go(box):
    for to, why in (("b", "must be an absolute path"), ("/a/../b", "must not contain .."), ("//", "must name a file or a folder")):
        expect_refused(box, f"stage:\n  - {{from: a, to: {to}}}\n", "job.yaml:3:19: error: stage[0].to " + why)
    expect_refused(box, "stage: [{from: a, to: /x/y}, {from: b, to: /x//y/}]\n", "stage[1].to must differ from that of stage[0]")
    expect_refused(box, "stage: [{from: a, unpack: true}]\n", "unpack needs `to`, the folder for the archive's content")


@case
def a_bad_value_of_set_names_the_option(box):
    run = box.start("run", "--set", "processes=many", "--", "true").end()
    expect(run.code in (USAGE, JOB_FILE), f"exit code {run.code}")
    expect_in("--set processes=many", run.text, "where")


@case
def no_error_leaves_a_run_folder_before_a_plan(box):
    box.write("job.yaml", "command: [true]\nunknown: 1\n")
    box.run("run", code=JOB_FILE)
    expect(not box.exists("runs"), "runs/ was made for a job file that cannot be read")


@case
def help_is_no_error(box):
    run = box.run("run", "--help")
    expect_in(b"dlaunch run -n 4", run.out, "an example")
    expect_in(b"Usage: dlaunch run [OPTIONS] [JOB] [-- ARGUMENT...]\n       dlaunch run [OPTIONS] -- COMMAND [ARGUMENT...]\n", run.out, "usage")
    expect(b"Excludes" not in run.out and b"TEXT" not in run.out, run.out.decode())
    expect_in(b"dlaunch ", box.run("--version").out, "version")


@case
def the_page_of_commands_has_every_command_and_option(box):
    with open(os.path.join(TOP, "docs", "reference", "commands.md"), encoding="utf-8") as file:
        page = file.read()
    commands = re.findall(r"^  ([a-z-]+)  ", box.run("--help").out.decode(), re.M)
    expect(len(commands) >= 14, f"commands: {commands}")
    for command in commands:
        expect(f"`dlaunch {command}" in page, f"docs/reference/commands.md lacks dlaunch {command}")
        lines = re.findall(r"^  (--?[a-zA-Z].*)", box.run(command, "--help").out.decode(), re.M)
        for option in re.findall(r"--[a-z-]+", " ".join(line.split("  ")[0] for line in lines)):
            expect(option == "--help" or option in re.findall(r"--[a-z-]+", page), f"docs/reference/commands.md lacks {option} of {command}")


@case
def without_a_folder_for_the_run_the_error_comes_at_once(box):
    run = box.run("run", "--set", "logs.dir=/proc/none", "--", "true", code=70,
                  env={"HOME": "/proc/none", "XDG_STATE_HOME": "/proc/none"})
    expect_in("no folder for this run", run.text, "what is wrong")
    expect(run.seconds < 1.5, f"{run.seconds:.1f} s until the error")
