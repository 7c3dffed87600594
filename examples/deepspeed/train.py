"""Two steps with DeepSpeed's ZeRO stage 1 on CPU: the optimizer's state is partitioned over the ranks.

deepspeed.init_distributed() reads RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, or else asks mpi4py.
"""

import argparse
import hashlib
import os
import sys

import deepspeed
import torch

deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # else each rank spends a minute compiling a CPU kernel
STEPS, BATCH = 2, 4


def make_network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))


def gather(value):
    values = [None] * deepspeed.comm.get_world_size()
    torch.distributed.all_gather_object(values, value)
    return values


def digest(tensors):
    return hashlib.sha256(b"".join(tensor.detach().numpy().tobytes() for tensor in tensors)).hexdigest()


def check_world(expected, how):
    rank, world = deepspeed.comm.get_rank(), deepspeed.comm.get_world_size()
    assert world == expected, f"{world} ranks instead of {expected}"
    total = torch.tensor([rank])
    deepspeed.comm.all_reduce(total)
    assert total.item() == world * (world - 1) // 2, f"the ranks sum up to {total.item()}"
    if rank == 0:
        print(f"world of {world} ranks, sum of ranks {total.item()}, {how}", flush=True)
    return rank, world


def train(rank, world):
    model = make_network()
    config = {"train_micro_batch_size_per_gpu": BATCH, "zero_optimization": {"stage": 1}, "zero_allow_untested_optimizer": True}
    engine, *_ = deepspeed.initialize(model=model, optimizer=torch.optim.AdamW(model.parameters(), lr=0.01), config=config)
    before = digest(engine.module.parameters())
    torch.manual_seed(1 + rank)  # other data on each rank
    data = torch.randn(STEPS, BATCH, 8)
    assert len(set(gather(digest([data])))) == world, "two ranks train on the same data"
    for batch in data:
        engine.backward((engine(batch) - batch.sum(dim=1, keepdim=True)).pow(2).mean())
        engine.step()
    hashes = gather(digest(engine.module.parameters()))
    assert hashes[0] != before, "nothing was learnt"
    assert len(set(hashes)) == 1, f"the ranks ended with different weights: {hashes}"
    if rank == 0:
        print(f"equal weights on all {world} ranks, sha256 {hashes[0][:12]}", flush=True)


def leave():
    """Ends without cleaning up: with PyTorch 2.15 threads of gloo outlive destroy_process_group(), and one of them now and then aborts
    the process while Python ends ("terminate called without an active exception")."""
    if "mpi4py.MPI" in sys.modules:
        sys.modules["mpi4py.MPI"].Finalize()
    sys.stdout.flush()
    os._exit(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--world", type=int, default=2, help="number of ranks that have to take part")
    parser.add_argument("--local_rank", type=int, default=-1, help="set by DeepSpeed's launcher")
    options = parser.parse_args()
    how = "told by variables" if "RANK" in os.environ else "discovered by MPI"
    deepspeed.init_distributed(dist_backend="gloo", verbose=False)
    train(*check_world(options.world, how))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
    leave()


if __name__ == "__main__":
    main()
