"""How a job is specified, and what exactly a rank executes."""

import json
import os
import shlex
import subprocess

from case import case
from expectations import expect, expect_equal, expect_in
from processes import wait_until

# Everything that any layer might interpret. The kernel forbids only the zero byte.
ODD_ARGUMENTS = [
    b"", b" ", b"  two  spaces  ", b"tab\there", b"new\nline", b"\n", b"trailing\n", b"'single'", b'"double"', b"'\"'\"'",
    b"$RANK", b"${RANK}", b"$(id)", b"`id`", b"\\", b"\\n", b"a\\ b", b"*", b"?", b"[a-z]", b"~", b"#no comment", b"!1",
    b"a;b", b"a|b", b"a&b", b">file", b"<file", b"{a,b}", b"-n", b"--", b"--set", b"-", b"=", b"a=b", b"%s%n", b"{n}",
    "grüße 你好".encode(), bytes(range(1, 256)), b"\xff\xfe", b"\x80", b"\r\n", b"x" * 5000]


def arguments_script(folder):
    """A list command that writes the arguments of its shell, as the kernel has them, to args.RANK."""
    return ["sh", "-c", f"cat /proc/$$/cmdline >{shlex.quote(folder)}/args.$RANK", "zero"]


def arguments_seen(box, rank, skip):
    words = box.read(f"args.{rank}").split(b"\0")[:-1]
    return words[skip:]


@case
def list_command_is_executed_byte_for_byte(box):
    script = arguments_script(box.folder)
    box.run("run", "-n", "2", "--", *script, *ODD_ARGUMENTS)
    for rank in (0, 1):
        expect_equal(arguments_seen(box, rank, len(script)), ODD_ARGUMENTS, f"arguments of rank {rank}")


@case
def list_command_of_a_file_is_executed_as_it_is(box):
    odd = [text.decode() for text in ODD_ARGUMENTS if all(0x20 <= byte < 0x7f or byte in b"\n\t\r" or byte >= 0xc3 for byte in text)
           and text != bytes(range(1, 256)) and not text.startswith((b"\xff", b"\x80"))]
    script = arguments_script(box.folder)
    # JSON strings are YAML double-quoted scalars (YAML 1.2, 1.3).
    box.write("job.yaml", f"command: {json.dumps(script + odd, ensure_ascii=False)}\nprocesses: 1\n")
    box.run("run", "job.yaml")
    expect_equal(arguments_seen(box, 0, len(script)), [text.encode() for text in odd], "arguments")


@case
def arguments_after_dashes_are_appended_to_a_list(box):
    script = arguments_script(box.folder)
    box.write("job.yaml", f"command: {json.dumps(script + ['first'])}\nprocesses: 1\n")
    box.run("run", "job.yaml", "--", *ODD_ARGUMENTS)
    expect_equal(arguments_seen(box, 0, len(script)), [b"first", *ODD_ARGUMENTS], "arguments")


@case
def arguments_after_dashes_are_appended_to_a_string_byte_for_byte(box):
    script = shlex.join(arguments_script(box.folder))
    box.write("job.yaml", f"command: {json.dumps(script + ' first')}\nprocesses: 1\n")
    box.run("run", "job.yaml", "--", *ODD_ARGUMENTS)
    expect_equal(arguments_seen(box, 0, 4), [b"first", *ODD_ARGUMENTS], "arguments")


@case
def string_command_sees_the_variables_of_its_rank(box):
    box.write("job.yaml", 'command: echo "r=$RANK l=$LOCAL_RANK w=$WORLD_SIZE lw=$LOCAL_WORLD_SIZE n=$NODE_RANK '
              'a=$MASTER_ADDR p=${MASTER_PORT:+set}"\nprocesses: 3\n')
    box.run("run", "job.yaml")
    for rank in range(3):
        expect_equal(box.rank_output(rank), f"r={rank} l={rank} w=3 lw=3 n=0 a=127.0.0.1 p=set\n".encode(), f"rank {rank}")


@case
def string_command_is_a_whole_script(box):
    box.write("job.yaml", "processes: 1\ncommand: |\n  x=$(echo one | tr o 0)\n  if [ -n \"$x\" ]; then\n    echo \"$x & 'two'\"\n  fi\n"
              "  echo err >&2\n")
    box.run("run", "job.yaml")
    expect_equal(box.rank_output(0), b"0ne & 'two'\n", "stdout")
    expect_equal(box.rank_output(0, "err"), b"err\n", "stderr")


@case
def string_command_takes_the_exit_code_of_the_script(box):
    box.write("job.yaml", "command: 'true; (exit 23)'\nprocesses: 1\n")
    box.run("run", "job.yaml", code=23)


