"""dlaunch run --smoke, and docs/how-to/smoke-test-in-ci.md, which says how CI systems use it."""

import json
import os
import re
import shlex
import signal

from case import case
from expectations import Skip, expect, expect_equal, expect_in

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TIME_LIMIT = 124
NO_GPU = {"CUDA_VISIBLE_DEVICES": ""}


@case
def two_ranks_where_there_is_no_gpu(box):
    box.write("job.yaml", "command: echo $RANK of $WORLD_SIZE\nprocesses: 64\nnodes: 8\nhosts: [a, b]\nspares: 2\n"
                          "connect: {via: ssh}\nrestart: {max: 5}\ntimeouts: {run: 12h}\n")
    run = box.run("run", "--smoke", env=NO_GPU)
    first = run.text.splitlines()[0]
    expect_in("smoke test: 2 ranks", first, "what is different")
    expect_in("at most 10 min, no restarts;", first, "what is different")
    expect_equal(run.text.splitlines()[1], "         not read: nodes, hosts, spares, connect, restart", "what is left out")
    expect_equal([box.rank_output(rank) for rank in (0, 1)], [b"0 of 2\n", b"1 of 2\n"], "ranks")
    expect_in(b"smoke test: 2 ranks", box.read(box.run_folder(), "job.yaml"), "the recorded job")


@case
def the_exit_code_is_the_ranks(box):
    run = box.run("run", "--smoke", "--", box.rank, "exit", "7", code=7, env=NO_GPU)
    expect_in("exited with code 7", run.text, "why")


@case
def it_has_a_time_limit(box):
    box.write("job.yaml", f"command: [{box.rank}, pause]\ntimeouts: {{run: 12h, stop: 1h}}\n")
    run = box.run("run", "--smoke", "--set", "timeouts.run=1s", code=TIME_LIMIT, env=NO_GPU)
    expect_in("at most 1 s", run.text, "the limit that was given")
    plain = json.loads(box.read(box.run_folder(), "run.json"))
    expect_equal(plain["stop_timeout_ms"], 10_000, "time to stop")


@case
def no_restart_hides_a_failure(box):
    box.write("job.yaml", f"command: [{box.rank}, exit, '1']\nrestart: {{max: 5}}\n")
    box.run("run", "--smoke", code=1, env=NO_GPU)
    expect_equal(sorted(name for name in os.listdir(box.run_folder()) if name.startswith("attempt")), ["attempt-0"], "attempts")


@case
def the_command_line_wins(box):
    box.write("job.yaml", "command: echo $WORLD_SIZE\nprocesses_per_node: 8\n")
    for words in (["-n", "3"], ["--nproc-per-node", "3"], ["--set", "processes_per_node=3"]):
        run = box.run("run", "--smoke", *words, env=NO_GPU)
        expect_in("smoke test: 3 ranks on this machine", run.text, f"{words}")
        expect_in(b"| 3\n", run.out, f"world size with {words}")


@case
def one_process_where_it_starts_its_own(box):
    box.write("job.yaml", "command: echo n=$NODE_RANK\nlaunch: per-node\nnodes: 4\n")
    run = box.run("run", "--smoke", env=NO_GPU)
    expect_in("smoke test: 1 process", run.text, "what is different")
    expect_equal(box.rank_output(0), b"n=0\n", "output")


@case
def one_of_each_role(box):
    box.write("job.yaml", "command: echo $TF_CONFIG\nframework: tensorflow\nroles: {chief: 1, worker: 6, ps: 2}\n")
    run = box.run("run", "--smoke", env=NO_GPU)
    expect_in("smoke test: 1 chief, 1 worker, 1 ps", run.text, "what is different")
    cluster = json.loads(box.rank_output(0))["cluster"]
    expect_equal({role: len(tasks) for role, tasks in cluster.items()}, {"chief": 1, "worker": 1, "ps": 1}, "cluster")


@case
def output_for_a_log_every_line_named_and_no_colour(box):
    run = box.start_on_terminal("run", "--smoke", "-n", "1", "--", "echo", "hello").end(0)
    expect_in(os.uname().nodename.encode() + b":0 | hello", run.screen, "prefix of a lone rank")
    expect(b"\x1b[" not in run.screen, f"colour: {run.screen}")


