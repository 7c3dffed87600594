"""dlaunch itself: version, self-check, completions for shells, manual pages."""

import json
import os
import re
import shutil
import subprocess

from case import case
from expectations import Skip, expect, expect_equal, expect_in

# Completes its arguments as bash does. They are already split at "=", as readline splits them.
IN_BASH = """eval "$("$DLAUNCH" completion bash)"
COMP_WORDS=("$DLAUNCH" "$@") COMP_CWORD=$#
compopt() { echo "option $*"; }
_dlaunch "$DLAUNCH"
printf '%s\\n' "${COMPREPLY[@]}"
"""

# Stand-ins for the functions of zsh's completion system, which needs a terminal.
IN_ZSH = """compdef() { }
_describe() { print -l -- "${(@P)3}" "${@[4,-1]}" }
_files() { print files }
eval "$("$DLAUNCH" completion zsh)"
words=("$DLAUNCH" "$@") CURRENT=$#words
_dlaunch
"""


def completed(box, *words, **options):
    """Word -> description."""
    lines = box.run("complete", *words, **options).out.decode().splitlines()
    return dict(line.split("\t") for line in lines)


def in_bash(box, *words):
    run = box.run("-c", IN_BASH, "bash", *words, program="bash", env={"DLAUNCH": box.dlaunch})
    expect_equal(run.err, b"", "errors of the script")
    return run.out.decode().split("\n")[:-1]


@case
def version_says_how_it_was_built(box):
    expect_equal(box.run("version").out, box.run("--version").out, "dlaunch version")
    lines = dict(line.split(None, 1) for line in box.run("version", "--verbose").out.decode().splitlines() if not line.startswith(" "))
    expect_equal(lines["build"], box.run("agent", "--probe").out.decode().strip(), "build")
    expect_equal(lines["program"], box.dlaunch, "program")
    for name in ("features", "mpi", "nccl", "nvml", "pmix"):
        expect(lines.get(name), f"no line {name}")


@case
def self_check_knows_what_is_missing(box):
    parts = {part["name"]: part for part in json.loads(box.run("self-check", "--json").out)["parts"]}
    expect_equal(parts["kernel"]["state"], "ok", "kernel")
    none = {part["name"]: part for part in json.loads(box.run("self-check", "--json", env={"PATH": box.make_folder("bin")}).out)["parts"]}
    for name in ("ssh", "containers"):
        expect_equal(none[name]["state"], "missing", name)
        expect(none[name]["try"], f"no advice for {name}")
    box.write("bin/ssh", "#!/bin/sh\n", 0o755)
    box.write("bin/podman", "#!/bin/sh\n", 0o755)
    text = box.run("self-check", env={"PATH": box.path("bin")}).out.decode()
    expect_in(f"ok       ssh         {box.path('bin/ssh')}", text.replace("\n" + " " * 21, ""), "ssh")
    expect_in("ok       containers  podman\n", text, "containers")
    expect_in("\ndlaunch works here", text, "the verdict")


@case
def self_check_tries_namespaces(box):
    """It says the same as a run with isolation."""
    part, = (part for part in json.loads(box.run("self-check", "--json").out)["parts"] if part["name"] == "namespaces")
    run = box.start("run", "-n", "1", "--set", "isolation=pid-namespace", "--", "true").end()
    expect_equal(part["state"], "ok" if run.code == 0 else "missing", f"namespaces, where a run ends with {run.code}: {run.text}")


@case
def words_are_completed(box):
    commands = completed(box, "")
    expect("run" in commands and "self-check" in commands and "agent" not in commands, f"commands: {commands}")
    expect_equal(list(completed(box, "ru")), ["run", "runs"], "ru")
    expect_equal(completed(box, "run", "--det"), {"--detach": "Once all ranks have started, print the id of the run and return; the run goes on"}, "run --det")
    expect_equal(list(completed(box, "-n", "4", "--det")), ["--detach"], "without a command")
    expect_equal(list(completed(box, "run", "--set", "restart.max")), ["restart.max="], "a key")
    expect_in("framework=jax", completed(box, "run", "--set", "framework="), "words of a key")
    expect_equal(list(completed(box, "completion", "")), ["bash", "zsh", "fish"], "shells")
    expect_equal(list(completed(box, "man", "sta")), ["stage", "status", "stacks"], "a command as an argument")
    for words in (("run", "--", "--det"), ("run", "--hostfile", ""), ("run", ""), ("nonsense", ""), ("run", "-n", "")):
        expect_equal(completed(box, *words), {}, f"files, after {words}")


