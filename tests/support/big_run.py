"""Makes a run folder like that of a long run with many ranks, to see how large its report is."""

import datetime
import json
import os
import random

HOSTILE = '</script><script>alert(1)</script>"\'&<b>'


def make(folder, nodes=64, per_node=8, hours=24.0, failures=4, name="train-70b", seed=1):
    """Returns the id of the run. All of its attempts have failed."""
    dice = random.Random(seed)
    run = "20261120-210142-k3f"
    path = os.path.join(folder, run)
    start = datetime.datetime(2026, 11, 20, 21, 1, 42)
    length = hours * 3600
    world = nodes * per_node

    def at(second):
        return (start + datetime.timedelta(seconds=second)).isoformat(timespec="microseconds") + "Z"

    def write(file, value):
        with open(os.path.join(path, file), "w", encoding="utf-8") as out:
            out.write(value if isinstance(value, str) else json.dumps(value))

    os.makedirs(path)
    hosts = [f"gpu{node:03}" for node in range(nodes)]
    events, earlier, ranks = [], [], []

    def event(second, kind, **members):
        events.append(json.dumps({"time": at(second), "event": kind, **members}))

    for node in range(nodes):
        event(1 + node * .01, "node-ready", node=node)
    begin = 4.0
    for attempt in range(failures + 1):
        os.makedirs(os.path.join(path, f"attempt-{attempt}"))
        end = length * (attempt + 1) / (failures + 1) - 120
        event(begin, "plan-made", attempt=attempt, node_of_rank=[rank // per_node for rank in range(world)])
        first = dice.randrange(world)
        ranks = []
        for rank in range(world):
            event(begin + 1 + rank * .002, "rank-started", attempt=attempt, rank=rank, pid=1000 + rank, at=at(begin + 1 + rank * .002))
        for rank in sorted(range(world), key=lambda one: one != first):
            ended = end + (0 if rank == first else dice.uniform(1, 20))
            event(ended, "rank-exited", attempt=attempt, rank=rank, at=at(ended), after_signal=rank != first, **({"code": 1} if rank == first else {"signal": "SIGTERM"}))
            ranks.append({"rank": rank, "node": hosts[rank // per_node], "how": "exited" if rank == first else "stopped",
                          "exit_code": 1 if rank == first else None, "signal": None if rank == first else "SIGTERM", "started": at(begin + 1), "ended": at(ended)})
        ranks.sort(key=lambda one: one["rank"])
        if attempt < failures:
            event(end + 22, "restart", attempt=attempt + 1, wait_s=30.0, cause="exit-code", exit_code=1, first=first)
            earlier.append({"attempt": attempt, "cause": "exit-code", "exit_code": 1, "first": first, "ran_s": end - begin, "unnoticed_s": None, "stopped_s": 22.0,
                            "wait_s": 30.0, "again_s": 60.0, "steps_lost": 120})
        event(end + 5, "stall", text="a stall", attempt=attempt, headline="no rank has made progress for 5 min: ranks 0-7 wait for rank 9 " + HOSTILE)
        begin = end + 60
    write("events.jsonl", "\n".join(events) + "\n")
    write("run.json", {"version": 1, "run": run, "name": name, "job_file": "job.yaml", "folder": folder, "host": "login", "boot_id": "b", "engine": {"pid": 1, "start_ticks": 1},
                       "front": {"pid": 1, "start_ticks": 1}, "user": os.getuid(), "started": at(0), "stop_timeout_ms": 10000, "slurm_job": "", "detached": False, "locked": False})
    write("plan.json", {"format": 1, "name": name, "run_id": run, "attempt": failures, "framework": "pytorch", "launch": "each", "workdir": "/home/me/train",
                        "master": {"address": "10.0.0.1", "port": 29500, "reason": "the address of gpu000"}, "commands": [{"argv": ["python3", "train.py", "--lr", "0.1", HOSTILE], "shell": False}],
                        "nodes": [{"node": i, "name": host, "address": f"10.0.0.{i}", "ranks": list(range(i * per_node, (i + 1) * per_node)), "binding": "8 cores each, by GPU",
                                   "variables": {"NCCL_SOCKET_IFNAME": "ib0"}} for i, host in enumerate(hosts)],
                        "ranks": [{"rank": rank, "node": rank // per_node, "local_rank": rank % per_node, "command": 0, "cpus": list(range(8)), "gpus": [str(rank % per_node)],
                                   "variables": {"RANK": str(rank), "LOCAL_RANK": str(rank % per_node), "CUDA_VISIBLE_DEVICES": str(rank % per_node),
                                                 "TORCHELASTIC_ERROR_FILE": f"/home/me/train/runs/{run}/attempt-{failures}/rank-{rank}.error.json"}} for rank in range(world)],
                        "variables": {"WORLD_SIZE": str(world), "MASTER_ADDR": "10.0.0.1", "X": HOSTILE, **{f"SETTING_{i}": "v" * 20 for i in range(40)}},
                        "passed": ["HOME"], "secret": ["WANDB_API_KEY"], "reasons": {"RANK": "the rank's number", "X": "env of the job"}, "notes": []})
    first = next(one["rank"] for one in ranks if one["how"] == "exited")
    write("summary.json", {"version": 1, "run": run, "name": name, "path": f"runs/{run}", "exit_code": 1, "origin": "rank", "cause": "exit-code", "detail": None, "elapsed_s": length,
                           "ledger": {"connect_s": 1.6, "prepare_s": 2.4, "start_s": 2.0, "first_output_s": 90.0, "productive_s": length * .9, "recomputed_s": length * .04, "stalled_s": length * .03,
                                      "stopping_s": 110.0, "back_off_s": 120.0, "lost_nodes_s": 0.0, "restarting_s": length * .03 - 326},
                           "attempt": failures, "earlier": earlier, "first": first, "preflight": [],
                           "text": [f"dlaunch: FAILED after {hours:g} h 00 min: rank {first} on {hosts[first // per_node]} exited with code 1", "",
                                    "  RuntimeError: CUDA error: an illegal memory access was encountered " + HOSTILE, "    train.py:212 in step", "",
                                    "  why     a kernel has read or written outside of its memory", f"  others  {world - 1} ranks were stopped", f"  logs    dlaunch logs --rank {first}"],
                           "ranks": ranks})
    rows = 600

    def walk(middle, spread):
        return [None if dice.random() < .002 else round(middle + spread * (dice.random() - .5)) for _ in range(rows)]

    loss = [2 + 8 / (1 + i / 20) + dice.random() * .05 for i in range(rows)]
    steps = [float(i * 100) for i in range(rows)]
    write("samples.json", {"version": 1, "started": at(0), "step_s": length / rows,
                           "nodes": [{"node": host, "cores": 64, "cpu": walk(3000, 2500), "memory": walk(400000, 90000), "gpu": walk(92, 14), "gpu_memory": walk(600000, 9000),
                                      "network": walk(9e9, 4e9), "output": walk(4000, 7000)} for host in hosts],
                           "metrics": [{"name": "loss " + HOSTILE, "low": [one * .97 for one in loss], "mean": loss, "high": [one * 1.03 for one in loss]},
                                       {"name": "step", "low": steps, "mean": steps, "high": steps}]})
    return run