@case
def quiet_and_dry_run(box):
    run = box.run("run", "--smoke", "-q", "--", "true", env=NO_GPU)
    expect_equal(run.err, b"", "stderr with -q")
    plan = box.run("run", "--smoke", "--dry-run", "--set", "name=planned", "--", "true", env=NO_GPU)
    expect_in(b"WORLD_SIZE=2", plan.out, "plan")


@case
def what_a_ci_system_does_at_its_own_limit(box):
    """It sends TERM and, some seconds later, KILL. The ranks get their TERM, and nothing is left."""
    run = box.start("run", "--smoke", "-n", "2", "--", box.rank, "notice", str(int(signal.SIGTERM)), "term", "child", "daemon",
                    "tell", "ready", "pause")
    box.expect_all("ready", 2)
    run.signal(signal.SIGTERM)
    box.expect_all("term", 2)
    run.signal(signal.SIGKILL)
    run.end(-signal.SIGKILL, left=1000)
    box.expect_nobody("after the KILL of the CI system")


# --- the page for CI systems


def blocks(language):
    with open(os.path.join(TOP, "docs", "how-to", "smoke-test-in-ci.md"), encoding="utf-8") as file:
        text = file.read()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)


@case
def every_yaml_of_the_page_parses(box):
    try:
        import yaml
    except ImportError as error:
        raise Skip("python3-yaml is not installed") from error
    files = [yaml.safe_load(block) for block in blocks("yaml")]
    expect(len(files) >= 5, f"only {len(files)} YAML files in docs/how-to/smoke-test-in-ci.md")
    for file in files:
        expect(isinstance(file, dict), f"no mapping: {file}")
    keys = set().union(*files)
    for system, key in (("GitHub Actions", "jobs"), ("GitLab", "smoke-test"), ("Azure", "pool"), ("Buildkite", "steps")):
        expect(key in keys, f"no file for {system}")


@case
def every_dlaunch_command_of_the_page_exists(box):
    found = []
    for block in blocks("[a-z]+"):
        for line in block.splitlines():
            for command in re.findall(r"(?:^|[\s\"'(/])dlaunch ((?:run|runs|logs|stop|plan|check)\b[^|&;\"')#\n]*)", line):
                words = shlex.split(command)
                found.append(words[:words.index("--")] if "--" in words else words)
    expect(len(found) >= 6, f"commands found: {found}")
    for words in found:
        help_text = box.run(words[0], "--help").out.decode()
        for option in [word for word in words[1:] if word.startswith("-")]:
            expect(re.search(rf"(?<![\w-]){re.escape(option.split('=')[0])}(?![\w-])", help_text),
                   f"dlaunch {' '.join(words)}: no option {option}")


@case(budget=120)
def the_very_commands_of_the_page_run(box):
    """Each line that the files for GitHub and GitLab execute, in the same kind of shell."""
    box.write("job.yaml", "command: echo step $RANK of\n")
    box.make_folder("bin")
    os.symlink(box.dlaunch, box.path("bin/dlaunch"))
    lines = set()
    for block in blocks("yaml"):
        for line in block.splitlines():
            found = re.match(r"\s*-?\s*(?:run: )?((?:exec )?dlaunch (?:run|check) .*)$", line)
            if found:
                lines.add(found[1].removeprefix("exec "))
    expect("dlaunch check --local" in lines and "dlaunch check --local --expect-gpus 1" in lines, f"no check on the page: {lines}")
    expect("dlaunch run --smoke job.yaml -- --max-steps 20" in lines, f"no smoke test on the page: {lines}")
    gpus = len(json.loads(box.run("info", "--json").out)["facts"]["gpus"])
    for line in sorted(lines):
        run = box.start("-ec", line, program="/bin/sh", env={**NO_GPU, "PATH": box.path("bin") + ":" + box.environment["PATH"]})
        run.end()
        if "--expect-gpus" in line and gpus != 1:
            expect_equal(run.code, 75, f"exit code of {line}")
        elif "check" in line:
            expect(run.code in (0, 75), f"exit code {run.code} of {line}\n{run.report()}")  # the test machine may have faults
        else:
            expect_equal(run.code, 0, f"exit code of {line}\n{run.report()}")