@case
def hosts_and_runs_are_completed(box):
    box.write("home/.ssh/config", "Host gpu01 gpu02\n  User me\nhost *.lan !bad\nHost=eq\nHOST login\n")
    expect_equal(list(completed(box, "run", "--hosts", "")), ["gpu01", "gpu02", "login"], "hosts")
    expect_equal(list(completed(box, "check", "--hosts", "gpu01,l")), ["gpu01,login"], "the second host")
    box.write("home/.ssh/config", f"Include conf.d/*.conf ~/more\nHost login\nMatch all\n  include {box.path('far')} nowhere\n")
    box.write("home/.ssh/conf.d/a.conf", "Host gpu01\nInclude conf.d/a.conf config\n")  # includes itself, too
    box.write("home/.ssh/conf.d/b.conf", "Host gpu02\n")
    box.write("home/.ssh/conf.d/c.txt", "Host text\n")
    box.write("home/more", "Host more\nInclude deep\n")
    box.write("home/.ssh/deep", "Host deep\n")
    box.write("far", "Host far\n")
    expect_equal(set(completed(box, "run", "--hosts", "")), {"gpu01", "gpu02", "more", "deep", "login", "far"}, "hosts of included files")
    box.write("home/.ssh/config", "Host gpu01 gpu02\n")
    expect_equal(list(completed(box, "run", "--hosts=gpu01,gpu")), ["--hosts=gpu01,gpu01", "--hosts=gpu01,gpu02"], "after =")
    box.run("run", "-n", "1", "--name", "first", "--", "true")
    run_id = os.path.basename(box.run_folder())
    expect_equal(completed(box, "logs", ""), {run_id: "first, done"}, "runs")
    expect_equal(completed(box, "stop", ""), {}, "runs that have not ended")


@case
def ranks_are_completed(box):
    box.run("run", "-n", "2", "--", "true")
    ended = os.path.basename(box.run_folder())
    expect_equal(completed(box, "logs", ended, "--rank", ""), {"0": f"rank of {ended}", "1": f"rank of {ended}"}, "of an ended run")
    expect_equal(completed(box, "attach", ""), {}, "none is running")
    run = box.start("run", "-n", "3", "--", box.rank, "tell", "ready", "gate")
    box.expect_all("ready", 3)
    live, = set(box.runs()) - {ended}
    expect_equal(list(completed(box, "attach", "")), [live, "0", "1", "2"], "runs and ranks")
    expect_equal(list(completed(box, "attach", live, "")), ["0", "1", "2"], "ranks of a run")
    box.open_gate()
    run.end(0)


@case
def bash_completes(box):
    box.write("home/.ssh/config", "Host gpu01 gpu02\n")
    expect_equal(in_bash(box, "ru"), ["run", "runs"], "ru")
    expect_equal(in_bash(box, "run", "--set", "restart.max"), ["option -o nospace", "restart.max="], "a key")
    expect_equal(in_bash(box, "run", "--hosts", "=", "gpu01,gpu"), ["gpu01,gpu01", "gpu01,gpu02"], "after =")
    expect_equal(in_bash(box, "run", "--hosts", "="), ["gpu01", "gpu02"], "directly after =")
    expect_equal(in_bash(box, "run", "--set", "framework", "=", "ja"), ["jax"], "words of a key")
    said = box.run("-c", 'eval "$("$DLAUNCH" completion bash)"; complete -p dlaunch', program="bash", env={"DLAUNCH": box.dlaunch}).out
    expect_equal(said, b"complete -o default -F _dlaunch dlaunch\n", "what bash has for dlaunch; without a word of ours it completes files")


@case
def fish_completes(box):
    if shutil.which("fish") is None:
        raise Skip("no fish here")
    box.make_folder("bin")
    os.symlink(box.dlaunch, box.path("bin/dlaunch"))
    script = "dlaunch completion fish | source; complete -C 'dlaunch ru'; complete -C 'dlaunch run --no-pre'"
    run = box.run("-c", script, program="fish", env={"PATH": box.path("bin") + ":/usr/bin:/bin"})
    lines = run.out.decode().splitlines()
    for line in ("run\tStart a job and look after it until every process is gone", "--no-preflight\tSkip the job's preflight"):
        expect_in(line, lines, "fish")


@case
def zsh_completes(box):
    if shutil.which("zsh") is None:
        raise Skip("no zsh here")
    for words, wanted in ((["ru"], "run:Start a job and look after it until every process is gone"), (["run", "--hostfile", ""], "files"),
                          (["run", "--set", "timeouts.run"], "timeouts.run=:Limit for the whole run\n-S\n")):
        run = box.run("-f", "-c", IN_ZSH, "zsh", *words, program="zsh", env={"DLAUNCH": box.dlaunch})
        expect_equal(run.err, b"", "errors of the script")
        expect(run.out.decode().startswith(wanted + "\n"), f"zsh, after {words}: {run.out.decode()}")


@case
def a_completion_for_no_shell_is_an_error(box):
    expect_in("which shell?", box.run("completion", code=64).text, "without a shell")
    expect_in('no completion for "tcsh"', box.run("completion", "tcsh", code=64).text, "an unknown shell")
    expect_in('unknown command "nonsense"', box.run("man", "nonsense", code=64).text, "a page of no command")


@case
def manual_pages_have_every_option(box):
    pages = {name: box.run("man", *([name] if name else [])).out.decode() for name in ["", *completed(box, "")]}
    for name, page in pages.items():
        plain = re.sub(r"\\f[BR I]", "", page).replace("\\-", "-").replace("\\e", "\\")
        expect(page.startswith(f".TH DLAUNCH{'-' if name else ''}{name.upper()} 1 "), f"title of {name}: {page[:60]}")
        options = re.findall(r"^  (-[^ ]+(?:, --?[^ ]+)*)", box.run(*([name] if name else []), "--help").out.decode(), re.M) if name else list(pages)[1:]
        for option in options:
            expect_in(option, plain, f"dlaunch man {name}")
        if shutil.which("groff"):
            checked = subprocess.run(["groff", "-man", "-ww", "-z"], input=page.encode(), capture_output=True, check=False)
            expect_equal((checked.returncode, checked.stderr), (0, b""), f"what groff says of {name}")
