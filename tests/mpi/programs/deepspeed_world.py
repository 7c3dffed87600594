"""A DeepSpeed program: the ranks find each other (by MPI if they have no other information), add up their numbers, and take one step with ZeRO-1.
Arguments: the size that the world must have, and the number of ranks on each node."""

import os
import sys

# Set before the import, in which DeepSpeed looks for an accelerator, and for a compiler to build kernels for it.
os.environ.setdefault("DS_ACCELERATOR", "cpu")
import deepspeed
import torch

WORLD, LOCAL = int(sys.argv[1]), [int(n) for n in sys.argv[2].split(",")]


def begin():
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # else each rank compiles for a minute
    known = "RANK" in os.environ
    # The port of the discovery: two tests may run on one machine.
    deepspeed.init_distributed(dist_backend="gloo", distributed_port=int(os.environ.get("PORT", "29500")), verbose=False)
    rank = deepspeed.comm.get_rank()
    assert deepspeed.comm.get_world_size() == WORLD, deepspeed.comm.get_world_size()
    local = int(os.environ["LOCAL_RANK"])
    node = next(i for i in range(len(LOCAL)) if rank < sum(LOCAL[:i + 1]))
    assert local == rank - sum(LOCAL[:node]), (rank, local)
    numbers = torch.tensor([rank])
    deepspeed.comm.all_reduce(numbers)
    assert numbers.item() == WORLD * (WORLD - 1) // 2, numbers
    return rank, known


def one_step(rank):
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    config = {"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 1}, "zero_allow_untested_optimizer": True}
    engine, *_ = deepspeed.initialize(model=model, optimizer=torch.optim.AdamW(model.parameters(), lr=0.1), config=config)
    before = torch.cat([p.detach().flatten().clone() for p in engine.module.parameters()])
    torch.manual_seed(100 + rank)  # every rank has data of its own
    loss = engine(torch.randn(4, 8)).pow(2).mean()
    engine.backward(loss)
    engine.step()
    after = torch.cat([p.detach().flatten() for p in engine.module.parameters()])
    assert not torch.equal(before, after), "nothing was learnt"
    least, most = after.clone(), after.clone()
    deepspeed.comm.all_reduce(least, op=deepspeed.comm.ReduceOp.MIN)
    deepspeed.comm.all_reduce(most, op=deepspeed.comm.ReduceOp.MAX)
    assert torch.equal(least, most), "the ranks have different weights"


rank, known = begin()
if "step" in sys.argv[3:]:
    one_step(rank)
sys.stdout.write(f"world of {WORLD}, {'told' if known else 'discovered'}\n")
sys.stdout.flush()
torch.distributed.destroy_process_group()
# PyTorch 2.15 with DeepSpeed 0.19 sometimes aborts when the interpreter ends ("terminate called without an active exception"), even without a
# launcher. By now, everything is tested, so end here, after what mpi4py does at exit.
if "mpi4py.MPI" in sys.modules:
    sys.modules["mpi4py.MPI"].Finalize()
os._exit(0)
