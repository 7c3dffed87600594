#!/usr/bin/env python3
"""Compares the variables that `accelerate launch` gives a program, according to accelerate's own functions, with those of dlaunch for the same file.

  tests/frameworks/accelerate_launch.py [--dlaunch FILE] [CONFIG...]      (or $DLAUNCH_BIN)

Without CONFIG: the files tests/data/jobs/foreign/accelerate-*.yaml, and every section with none, each and all of its keys. Needs the environment
`torch` of setup.sh, and compares with each release of accelerate there. Without this environment, the exit code is 77.

The newest release must agree in every variable. An older one may lack later variables, and have other defaults (OLDER).
"""

import argparse
import glob
import importlib
import itertools
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CACHE = os.path.expanduser("~/.cache/dlaunch-test")
PYTHON = f"{CACHE}/torch-venv/bin/python3"
RELEASES = f"{CACHE}/accelerate"  # a folder for each further release
SKIPPED = 77

# Every launcher, including dlaunch, sets these in its own way; PYTHONPATH has the workdir, which is the ranks' current folder with both launchers.
NOT_COMPARED = {"MASTER_ADDR", "MASTER_PORT", "OMP_NUM_THREADS", "PYTHONPATH"}
# accelerate's plugin reads these, but accelerate launch never sets them, so their keys have no effect. With dlaunch, they have the effect that their
# names suggest.
ONLY_OURS = {"ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_NVME_PATH", "ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_NVME_PATH",
             "ACCELERATE_DEEPSPEED_MSAMP_OPT_LEVEL", "ACCELERATE_DEEPSPEED_ZERO3_LEAF_MODULES"}
# {variable: values of older releases that differ from the value of the newest}
OLDER = {
    "FSDP_MIN_NUM_PARAMS": {"100000000.0"},
    "ACCELERATE_FP8_FORMAT": {"E4M3"},
    "FSDP_SHARDING_STRATEGY": {"1"},  # FULL_SHARD by its number
    # Keys without dynamo_ and fp8_ were not read.
    "ACCELERATE_DYNAMO_BACKEND": {"NO"}, "ACCELERATE_FP8_MARGIN": {"0"}, "ACCELERATE_FP8_USE_AUTOCAST_DURING_EVAL": {"False"},
    "ACCELERATE_FP8_OVERRIDE_LINEAR_PRECISION": {"(False, False, False)"},  # one variable for all three
    # 1.8 to 1.12 set the first two even without use_cpu; the third belongs to oneCCL under mpirun.
    "KMP_AFFINITY": {"granularity=fine,compact,1,0"}, "KMP_BLOCKTIME": {"1"}, "CCL_WORKER_COUNT": {"0", "1"},
}
# {name of a key up to 0.34: its variable}. Later releases silently ignore the key; dlaunch honours it.
OLD_NAMES = {"fsdp_backward_prefetch_policy": "FSDP_BACKWARD_PREFETCH"}
# Files that dlaunch deliberately treats differently from accelerate.
OTHERWISE = {
    "accelerate-no-many.yaml": "machines without an address, of which one is used anyway",
    "accelerate-no.yaml": "mixed_precision: no without quotes, for which accelerate ends with a traceback",
    "accelerate-multi-cpu.yaml": "a section of older releases, which the newest refuses",
    "accelerate-tensors.yaml": "likewise",
    "accelerate-zero.yaml": "no processes, which accelerate leaves to torchrun",
    "accelerate-devices.yaml": "accelerate asks for the devices of this machine, dlaunch takes those of the type",
    "accelerate-fp8.yaml": "three values in one text, of which accelerate takes the first three characters",
}

