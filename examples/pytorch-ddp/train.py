"""Data-parallel training of a small network on scikit-learn's handwritten digits.

Every process reads RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT, which the launcher sets.
The script checks on the way that the ranks really form one world: it stops with an AssertionError if
they train on the same data, do not communicate, or end with different weights.
"""

import argparse
import hashlib
import os
import time

import numpy
import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def load_data():
    """1797 images of 8 x 8 pixels in a fixed random order; the last 297 are for the test.

    The data set is part of the scikit-learn package, so nothing is downloaded.
    """
    digits = load_digits()
    order = numpy.random.RandomState(0).permutation(len(digits.target))
    images = torch.tensor(digits.data[order] / 16.0, dtype=torch.float32).reshape(-1, 1, 8, 8)
    labels = torch.tensor(digits.target[order], dtype=torch.int64)
    return images[:1500], labels[:1500], images[1500:], labels[1500:]


def make_network():
    return nn.Sequential(
        nn.Conv2d(1, 16, kernel_size=3, padding=1), nn.ReLU(),
        nn.Conv2d(16, 32, kernel_size=3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(32 * 4 * 4, 64), nn.ReLU(), nn.Linear(64, 10))


def gather(value):
    """The value of every rank, in rank order."""
    values = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return values


def check_world(rank, world, expected):
    """World size as asked for, and a sum that only the right set of ranks can give."""
    assert world == int(os.environ["WORLD_SIZE"]), f"{world} ranks met, WORLD_SIZE says otherwise"
    assert world == expected, f"{world} ranks instead of {expected}"
    total = torch.tensor([rank])
    dist.all_reduce(total)
    assert total.item() == world * (world - 1) // 2, f"the ranks sum up to {total.item()}"
    if rank == 0:
        print(f"world of {world} ranks, sum of ranks {total.item()}", flush=True)


def shard_of(rank, world, size):
    """This rank's part of the training set; asserts that the parts are disjoint and complete."""
    mine = list(range(rank, size, world))
    shards = gather(mine)
    union = set().union(*shards)
    assert len(union) == sum(len(shard) for shard in shards), "two ranks train on the same samples"
    assert len(union) == size, "some samples belong to no rank"
    return torch.tensor(mine)


def train_epoch(model, optimizer, images, labels, shard, seed, batch):
    """One pass over the shard in a new order; returns the mean loss over all ranks."""
    model.train()
    order = shard[torch.randperm(len(shard), generator=torch.Generator().manual_seed(seed))]
    total = torch.zeros(2)
    for indices in order.split(batch):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images[indices]), labels[indices])
        loss.backward()  # DistributedDataParallel averages the gradients over all ranks here
        optimizer.step()
        total += torch.tensor([loss.item() * len(indices), len(indices)])
    dist.all_reduce(total)
    return (total[0] / total[1]).item()


def accuracy(model, images, labels):
    model.eval()
    with torch.no_grad():
        return (model(images).argmax(dim=1) == labels).float().mean().item()


def weight_hash(model):
    digest = hashlib.sha256()
    for name, value in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(value.numpy().tobytes())
    return digest.hexdigest()


def train(options):
    rank, world = dist.get_rank(), dist.get_world_size()
    check_world(rank, world, options.world)

    torch.manual_seed(rank)  # different weights on purpose: DistributedDataParallel must level them
    images, labels, test_images, test_labels = load_data()
    shard = shard_of(rank, world, len(labels))
    model = DistributedDataParallel(make_network())
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)

    start = time.monotonic()
    for epoch in range(1, options.epochs + 1):
        seed = epoch * world + rank
        loss = train_epoch(model, optimizer, images, labels, shard, seed, options.batch)
        score = accuracy(model.module, test_images, test_labels)
        if rank == 0:
            print(f"epoch {epoch:2d}  loss {loss:.4f}  test accuracy {score:.3f}", flush=True)

    hashes = gather(weight_hash(model.module))
    assert len(set(hashes)) == 1, f"the ranks ended with different weights: {hashes}"
    assert score > 0.95, f"test accuracy {score:.3f} is not above 0.95"
    if rank == 0:
        print(f"equal weights on all {world} ranks, sha256 {hashes[0][:12]}, "
              f"trained in {time.monotonic() - start:.1f} s, test accuracy {score:.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch", type=int, default=32, help="samples per rank and step")
    parser.add_argument("--world", type=int, default=4, help="number of ranks that have to take part")
    options = parser.parse_args()

    dist.init_process_group("gloo")  # reads RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT
    train(options)
    # The model no longer exists here. If it were the last owner of the process group, its destructor would wait for
    # gloo's threads while it holds the interpreter lock that they may need, and now and then a rank of
    # torch 1.13 would never end.
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