@case
def shell_bash_is_bash(box):
    box.write("job.yaml", "shell: bash\nprocesses: 1\ncommand: '[[ $BASH_VERSION == 5* ]] && a=(1 2) && echo ${#a[@]}'\n")
    box.run("run", "job.yaml")
    expect_equal(box.rank_output(0), b"2\n", "stdout")


@case
def setup_runs_first_once_per_rank_in_the_same_shell(box):
    box.write("job.yaml", "setup: |\n  echo setup >>$CASE/log.$RANK\n  MADE_BY_SETUP=here-$RANK\n"
              "command: echo $MADE_BY_SETUP; echo command >>$CASE/log.$RANK\nprocesses: 2\n")
    box.run("run", "job.yaml")
    for rank in (0, 1):
        expect_equal(box.rank_output(rank), f"here-{rank}\n".encode(), "stdout")
        expect_equal(box.read(f"log.{rank}"), b"setup\ncommand\n", "order")


@case
def setup_that_fails_ends_the_rank_before_the_command(box):
    box.write("job.yaml", "setup: 'false'\ncommand: touch $CASE/command-ran\nprocesses: 1\n")
    box.run("run", "job.yaml", code=1)
    expect(not box.exists("command-ran"), "the command ran although its setup failed")


@case
def setup_that_exits_takes_its_code(box):
    box.write("job.yaml", "setup: exit 9\ncommand: touch $CASE/command-ran\nprocesses: 1\n")
    box.run("run", "job.yaml", code=9)
    expect(not box.exists("command-ran"), "the command ran although its setup left")


@case
def setup_with_a_list_command_is_a_contradiction(box):
    """A list is executed directly, without the shell in which setup would have an effect."""
    box.write("job.yaml", "setup: export A=b\ncommand: [touch, command-ran]\n")
    run = box.run("run", "job.yaml", code=65)
    expect_in("setup needs a shell", run.text, "why")
    expect(not box.exists("command-ran"), "the command ran")


def world_sizes(box, count):
    return [box.rank_output(rank) for rank in range(count)]


@case
def n_is_the_total(box):
    box.run("run", "-n", "3", "--", "sh", "-c", "echo $WORLD_SIZE")
    expect_equal(world_sizes(box, 3), [b"3\n"] * 3, "WORLD_SIZE")


@case
def np_as_mpirun_users_type_it(box):
    box.run("run", "-np", "2", "--", "sh", "-c", "echo $WORLD_SIZE")
    expect_equal(world_sizes(box, 2), [b"2\n"] * 2, "WORLD_SIZE")


@case
def nproc_per_node_and_nnodes_as_torchrun_users_type_them(box):
    box.run("run", "--nnodes=1", "--nproc-per-node=2", "--", "sh", "-c", "echo $WORLD_SIZE")
    expect_equal(world_sizes(box, 2), [b"2\n"] * 2, "WORLD_SIZE")


@case
def nproc_per_node_with_an_underscore(box):
    box.run("run", "--nnodes", "1", "--nproc_per_node", "2", "--", "sh", "-c", "echo $WORLD_SIZE")
    expect_equal(world_sizes(box, 2), [b"2\n"] * 2, "WORLD_SIZE")


@case
def one_process_is_the_default(box):
    box.run("run", "--", "sh", "-c", "echo $WORLD_SIZE")
    expect_equal(box.rank_output(0), b"1\n", "WORLD_SIZE")


@case
def set_overrides_the_file(box):
    box.write("job.yaml", "command: echo $WORLD_SIZE $COLOUR\nprocesses: 1\nenv: {COLOUR: red}\n")
    box.run("run", "job.yaml", "--set", "processes=2", "--set", "env.COLOUR=blue")
    expect_equal(world_sizes(box, 2), [b"2 blue\n"] * 2, "what was set")


@case
def n_overrides_the_file(box):
    box.write("job.yaml", "command: echo $WORLD_SIZE\nprocesses: 1\n")
    box.run("run", "-n", "2", "job.yaml")
    expect_equal(world_sizes(box, 2), [b"2\n"] * 2, "WORLD_SIZE")


@case
def either_count_replaces_the_other_one_of_the_file(box):
    for key, options in (("processes", ["--nproc-per-node", "2"]), ("processes_per_node", ["-n", "2"])):
        box.write("job.yaml", f"command: echo of $WORLD_SIZE\n{key}: 3\n")
        expect_equal(box.run("run", *options, "job.yaml").out.count(b"of 2\n"), 2, f"{options} beside {key}: ranks")
    box.write("job.yaml", "command: [true]\nprocesses: 3\n")
    box.run("run", "--nproc-per-node", "2", "--set", "processes=4", "job.yaml", code=65)
    expect_in("3 ranks", box.run("run", "--nproc-per-node", "auto", "job.yaml").text, "auto counts as not given")


