"""A worker: computes gradients on samples of its own, for the weights that the master sends."""

import argparse
import json
import os
import random
import socket
import sys
import time

LIMIT = 120  # seconds until the master listens, and for each of its messages


def connect(host, port):
    end = time.monotonic() + LIMIT
    while True:
        try:
            return socket.create_connection((host, port), timeout=LIMIT)
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def gradient(samples, slope, intercept):
    errors = [(x, slope * x + intercept - y) for x, y in samples]
    return {"slope": sum(x * error for x, error in errors) / len(samples), "intercept": sum(error for _, error in errors) / len(samples),
            "loss": sum(error * error for _, error in errors) / len(samples)}


def main():
    argparse.ArgumentParser().parse_known_args()  # --steps is the master's
    spec = json.loads(os.environ["CLUSTER_SPEC"])
    task = spec["task"]
    assert task["type"] == "worker" and os.environ["RANK"] == str(task["index"] + 1), task
    samples = []
    source = random.Random(task["index"])
    for _ in range(200):
        x = source.uniform(-2, 2)
        samples.append((x, 3 * x + 1 + source.gauss(0, 0.05)))
    host, port = spec["cluster"]["master"][0].rsplit(":", 1)
    with connect(host, int(port)) as peer:
        file = peer.makefile("rw", encoding="ascii")
        print(json.dumps({"index": task["index"]}), file=file, flush=True)
        steps = 0
        while (weights := json.loads(file.readline())) is not None:
            print(json.dumps(gradient(samples, *weights)), file=file, flush=True)
            steps += 1
    print(f"worker {task['index']}: {steps} steps; /app has {sorted(os.listdir('/app'))}")


if __name__ == "__main__":
    sys.exit(main())
