"""Two steps of TensorFlow with Horovod on CPU, with its MPI controller."""

import argparse
import hashlib

import horovod.tensorflow as hvd
import tensorflow as tf

STEPS, BATCH, FEATURES = 2, 8, 4


def check_world(rank, world, expected):
    assert world == expected, f"{world} ranks instead of {expected}"
    total = int(hvd.allreduce(tf.constant(rank), op=hvd.Sum))
    assert total == world * (world - 1) // 2, f"the ranks sum up to {total}"
    if rank == 0:
        print(f"world of {world} ranks, sum of ranks {total}", flush=True)


def train(rank, world):
    tf.random.set_seed(rank)  # other weights and other data on each rank
    w = tf.Variable(tf.random.normal([FEATURES, 1]))
    x = tf.random.normal([STEPS, BATCH, FEATURES])
    samples = [hashlib.sha256(part.tobytes()).hexdigest() for part in hvd.allgather(x[None]).numpy()]
    assert len(set(samples)) == world, "two ranks train on the same data"
    hvd.broadcast_variables([w], root_rank=0)
    for step in range(STEPS):
        with hvd.DistributedGradientTape(tf.GradientTape()) as tape:
            loss = tf.reduce_mean((x[step] @ w - tf.reduce_sum(x[step], 1, keepdims=True)) ** 2)
        w.assign_sub(0.1 * tape.gradient(loss, [w])[0])
    hashes = {hashlib.sha256(part.tobytes()).hexdigest() for part in hvd.allgather(tf.reshape(w, [1, -1])).numpy()}
    assert len(hashes) == 1, f"the ranks ended with different weights: {hashes}"
    if rank == 0:
        print(f"equal weights on all {world} ranks, sha256 {hashes.pop()[:12]}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--world", type=int, default=2, help="number of ranks that have to take part")
    options = parser.parse_args()
    hvd.init()
    check_world(hvd.rank(), hvd.size(), options.world)
    train(hvd.rank(), hvd.size())
    hvd.shutdown()


if __name__ == "__main__":
    main()
