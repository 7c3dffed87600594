"""Two steps of DistributedDataParallel on CPU, as an MPI job: the place of a rank is in the variables of Open MPI.

Stops with an AssertionError where the ranks do not form one world.
"""

import argparse
import hashlib
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

STEPS, BATCH = 2, 8


def place_by_mpi():
    """Sets the variables of PyTorch's env:// as jobs for Azure ML's MpiConfiguration do; needs no MPI library."""
    several = "AZ_BATCH_MASTER_NODE" in os.environ  # host:port, on several nodes only
    address, port = (os.environ["AZ_BATCH_MASTER_NODE"].split(":") if several else (os.environ["AZ_BATCHAI_MPI_MASTER_NODE"], "54965"))
    os.environ.update(RANK=os.environ["OMPI_COMM_WORLD_RANK"], WORLD_SIZE=os.environ["OMPI_COMM_WORLD_SIZE"],
                      LOCAL_RANK=os.environ["OMPI_COMM_WORLD_LOCAL_RANK"], MASTER_ADDR=address, MASTER_PORT=port)


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


def train(rank, world):
    torch.manual_seed(rank)  # other weights and other data on each rank: DistributedDataParallel levels the weights
    model = DistributedDataParallel(nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    images, labels = torch.randn(STEPS, BATCH, 16), torch.randint(4, (STEPS, BATCH))
    assert len(set(gather(digest([images])))) == world, "two ranks train on the same data"
    for step in range(STEPS):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images[step]), labels[step]).backward()
        optimizer.step()
    hashes = gather(digest(model.parameters()))
    assert len(set(hashes)) == 1, f"the ranks ended with different weights: {hashes}"
    if rank == 0:
        print(f"equal weights on all {world} ranks, sha256 {hashes[0][:12]}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--world", type=int, default=4, help="number of ranks that have to take part")
    options = parser.parse_args()

    place_by_mpi()
    dist.init_process_group("gloo")
    check_world(dist.get_rank(), dist.get_world_size(), options.world)
    train(dist.get_rank(), dist.get_world_size())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