@case
def n_wins_over_processes_per_node_of_the_file(box):
    box.write("job.yaml", "command: [sh, -c, 'echo $WORLD_SIZE']\nprocesses_per_node: 3\n")
    box.run("run", "-n", "2")
    expect_equal(world_sizes(box, 2), [b"2\n"] * 2, "WORLD_SIZE")


@case
def the_recorded_job_tells_what_the_command_line_added(box):
    box.write("job.yaml", "command: [sh, -c, 'echo $WORLD_SIZE']\n")
    box.run("run", "job.yaml", "-n", "2", "--set", "env.A=b c", "--", "one two")
    recorded = box.read(box.run_folder(), "job.yaml").decode()
    expect_in("dlaunch run -n 2 --set 'env.A=b c' job.yaml -- 'one two'\n", recorded, "job.yaml in the run folder")
    expect_in("# job.yaml as it was given:\n# command: [sh, -c, 'echo $WORLD_SIZE']\n", recorded, "the file")


@case
def the_recorded_job_is_the_same_job(box):
    """job.yaml has the settings of the command line, and works in any folder."""
    box.make_folder("here/deep")
    box.write("here/job.yaml", "name: sample\ncommand: echo $A $WORLD_SIZE; pwd #\nworkdir: deep\nprocesses: 1\n")
    box.run("run", "-n", "2", "--env", "A=x: [y", "--restarts", "1", "job.yaml", "--", "a'b", cwd=box.path("here"))
    first = box.path(box.run_folder("here/runs"), "job.yaml")
    run = box.run("run", first, "--set", "logs.prefix=never")
    expect_equal(sorted(run.out.decode().splitlines()), sorted(["x: [y 2", box.path("here/deep")] * 2), "output")
    expect_equal(box.json("summary.json")["name"], "sample", "name")
    box.run("run", "--", box.rank, "exit", "0", b"\xff\xfe")
    last = max(box.runs())
    expect_in("not UTF-8", box.read("runs", last, "job.yaml").decode(), "a command that no job file can hold")


@case
def the_recorded_job_names_the_commit(box):
    git = lambda *words: subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=box.path("repo"), check=True,
                                        stdin=subprocess.DEVNULL, capture_output=True, env={**os.environ, "HOME": box.folder})
    box.write("repo/train.py", "print(1)\n")
    git("init", "-q", "-b", "work")
    git("add", ".")
    git("commit", "-qm", "first")
    commit = git("rev-parse", "HEAD").stdout.decode().strip()
    box.write("repo/train.py", "print(2)\n")
    run = box.start("run", "-q", "--", box.rank, "tell", "ready", "gate", cwd=box.path("repo"))
    box.expect_events(["ready 0"])
    record = os.path.join(box.run_folder("repo/runs"), "job.yaml")  # written beside the ranks
    wait_until(lambda: os.path.exists(record), "the recorded job")
    wait_until(lambda: f"# git commit {commit} (work); 1 file differs from it: train.py\n" in box.read(record).decode(), "the commit", pause=0.05)
    box.open_gate()
    run.end(0)
    expect_equal(git("status", "--porcelain").stdout.decode(), " M train.py\n", "git does not see runs/")


@case
def a_folder_with_a_job_needs_no_argument(box):
    box.write("job.yaml", "command: echo here\n")
    box.run("run")
    expect_equal(box.rank_output(0), b"here\n", "stdout")


@case
def a_folder_can_be_the_argument(box):
    box.write("some/job.yaml", "command: pwd\n")
    box.run("run", "some")
    expect_equal(box.rank_output(0), box.folder.encode() + b"\n", "workdir: where dlaunch was started")


@case
def workdir_is_relative_to_where_dlaunch_was_started(box):
    box.make_folder("here", "deep")
    box.write("elsewhere/job.yaml", "command: pwd\nworkdir: here/deep\n")
    box.run("run", "elsewhere/job.yaml")
    expect_equal(box.rank_output(0), box.path("here/deep").encode() + b"\n", "workdir")


@case
def workdir_may_be_absolute(box):
    box.write("job.yaml", "command: pwd\nworkdir: /usr\n")
    box.run("run")
    expect_equal(box.rank_output(0), b"/usr\n", "workdir")


@case
def a_relative_program_is_looked_for_in_the_workdir(box):
    box.write("there/program", "#!/bin/sh\necho found\n", 0o755)
    box.run("run", "--set", "workdir=there", "--", "./program")
    expect_equal(box.rank_output(0), b"found\n", "stdout")


@case
def the_program_is_looked_up_in_the_path_of_the_job(box):
    box.write("tools/program", "#!/bin/sh\necho found\n", 0o755)
    box.write("job.yaml", f"command: [program]\nenv: {{PATH: '{box.path('tools')}:/usr/bin:/bin'}}\n")
    box.run("run")
    expect_equal(box.rank_output(0), b"found\n", "stdout")


