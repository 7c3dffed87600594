"""A training whose learning rate is too high: its loss grows until it is no number any more, and then it gives up."""

import math
import os

import torch
import torch.distributed as dist

torch.set_num_threads(1)
dist.init_process_group("gloo")
torch.manual_seed(int(os.environ["RANK"]))
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1000)
for step in range(1000):
    loss = model(torch.randn(32, 8)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()
    if int(os.environ["RANK"]) == 0:
        print(f"step {step} loss {loss.item():.4g}", flush=True)
    if math.isnan(loss.item()):
        raise ArithmeticError(f"gave up in step {step}")