SECTIONS = {
    "FSDP": ("fsdp_config", {
        "fsdp_version": 2, "fsdp_sharding_strategy": "SHARD_GRAD_OP", "fsdp_reshard_after_forward": False, "fsdp_offload_params": True,
        "fsdp_min_num_params": 2000, "fsdp_auto_wrap_policy": "SIZE_BASED_WRAP", "fsdp_transformer_layer_cls_to_wrap": "A,B",
        "fsdp_backward_prefetch": "BACKWARD_POST", "fsdp_state_dict_type": "SHARDED_STATE_DICT", "fsdp_forward_prefetch": True,
        "fsdp_use_orig_params": False, "fsdp_cpu_ram_efficient_loading": False, "fsdp_sync_module_states": True,
        "fsdp_activation_checkpointing": True, "fsdp_activation_checkpointing_offload": True, "fsdp_ignored_modules": "head", "offload_params": "true"}),
    "MEGATRON_LM": ("megatron_lm_config", {
        "megatron_lm_tp_degree": 2, "megatron_lm_pp_degree": 2, "megatron_lm_num_micro_batches": 4, "megatron_lm_gradient_clipping": 0.5,
        "megatron_lm_sequence_parallelism": True, "megatron_lm_recompute_activations": False, "megatron_lm_use_distributed_optimizer": "true",
        "megatron_lm_use_custom_fsdp": True, "megatron_lm_no_load_optim": True, "megatron_lm_attention_backend": "flash",
        "megatron_lm_recompute_granularity": "full", "megatron_lm_attention_dropout": 0.1, "tp_degree": 8}),
    "DEEPSPEED": ("deepspeed_config", {
        "zero_stage": 3, "offload_optimizer_device": "CPU", "offload_param_device": "none", "zero3_init_flag": True, "zero3_save_16bit_model": False,
        "deepspeed_config_file": "Zero.json", "deepspeed_moe_layer_cls_names": "Moe", "gradient_accumulation_steps": 2, "gradient_clipping": 1.0,
        "deepspeed_multinode_launcher": "standard", "of_tomorrow": 1}),
    "MULTI_GPU": ("dynamo_config", {
        "dynamo_backend": "inductor", "dynamo_mode": "max-autotune", "dynamo_use_fullgraph": True, "dynamo_use_dynamic": True,
        "dynamo_use_regional_compilation": True, "backend": "EAGER"}),
    "NO": ("dynamo_config", {"dynamo_backend": "INDUCTOR", "dynamo_use_dynamic": False}),
    "MULTI_CPU": ("dynamo_config", {"dynamo_mode": "reduce-overhead"}),
}
# {what: (type, more keys)}
MORE = {
    "parallelism": ("FSDP", {"fsdp_config": {"fsdp_version": 2},
                             "parallelism_config": {"parallelism_config_cp_size": 2, "parallelism_config_dp_shard_size": 2}}),
    "parallelism, one": ("MULTI_GPU", {"parallelism_config": {"parallelism_config_cp_comm_strategy": "alltoall"}}),
    "sequences": ("DEEPSPEED", {"parallelism_config": {"parallelism_config_sp_size": 2, "parallelism_config_sp_seq_length_is_variable": False}}),
    "parallelism, simple": ("NO", {"parallelism_config": {"parallelism_config_tp_size": 2}}),
    "fp8": ("MULTI_GPU", {"mixed_precision": "fp8", "fp8_config": {"backend": "TE", "margin": 1, "amax_history_length": 32,
                                                                  "override_linear_precision": [False, True, True], "use_autocast_during_eval": True}}),
    "fp8, no section": ("NO", {"mixed_precision": "fp8"}),
    "deepspeed and dynamo": ("DEEPSPEED", {"mixed_precision": "bf16", "dynamo_config": {"dynamo_backend": "INDUCTOR"}, "use_cpu": True}),
    "old dynamo": ("MULTI_GPU", {"dynamo_backend": "inductor"}),
    "cpu": ("MULTI_CPU", {"use_cpu": True, "enable_cpu_affinity": True, "debug": True}),
    "cpu of fsdp": ("FSDP", {"use_cpu": True}),
    "old precision": ("MULTI_GPU", {"fp16": True}),
    "gpus": ("MULTI_GPU", {"gpu_ids": "0,1"}),
    "all gpus": ("NO", {"gpu_ids": "all", "mixed_precision": "bf16"}),
    "two machines": ("MULTI_GPU", {"num_machines": 2, "num_processes": 4, "main_process_ip": "10.0.0.1", "main_process_port": 29501}),
    "sections of others": ("MULTI_GPU", {"fsdp_config": {"fsdp_version": 2}, "deepspeed_config": {"zero_stage": 3}}),
    "scattered": ("FSDP", {"fsdp_config": {"fsdp_sync_module_states": False, "fsdp_cpu_ram_efficient_loading": False, "fsdp_of_tomorrow": 1}}),
}


def configurations():
    """{name: config}"""
    made = {}
    for kind, (section, keys) in SECTIONS.items():
        for some in itertools.chain([()], ((key,) for key in keys), [tuple(keys)]):
            chosen = {key: keys[key] for key in some if not ("backend" in keys and len(some) > 1 and key == "backend")}
            made[f"{kind} {section} {' '.join(some) or 'empty'}"[:200]] = {"distributed_type": kind, section: chosen}
    made.update({name: {"distributed_type": kind, **more} for name, (kind, more) in MORE.items()})
    for config in made.values():
        config.update({"compute_environment": "LOCAL_MACHINE", "num_processes": config.get("num_processes", 2),
                       "num_machines": config.get("num_machines", 1), "machine_rank": 0})
    return made