@case
def the_whole_environment_of_the_caller_arrives(box):
    odd = {"ODD": "a  b\n'\"$(x)", "EMPTY": "", "UTF": "grüße"}
    box.run("run", "-n", "2", "--", "sh", "-c", "cat /proc/$$/environ >$CASE/env.$RANK", env=odd)
    for rank in (0, 1):
        found = dict(word.split(b"=", 1) for word in box.read(f"env.{rank}").split(b"\0")[:-1])
        for name, value in odd.items():
            expect_equal(found.get(name.encode()), value.encode(), name)
        expect_equal(found[b"RANK"], str(rank).encode(), "RANK")


@case
def env_of_the_job_wins_over_the_caller(box):
    box.write("job.yaml", "command: echo $COLOUR\nenv: {COLOUR: red}\n")
    box.run("run", env={"COLOUR": "green"})
    expect_equal(box.rank_output(0), b"red\n", "COLOUR")


@case
def rank_variables_win_over_the_caller(box):
    box.run("run", "-n", "2", "--", "sh", "-c", "echo $RANK $WORLD_SIZE ${SLURM_PROCID-unset} ${OMPI_COMM_WORLD_RANK-unset}",
            env={"RANK": "77", "WORLD_SIZE": "99", "SLURM_PROCID": "5", "OMPI_COMM_WORLD_RANK": "6"})
    for rank in (0, 1):
        expect_equal(box.rank_output(rank), f"{rank} 2 unset unset\n".encode(), f"rank {rank}")


@case
def framework_none_sets_no_torch_variables(box):
    box.run("run", "--set", "framework=none", "--", "sh", "-c", "echo ${MASTER_ADDR-unset} ${TORCHELASTIC_RUN_ID-unset}")
    expect_equal(box.rank_output(0), b"unset unset\n", "variables")


@case
def launch_per_node_is_one_process(box):
    box.run("run", "--set", "launch=per-node", "--", "sh", "-c", "echo n=$NODE_RANK r=${RANK-unset} w=${WORLD_SIZE-unset}")
    expect_equal(box.rank_output(0), b"n=0 r=unset w=unset\n", "variables")


@case
def tensorflow_roles_get_their_cluster(box):
    box.write("job.yaml", "command: echo $TF_CONFIG\nframework: tensorflow\nroles: {chief: 1, worker: 1, ps: 1}\nsuccess: all\n")
    box.run("run")
    configs = [json.loads(box.rank_output(rank)) for rank in range(3)]
    expect_equal([config["task"]["type"] for config in configs], ["chief", "worker", "ps"], "order of roles")
    expect(all(config["cluster"] == configs[0]["cluster"] for config in configs), "the cluster part differs between tasks")
    addresses = sum(configs[0]["cluster"].values(), [])
    expect_equal(len(set(addresses)), 3, "different addresses")


@case
def dry_run_and_plan_start_nothing(box):
    box.write("job.yaml", "name: sample\ncommand: touch $CASE/started\nprocesses: 2\n")
    dry = box.run("run", "--dry-run")
    plan = box.run("plan")
    expect_in(b"sample", dry.out, "name in the plan")
    expect_in(b"WORLD_SIZE=2", plan.out, "variables in the plan")
    expect(not box.exists("started"), "a plan started a rank")
    expect(not box.exists("runs"), "a plan made a run folder")


@case
def plan_as_json(box):
    box.write("job.yaml", "command: [true]\nprocesses: 2\n")
    plan = json.loads(box.run("plan", "--json").out)
    expect(isinstance(plan, dict), "the plan is no JSON object")


@case
def plan_of_one_rank_tells_reasons(box):
    box.write("job.yaml", "command: [true]\nprocesses: 2\n")
    run = box.run("plan", "--env", "1")
    line = next((line for line in run.out.decode().splitlines() if line.startswith("RANK=1")), "")
    expect(len(line.split(None, 1)) == 2, f"no reason beside RANK=1: {run.out.decode()}")


@case
def many_ranks(box):
    box.run("run", "-n", "256", "--", "sh", "-c", "echo $RANK")
    expect_equal([box.rank_output(rank) for rank in range(256)], [f"{rank}\n".encode() for rank in range(256)], "outputs")
    folder = os.path.join(box.run_folder(), "attempt-0")
    expect_equal(sorted(os.listdir(folder)), sorted(["local.times", *(f"rank-{rank}.out" for rank in range(256))]), "files")


@case
def the_schema_is_json_and_needs_no_job(box):
    schema = json.loads(box.run("schema").out)
    expect_equal(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "dialect")
    expect_in("command", schema["properties"], "keys")
    expect_in("job.yaml", box.run("schema", "job.yaml", code=64).text, "what is too much")
