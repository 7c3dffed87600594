"""One all_reduce over all ranks, which meet through PyTorch's env://. Prints the sum and LOCAL_RANK."""

import os
import sys

import torch
import torch.distributed as dist

dist.init_process_group("gloo", init_method="env://")
world = dist.get_world_size()
assert world == int(sys.argv[1]), f"a world of {world} instead of {sys.argv[1]}"
total = torch.tensor([dist.get_rank()])
dist.all_reduce(total)
assert total.item() == world * (world - 1) // 2, total
print(f"rank {dist.get_rank()} of {world}: sum {total.item()}, LOCAL_RANK {os.environ['LOCAL_RANK']}", flush=True)
dist.destroy_process_group()
