"""Data-parallel training over NCCL, one GPU per rank: the ranks assert the invariants, and rank 0 prints them."""

import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

# With more ranks than GPUs, --rank-that-sleeps shares a GPU: NCCL notices that only once all ranks have come.
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
torch.cuda.set_device(device)
sleeper = sys.argv[2] if len(sys.argv) == 3 else None
dist.init_process_group("nccl")  # reads RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT
if sleeper == os.environ["RANK"]:
    time.sleep(600)  # the others wait in their first collective
ranks = torch.tensor([float(dist.get_rank())], device=device)
dist.all_reduce(ranks)
assert ranks.item() == sum(range(dist.get_world_size())), f"the sum of the ranks is {ranks.item()}"

torch.manual_seed(dist.get_rank())
inputs = torch.randn(256, 16, device=device)
wanted = inputs.sum(dim=1, keepdim=True)
model = DistributedDataParallel(torch.nn.Linear(16, 1).to(device), device_ids=[device.index])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for _ in range(50):
    loss = torch.nn.functional.mse_loss(model(inputs), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0] / 10, f"the loss did not fall: {losses[0]} to {losses[-1]}"

weights = torch.cat([one.detach().flatten() for one in model.parameters()])
others = [torch.empty_like(weights) for _ in range(dist.get_world_size())]
dist.all_gather(others, weights)
assert all(torch.equal(weights, other) for other in others), "the weights are not equal"
if dist.get_rank() == 0:
    print(f"{dist.get_world_size()} ranks over {dist.get_backend()}, the loss fell from {losses[0]:.3f} to {losses[-1]:.6f}")
sys.stdout.flush()
dist.destroy_process_group()
