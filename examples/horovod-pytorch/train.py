"""Two steps of PyTorch with Horovod on CPU, with its MPI controller."""

import argparse
import hashlib

import horovod.torch as hvd
import torch
from torch import nn

STEPS, BATCH = 2, 8


def digest(tensors):
    return hashlib.sha256(b"".join(tensor.detach().numpy().tobytes() for tensor in tensors)).hexdigest()


def check_world(rank, world, expected):
    assert world == expected, f"{world} ranks instead of {expected}"
    total = hvd.allreduce(torch.tensor(rank), op=hvd.Sum).item()
    assert total == world * (world - 1) // 2, f"the ranks sum up to {total}"
    if rank == 0:
        print(f"world of {world} ranks, sum of ranks {total}", flush=True)


def train(rank, world):
    torch.manual_seed(rank)  # other weights and other data on each rank
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    images, labels = torch.randn(STEPS, BATCH, 16), torch.randint(4, (STEPS, BATCH))
    assert len(set(hvd.allgather_object(digest([images])))) == world, "two ranks train on the same data"
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), named_parameters=model.named_parameters())
    for step in range(STEPS):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images[step]), labels[step]).backward()
        optimizer.step()
    hashes = hvd.allgather_object(digest(model.parameters()))
    assert len(set(hashes)) == 1, f"the ranks ended with different weights: {hashes}"
    if rank == 0:
        print(f"equal weights on all {world} ranks, sha256 {hashes[0][:12]}", flush=True)


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
