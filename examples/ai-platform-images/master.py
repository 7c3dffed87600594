"""The master: holds the weights, and averages the gradients of the workers. CLUSTER_SPEC says where it listens and how many workers there are."""

import argparse
import json
import os
import socket
import sys

LIMIT = 120  # seconds to wait for a worker


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40)
    steps = parser.parse_args().steps
    spec = json.loads(os.environ["CLUSTER_SPEC"])
    assert spec["task"] == {"type": "master", "index": 0}, spec["task"]
    # A custom container finds this name in TF_CONFIG, too, as useChiefInTfConfig is not given.
    assert json.loads(os.environ["TF_CONFIG"])["task"]["type"] == "master"
    workers = len(spec["cluster"]["worker"])
    assert (os.environ["RANK"], os.environ["WORLD_SIZE"]) == ("0", str(1 + workers)), "machines are counted, not processes"
    host, port = spec["cluster"]["master"][0].rsplit(":", 1)
    with socket.create_server((host, int(port))) as server:
        server.settimeout(LIMIT)
        peers = [server.accept()[0] for _ in range(workers)]
    for peer in peers:
        peer.settimeout(LIMIT)
    files = [peer.makefile("rw", encoding="ascii") for peer in peers]
    names = sorted(json.loads(file.readline())["index"] for file in files)
    assert names == list(range(workers)), f"workers {names}"
    slope = intercept = 0.0
    for step in range(steps):
        answers = []
        for file in files:
            print(json.dumps([slope, intercept]), file=file, flush=True)
        for file in files:
            answers.append(json.loads(file.readline()))
        slope -= sum(answer["slope"] for answer in answers) / workers
        intercept -= sum(answer["intercept"] for answer in answers) / workers
        if step % 10 == 0:
            print(f"step {step}: loss {sum(answer['loss'] for answer in answers) / workers:.4f}", flush=True)
    for file in files:
        print("null", file=file, flush=True)
    assert abs(slope - 3) < 0.1 and abs(intercept - 1) < 0.1, f"{slope} {intercept}"
    print(f"master: {slope:.1f} x + {intercept:.1f} by {workers} workers; /app has {sorted(os.listdir('/app'))}")


if __name__ == "__main__":
    sys.exit(main())
