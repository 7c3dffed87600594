"""Two steps of DistributedDataParallel on CPU, for torch.distributed.launch: that appends --local-rank=N (--local_rank before PyTorch 2).

Stops with an AssertionError where the ranks do not form one world.
"""

import argparse
import hashlib
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

STEPS, BATCH = 4, 8  # of an epoch


def gather(value):
    """The value of every rank, in rank order."""
    values = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return values


def digest(tensors):
    return hashlib.sha256(b"".join(tensor.detach().numpy().tobytes() for tensor in tensors)).hexdigest()


def check_world(rank, world, expected):
    assert world == expected, f"{world} ranks instead of {expected}"
    total = torch.tensor([rank])
    dist.all_reduce(total)
    assert total.item() == world * (world - 1) // 2, f"the ranks sum up to {total.item()}"
    if rank == 0:
        print(f"world of {world} ranks, sum of ranks {total.item()}", flush=True)


def train(rank, world, epochs):
    torch.manual_seed(rank)  # other weights and other data on each rank: DistributedDataParallel levels the weights
    model = DistributedDataParallel(nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    images, labels = torch.randn(STEPS, BATCH, 16), torch.randint(4, (STEPS, BATCH))
    assert len(set(gather(digest([images])))) == world, "two ranks train on the same data"
    for step in [*range(STEPS)] * epochs:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images[step]), labels[step]).backward()
        optimizer.step()
    hashes = gather(digest(model.parameters()))
    assert len(set(hashes)) == 1, f"the ranks ended with different weights: {hashes}"
    if rank == 0:
        print(f"equal weights on all {world} ranks, sha256 {hashes[0][:12]}", flush=True)


def leave():
    """Ends without cleaning up: with PyTorch 2.15 threads of gloo outlive destroy_process_group(), and one of them now and then aborts
    the process while Python ends ("terminate called without an active exception")."""
    sys.stdout.flush()
    os._exit(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--world", type=int, default=2, help="number of ranks that have to take part")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--local-rank", "--local_rank", type=int, default=-1, help="set by torch.distributed.launch")
    options = parser.parse_args()
    assert options.local_rank == int(os.environ["LOCAL_RANK"]), f"--local-rank={options.local_rank}"

    dist.init_process_group("gloo")
    check_world(dist.get_rank(), dist.get_world_size(), options.world)
    train(dist.get_rank(), dist.get_world_size(), options.epochs)
    dist.barrier()
    dist.destroy_process_group()
    leave()


if __name__ == "__main__":
    main()
