"""Parameter server training with TensorFlow 2: one script for chief, workers, parameter servers and evaluator.

Learns y = x w + b. The variables live on the parameter servers, the workers compute gradients on samples of
their own, the chief hands out the steps, the evaluator looks at every checkpoint.
"""

import os
import time

import tensorflow as tf

STEPS = 240
BATCH = 64
FEATURES = 8
TRUE_B = 0.5
# One folder for each run: the evaluator must not find what an older run has left.
CHECKPOINTS = os.path.join("checkpoints", os.environ["DLAUNCH_RUN_ID"])


def true_w():
    return tf.reshape(tf.range(FEATURES, dtype=tf.float32) / FEATURES, [FEATURES, 1])


def samples(seed):
    """An endless stream of batches."""
    def batch(index):
        x = tf.random.stateless_normal([BATCH, FEATURES], [seed, index])
        return x, x @ true_w() + TRUE_B
    return tf.data.Dataset.counter(dtype=tf.int64).map(lambda i: batch(tf.cast(i, tf.int32)))


def loss_of(w, b, x, y):
    return tf.reduce_mean(tf.square(x @ w + b - y))


def check_cluster(resolver):
    """The servers that answered are the ones in TF_CONFIG."""
    cluster = resolver.cluster_spec().as_dict()
    assert "evaluator" not in cluster, cluster
    for job in ("worker", "ps"):
        answered = {device.name.split("/device:")[0] for device in tf.config.list_logical_devices("CPU")
                    if f"/job:{job}/" in device.name}
        assert len(answered) == len(cluster[job]), f"{job}: {answered} answered, TF_CONFIG has {cluster[job]}"
    print(f"chief: {len(cluster['worker'])} workers and {len(cluster['ps'])} parameter servers answered", flush=True)


def coordinate(resolver):
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    check_cluster(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        w = tf.Variable(tf.zeros([FEATURES, 1]), name="w")
        b = tf.Variable(0.0, name="b")
    assert "/job:ps/" in w.device, f"w is on {w.device}, not on a parameter server"

    @tf.function
    def step(iterator):
        x, y = next(iterator)
        with tf.GradientTape() as tape:
            loss = loss_of(w, b, x, y)
        for variable, gradient in zip((w, b), tape.gradient(loss, (w, b))):
            variable.assign_sub(0.05 * gradient)
        return loss

    batches = iter(coordinator.create_per_worker_dataset(lambda: samples(seed=int(time.time() * 1e6) % 2**31)))
    checkpoint = tf.train.Checkpoint(w=w, b=b)
    manager = tf.train.CheckpointManager(checkpoint, CHECKPOINTS, max_to_keep=2)
    losses = []
    for done in range(0, STEPS, STEPS // 4):
        scheduled = [coordinator.schedule(step, args=(batches,)) for _ in range(STEPS // 4)]
        coordinator.join()
        losses.append(sum(loss.fetch() for loss in scheduled) / len(scheduled))
        manager.save(checkpoint_number=done + STEPS // 4)
        print(f"chief: step {done + STEPS // 4}  loss {losses[-1]:.6f}", flush=True)
    assert losses[-1] < 0.01 * losses[0], f"the loss did not fall: {losses}"
    return manager.latest_checkpoint


def wait_for_evaluator(path):
    """Waits until the evaluator has evaluated the last checkpoint."""
    verdict = f"{path}.evaluated"
    deadline = time.monotonic() + 120
    while not os.path.exists(verdict):
        assert time.monotonic() < deadline, "no word from the evaluator"
        time.sleep(0.1)
    with open(verdict, encoding="utf-8") as file:
        print(f"chief: evaluated loss {float(file.read()):.6f}, done", flush=True)


def evaluate():
    """Never ends by itself: dlaunch ends it when the chief is done."""
    w, b = tf.Variable(tf.zeros([FEATURES, 1])), tf.Variable(0.0)
    x, y = next(iter(samples(seed=7)))
    for path in tf.train.checkpoints_iterator(CHECKPOINTS, min_interval_secs=0.1):
        try:
            tf.train.Checkpoint(w=w, b=b).restore(path).expect_partial()
        except (tf.errors.NotFoundError, tf.errors.OpError):
            continue  # replaced by a newer one meanwhile
        loss = float(loss_of(w, b, x, y))
        with open(f"{path}.tmp", "w", encoding="utf-8") as file:
            file.write(str(loss))
        os.rename(f"{path}.tmp", f"{path}.evaluated")
        print(f"evaluator: {os.path.basename(path)}  loss {loss:.6f}", flush=True)


def main():
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if resolver.task_type == "evaluator":
        evaluate()
    elif resolver.task_type == "chief":
        wait_for_evaluator(coordinate(resolver))
    else:
        server = tf.distribute.Server(resolver.cluster_spec(), job_name=resolver.task_type,
                                      task_index=resolver.task_id, protocol="grpc")
        address = resolver.cluster_spec().task_address(resolver.task_type, resolver.task_id)
        print(f"{resolver.task_type} {resolver.task_id} serves at {address}", flush=True)
        server.join()


if __name__ == "__main__":
    main()