def asked(path):
    """Runs in a process with accelerate: the variables that it adds for this config, or, as a text, why it refuses the file."""
    launch = importlib.import_module("accelerate.commands.launch")
    utils = importlib.import_module("accelerate.utils.launch")
    found = {}

    def variables(prepared):
        found.update(prepared if isinstance(prepared, dict) else prepared[1])

    launch.simple_launcher = lambda args: variables(utils.prepare_simple_launcher_cmd_env(args))
    launch.multi_gpu_launcher = lambda args: variables(utils.prepare_multi_gpu_env(args))
    launch.deepspeed_launcher = lambda args: variables(utils.prepare_deepspeed_cmd_env(args))
    for name, answer in (("is_port_in_use", False), ("is_fp8_available", True), ("_get_mpirun_args", ("mpirun", "-f", "-n", "-ppn", ""))):
        if hasattr(utils, name):
            setattr(utils, name, lambda *_, answer=answer, **__: answer)
    before = dict(os.environ)
    try:
        launch.launch_command(launch.launch_command_parser().parse_args(["--config_file", path, "train.py"]))
    except (Exception, SystemExit) as error:  # whatever a user would see as a traceback
        return f"{type(error).__name__}: {error}"
    return {name: str(value) for name, value in found.items() if before.get(name) != value and name not in NOT_COMPARED}


def ask_all(release, paths):
    """The answers of one release of accelerate, from a separate process."""
    environment = {"PATH": os.environ["PATH"], "HOME": tempfile.gettempdir(), "PYTHONPATH": release}
    done = subprocess.run([PYTHON, os.path.abspath(__file__), "--asked", *paths], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"accelerate of {release or PYTHON} cannot be asked:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def ours(dlaunch, path):
    import yaml  # of the environment; Debian's python3 may lack it
    done = subprocess.run([dlaunch, "convert", path, "--", "train.py"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return done.stderr
    env = yaml.safe_load(done.stdout).get("env", {})
    return {name: str(value) for name, value in env.items() if name not in NOT_COMPARED}


def old_variables(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return {variable for key, variable in OLD_NAMES.items() if key in text}


def differences(path, theirs, here, is_newest):
    if isinstance(here, str):
        return [] if isinstance(theirs, str) else [f"accelerate takes it, dlaunch: {here}"]
    if isinstance(theirs, str):
        # An older release may not know a key or a type.
        return [f"dlaunch takes it, accelerate: {theirs}"] if is_newest else []
    found = []
    only_ours = ONLY_OURS | old_variables(path)
    for name in sorted(theirs.keys() | here.keys()):
        if theirs.get(name) == here.get(name) or (name not in theirs and (not is_newest or name in only_ours)):
            continue
        if not is_newest and theirs.get(name) in OLDER.get(name, ()):
            continue
        found.append(f"{name}: accelerate {theirs.get(name)!r}, dlaunch {here.get(name)!r}")
    return found


def compare(dlaunch, paths):
    """The number of config files for which dlaunch differs from a release."""
    wrong = 0
    here = {path: ours(dlaunch, path) for path in paths}
    for release in ["", *sorted(glob.glob(f"{RELEASES}/*"))]:
        answers = ask_all(release, paths)
        name = answers.pop("version")
        for path in paths:
            if os.path.basename(path) in OTHERWISE:
                continue
            lines = differences(path, answers[path], here[path], release == "")
            wrong += bool(lines)
            for line in lines:
                print(f"accelerate {name}, {os.path.basename(path)}: {line}")
        refused = sum(isinstance(answer, str) for answer in answers.values())
        print(f"accelerate {name}: {len(paths)} config files, of which it refuses {refused}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dlaunch", default=os.environ.get("DLAUNCH_BIN", f"{ROOT}/build/release/bin/dlaunch"))
    parser.add_argument("--asked", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("configs", nargs="*")
    options = parser.parse_args()
    if options.asked:
        answers = {path: asked(path) for path in options.configs}
        print(json.dumps({"version": importlib.import_module("accelerate").__version__, **answers}))
        return 0
    if not os.access(PYTHON, os.X_OK):
        print(f"skipped: no {PYTHON}: tests/frameworks/setup.sh torch")
        return SKIPPED
    if sys.prefix != os.path.dirname(os.path.dirname(PYTHON)):
        os.execv(PYTHON, [PYTHON, *sys.argv])
    with tempfile.TemporaryDirectory(prefix="dlaunch-accelerate-") as folder:
        paths = [os.path.abspath(path) for path in options.configs]
        if not paths:
            paths = sorted(glob.glob(f"{ROOT}/tests/data/jobs/foreign/accelerate-*.yaml"))
            for number, (name, config) in enumerate(configurations().items()):
                paths.append(os.path.join(folder, f"{number} {name}.yaml".replace("/", "-")))
                with open(paths[-1], "w", encoding="utf-8") as file:
                    json.dump(config, file)
        wrong = compare(options.dlaunch, paths)
    print("all alike" if wrong == 0 else f"{wrong} differ")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
