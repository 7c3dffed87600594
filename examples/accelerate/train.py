"""Two epochs with Hugging Face Accelerate on CPU. The launcher sets RANK, WORLD_SIZE and the like; `accelerate launch` is not needed."""

import argparse
import hashlib
import os
import sys

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from torch import nn

EPOCHS, BATCH = 2, 4


def check_world(accelerator, expected):
    world, rank = accelerator.num_processes, accelerator.process_index
    assert world == expected, f"{world} ranks instead of {expected}"
    total = accelerator.reduce(torch.tensor(rank), reduction="sum").item()
    assert total == world * (world - 1) // 2, f"the ranks sum up to {total}"
    if accelerator.is_main_process:
        print(f"world of {world} ranks, sum of ranks {total}", flush=True)


def train(accelerator):
    torch.manual_seed(accelerator.process_index)  # other weights on each rank: prepare() levels them
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    size = 8 * BATCH * accelerator.num_processes
    generator = torch.Generator().manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.arange(size), torch.randn(size, 8, generator=generator),
                                          torch.randint(2, (size,), generator=generator))
    model, optimizer, loader = accelerator.prepare(
        model, torch.optim.SGD(model.parameters(), lr=0.1), torch.utils.data.DataLoader(data, batch_size=BATCH, shuffle=True))
    seen = set()
    for _ in range(EPOCHS):
        first = set()
        for numbers, images, labels in loader:
            first |= set(numbers.tolist())
            optimizer.zero_grad()
            accelerator.backward(nn.functional.cross_entropy(model(images), labels))
            optimizer.step()
        shards = gather_object([sorted(first)])
        assert sum(len(shard) for shard in shards) == len(set().union(*shards)) == size, "the shards are not disjoint and complete"
        seen |= first
    hashes = gather_object([hashlib.sha256(b"".join(value.detach().numpy().tobytes() for value in model.parameters())).hexdigest()])
    assert len(set(hashes)) == 1, f"the ranks ended with different weights: {hashes}"
    if accelerator.is_main_process:
        print(f"equal weights on all {len(hashes)} ranks, sha256 {hashes[0][:12]}, {EPOCHS} epochs", flush=True)


def leave():
    """Ends without cleaning up: with PyTorch 2.15 threads of gloo outlive destroy_process_group(), and one of them now and then aborts
    the process while Python ends ("terminate called without an active exception")."""
    sys.stdout.flush()
    os._exit(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--world", type=int, default=2, help="number of ranks that have to take part")
    parser.add_argument("--local_rank", type=int, default=int(os.environ.get("LOCAL_RANK", -1)))
    options = parser.parse_args()
    accelerator = Accelerator(cpu=True)
    assert accelerator.local_process_index == options.local_rank, f"local rank {accelerator.local_process_index}"
    check_world(accelerator, options.world)
    train(accelerator)
    accelerator.wait_for_everyone()
    accelerator.end_training()  # leaves the process group, too
    leave()


if __name__ == "__main__":
    main()
