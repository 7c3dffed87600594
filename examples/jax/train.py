"""Data-parallel training with JAX over several processes, on CPU: one array is spread over the devices of all of them.

jax.distributed.initialize() takes the coordinator and this process's index from the variables that the launcher sets.
"""

import argparse
import hashlib

import jax
import jax.numpy as jnp
import numpy
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

STEPS, BATCH, FEATURES = 2, 8, 4


def check_world(rank, world, expected):
    assert world == expected, f"{world} processes instead of {expected}"
    assert jax.device_count() == world * jax.local_device_count(), f"{jax.device_count()} devices of {world} processes"
    total = int(multihost_utils.process_allgather(numpy.array([rank])).sum())
    assert total == world * (world - 1) // 2, f"the ranks sum up to {total}"
    if rank == 0:
        print(f"world of {world} ranks, sum of ranks {total}", flush=True)


def loss_of(w, x, y):
    return jnp.mean((x @ w - y) ** 2)


@jax.jit
def step(w, x, y):
    """x and y are spread over all devices, so XLA averages the gradient over the processes."""
    return w - 0.1 * jax.grad(loss_of)(w, x, y)


def train(rank, world):
    mesh = Mesh(numpy.array(jax.devices()), ("data",))
    spread, same = NamedSharding(mesh, PartitionSpec("data")), NamedSharding(mesh, PartitionSpec())
    random = numpy.random.default_rng(rank)  # other samples in each process
    own_x = random.normal(size=(STEPS, BATCH, FEATURES)).astype(numpy.float32)
    own_y = own_x.sum(axis=2)
    w = jax.make_array_from_process_local_data(same, numpy.zeros(FEATURES, numpy.float32))
    for i in range(STEPS):
        w = step(w, jax.make_array_from_process_local_data(spread, own_x[i]), jax.make_array_from_process_local_data(spread, own_y[i]))
    own = numpy.asarray(w.addressable_data(0))

    everything = multihost_utils.process_allgather(numpy.concatenate([own, own_x.ravel()]))
    weights, data = everything[:, :FEATURES], everything[:, FEATURES:]
    assert len({row.tobytes() for row in data}) == world, "two processes train on the same samples"
    assert len({row.tobytes() for row in weights}) == 1, f"the processes ended with different weights: {weights}"
    # Gradients were averaged over all samples, not over this process's own.
    expected = numpy.zeros(FEATURES, numpy.float32)
    x = data.reshape(world, STEPS, BATCH, FEATURES)
    for i in range(STEPS):
        samples = x[:, i].reshape(-1, FEATURES)
        expected -= 0.1 * 2 * samples.T @ (samples @ expected - samples.sum(axis=1)) / len(samples)
    numpy.testing.assert_allclose(own, expected, rtol=1e-4)
    if rank == 0:
        print(f"equal weights on all {world} ranks, sha256 {hashlib.sha256(own.tobytes()).hexdigest()[:12]}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--world", type=int, default=2, help="number of processes that have to take part")
    options = parser.parse_args()
    jax.distributed.initialize()
    rank, world = jax.process_index(), jax.process_count()
    check_world(rank, world, options.world)
    train(rank, world)
    jax.distributed.shutdown()


if __name__ == "__main__":
    main()
