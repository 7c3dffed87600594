"""PyTorch's fully sharded data parallel (FSDP2) on CPU: each rank holds a part of every parameter.

After two steps the gathered weights are compared with those of the same training in one process on all
ranks' data: they can only be equal where the ranks form one world and have summed their gradients.
"""

import argparse
import hashlib
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

STEPS, BATCH = 2, 8


def make_network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 4))


def samples(rank, step):
    """Samples that differ by rank and step."""
    generator = torch.Generator().manual_seed(1000 * step + rank)
    return torch.randn(BATCH, 16, generator=generator), torch.randint(4, (BATCH,), generator=generator)


def check_world(rank, world, expected):
    assert world == expected, f"{world} ranks instead of {expected}"
    total = torch.tensor([rank])
    dist.all_reduce(total)
    assert total.item() == world * (world - 1) // 2, f"the ranks sum up to {total.item()}"
    if rank == 0:
        print(f"world of {world} ranks, sum of ranks {total.item()}", flush=True)


def train(model, batches):
    """`batches(step)`: the samples of one step."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(STEPS):
        images, labels = batches(step)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()


def in_one_process(world):
    """The weights that training on the data of all ranks gives."""
    model = make_network()
    train(model, lambda step: [torch.cat(parts) for parts in zip(*(samples(rank, step) for rank in range(world)))])
    return [value.detach() for value in model.parameters()]


def leave():
    """Ends without cleaning up: with PyTorch 2.15 threads of gloo outlive destroy_process_group(), and one of them now and then aborts
    the process while Python ends ("terminate called without an active exception")."""
    sys.stdout.flush()
    os._exit(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--world", type=int, default=2, help="number of ranks that have to take part")
    options = parser.parse_args()

    dist.init_process_group("gloo")  # reads RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT
    rank, world = dist.get_rank(), dist.get_world_size()
    check_world(rank, world, options.world)

    model = make_network()
    mesh = init_device_mesh("cpu", (world,))
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    own = sum(value.to_local().numel() for value in model.parameters())
    train(model, lambda step: samples(rank, step))

    whole = [value.full_tensor().detach() for value in model.parameters()]
    assert own < sum(value.numel() for value in whole) or world == 1, "this rank holds all parameters: nothing was sharded"
    for value, expected in zip(whole, in_one_process(world)):
        torch.testing.assert_close(value, expected)
    hashes = [None] * world
    dist.all_gather_object(hashes, hashlib.sha256(b"".join(value.numpy().tobytes() for value in whole)).hexdigest())
    assert len(set(hashes)) == 1, f"the ranks ended with different weights: {hashes}"
    if rank == 0:
        print(f"equal weights on all {world} ranks, sha256 {hashes[0][:12]}, as in one process on all data", flush=True)
    dist.barrier()
    dist.destroy_process_group()
    leave()


if __name__ == "__main__":
    main()
