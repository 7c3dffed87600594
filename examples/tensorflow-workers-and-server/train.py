"""Asynchronous training with parameter servers as in programs for TensorFlow 1: two workers, one server, no chief.

Each process starts a server of its own from TF_CONFIG. The variables live on the parameter server, every worker updates them with
gradients of its own samples, and worker 0 is the chief that initializes them.
"""

import hashlib
import json
import os
import time

import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
STEPS, BATCH, FEATURES = 2, 16, 4
LIMIT = 60  # seconds to wait for the others


def samples(index):
    """Samples that differ by worker."""
    x = tf.random.stateless_normal([BATCH, FEATURES], [index, 1])
    return x, tf.reduce_sum(x, axis=1, keepdims=True)


def wait_for(session, count, expected, what):
    end = time.monotonic() + LIMIT
    while session.run(count) < expected:
        assert time.monotonic() < end, f"{what}: {session.run(count)} of {expected} after {LIMIT} s"
        time.sleep(0.05)


def work(server, cluster, index):
    workers = cluster.num_tasks("worker")
    with tf.device(tf.train.replica_device_setter(worker_device=f"/job:worker/task:{index}", cluster=cluster)):
        w = tf.get_variable("w", [FEATURES, 1], initializer=tf.zeros_initializer())
        here = tf.get_variable("here", [], tf.int32, tf.zeros_initializer())
        total = tf.get_variable("total", [], tf.int32, tf.zeros_initializer())
        done = tf.get_variable("done", [], tf.int32, tf.zeros_initializer())
        seen = tf.get_variable("seen", [workers], tf.float32, tf.zeros_initializer())
        x, y = samples(index)
        train = tf.train.GradientDescentOptimizer(0.05).minimize(tf.reduce_mean((x @ w - y) ** 2))
        say_here = tf.group(total.assign_add(index, use_locking=True), tf.scatter_update(seen, [index], [tf.reduce_sum(x)]))
        with tf.control_dependencies([say_here]):
            say_here = here.assign_add(1, use_locking=True)
        say_done = done.assign_add(1, use_locking=True)
    assert "/job:ps/" in w.device, f"w is on {w.device}, not on a parameter server"

    # Worker 0 initializes the variables; the others check once a second whether it has.
    supervisor = tf.train.Supervisor(is_chief=index == 0, logdir=None, summary_op=None, recovery_wait_secs=1)
    with supervisor.prepare_or_wait_for_session(server.target) as session:
        session.run(say_here)
        wait_for(session, here, workers, "workers that have come")
        assert session.run([here, total]) == [workers, workers * (workers - 1) // 2]
        assert len(set(session.run(seen))) == workers, "two workers train on the same samples"
        if index == 0:
            print(f"world of {workers} workers, sum of indices {session.run(total)}", flush=True)
        for _ in range(STEPS):
            session.run(train)
        session.run(say_done)
        wait_for(session, done, workers, "workers that are done")
        value = session.run(w)
        assert (value != 0).any(), "nothing was learnt"
        # One copy of the weights, on the server: all workers see the same.
        print(f"worker {index}: weights sha256 {hashlib.sha256(value.tobytes()).hexdigest()[:12]} after {STEPS} steps of {workers} workers",
              flush=True)


def main():
    config = json.loads(os.environ["TF_CONFIG"])
    cluster, task = tf.train.ClusterSpec(config["cluster"]), config["task"]
    server = tf.train.Server(cluster, job_name=task["type"], task_index=task["index"])
    if task["type"] == "ps":
        server.join()  # never returns
    else:
        work(server, cluster, task["index"])


if __name__ == "__main__":
    main()
