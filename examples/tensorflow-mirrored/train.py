"""Synchronous training on several workers with TensorFlow's MultiWorkerMirroredStrategy, on CPU.

Learns y = x w + b; every worker sees other samples, and the gradients are averaged over all of them.
"""

import json
import os

import tensorflow as tf

STEPS = 120
BATCH = 64
FEATURES = 8
TRUE_B = 0.5


def all_reduce(strategy, value):
    """Sum over the replicas, one on each worker."""
    def reduce():
        return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, tf.constant(value))
    return tf.function(lambda: strategy.run(reduce))().numpy()


def check_world(strategy, task):
    """As many workers as in TF_CONFIG, and a sum that only the right set of them can give."""
    world = len(json.loads(os.environ["TF_CONFIG"])["cluster"]["worker"])
    assert strategy.num_replicas_in_sync == world, f"{strategy.num_replicas_in_sync} replicas, TF_CONFIG has {world}"
    total = all_reduce(strategy, float(task))
    assert total == world * (world - 1) / 2, f"the indices sum up to {total}"
    if task == 0:
        print(f"world of {world} workers, sum of indices {total:.0f}", flush=True)


def train(strategy, task):
    true_w = tf.reshape(tf.range(FEATURES, dtype=tf.float32) / FEATURES, [FEATURES, 1])
    with strategy.scope():
        w = tf.Variable(tf.random.stateless_normal([FEATURES, 1], [task, 1]))  # levelled by the strategy
        b = tf.Variable(0.0)

    def replica_step(index):
        x = tf.random.stateless_normal([BATCH, FEATURES], [task, index])
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(x @ w + b - (x @ true_w + TRUE_B)))
        gradients = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.MEAN, tape.gradient(loss, [w, b]))
        for variable, gradient in zip((w, b), gradients):
            variable.assign_sub(0.05 * gradient)
        return loss

    @tf.function
    def step(index):
        return strategy.reduce(tf.distribute.ReduceOp.MEAN, strategy.run(replica_step, args=(index,)), axis=None)

    first = last = None
    for index in range(STEPS):
        last = float(step(tf.constant(index)))
        first = last if first is None else first
        if task == 0 and (index + 1) % 40 == 0:
            print(f"step {index + 1}  loss {last:.6f}", flush=True)
    assert last < 0.01 * first, f"the loss did not fall: {first} to {last}"
    return w


def check_equal(strategy, task, w):
    own = tf.reduce_sum(w.read_value() * tf.range(1.0, FEATURES + 1.0)[:, None]).numpy()
    mean = all_reduce(strategy, float(own)) / strategy.num_replicas_in_sync
    assert mean == own, f"the workers ended with different weights: {own} here, {mean} on average"
    if task == 0:
        print(f"equal weights on all {strategy.num_replicas_in_sync} workers", flush=True)


def main():
    ring = tf.distribute.experimental.CommunicationOptions(
        implementation=tf.distribute.experimental.CommunicationImplementation.RING)
    strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=ring)  # reads TF_CONFIG
    task = strategy.cluster_resolver.task_id
    check_world(strategy, task)
    check_equal(strategy, task, train(strategy, task))


if __name__ == "__main__":
    main()
