"""Data-parallel training on images of the local disk, which goes on from the newest checkpoint of any node.

Every node keeps a copy of each checkpoint on its own disk. Nodes come and go: whichever rank finds the newest one gives
it to the others.
"""

import argparse
import glob
import os
import time

import numpy
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def load_images(folder):
    """Images and digits in a fixed random order."""
    files = sorted(glob.glob(f"{folder}/[0-9]/*.pgm"))
    pixels = [numpy.fromfile(file, dtype=numpy.uint8)[-64:] for file in files]
    digits = [int(os.path.basename(os.path.dirname(file))) for file in files]
    order = numpy.random.RandomState(0).permutation(len(files))
    images = torch.tensor(numpy.array(pixels)[order] / 16.0, dtype=torch.float32).reshape(-1, 1, 8, 8)
    return images, torch.tensor(numpy.array(digits)[order])


def make_network():
    return nn.Sequential(
        nn.Conv2d(1, 16, kernel_size=3, padding=1), nn.ReLU(),
        nn.Conv2d(16, 32, kernel_size=3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(32 * 4 * 4, 64), nn.ReLU(), nn.Linear(64, 10))


def checkpoint_file(folder, epoch):
    return f"{folder}/epoch-{epoch:03d}.pt"


def save(folder, epoch, model, optimizer):
    """A reader never sees half of one."""
    os.makedirs(folder, exist_ok=True)
    file = checkpoint_file(folder, epoch)
    torch.save({"epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, f"{file}.new")
    os.replace(f"{file}.new", file)


def newest_epoch(folder):
    return max((int(os.path.basename(file)[6:-3]) for file in glob.glob(f"{folder}/epoch-*.pt")), default=0)


def resume(folder, model, optimizer):
    """The epoch to go on after; 0 at the very beginning."""
    found = [None] * dist.get_world_size()
    dist.all_gather_object(found, newest_epoch(folder))
    epoch = max(found)
    if epoch == 0:
        return 0
    source = found.index(epoch)
    state = [torch.load(checkpoint_file(folder, epoch)) if dist.get_rank() == source else None]
    dist.broadcast_object_list(state, src=source)
    model.load_state_dict(state[0]["model"])
    optimizer.load_state_dict(state[0]["optimizer"])
    if dist.get_rank() == 0:
        print(f"goes on after epoch {epoch}, with the checkpoint of rank {source}", flush=True)
    return epoch


def accuracy(model, images, digits):
    with torch.no_grad():
        return (model(images).argmax(dim=1) == digits).float().mean().item()


def train(options):
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    images, digits = load_images(options.data)
    test = len(images) // 6
    mine = torch.arange(test + rank, len(images), world)
    model = make_network()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    begin = resume(options.checkpoints, model, optimizer)
    parallel = DistributedDataParallel(model)
    for epoch in range(begin + 1, options.epochs + 1):
        order = mine[torch.randperm(len(mine), generator=torch.Generator().manual_seed(epoch))]
        for batch in order.split(32):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(parallel(images[batch]), digits[batch])
            loss.backward()
            optimizer.step()
        if os.environ["LOCAL_RANK"] == "0":
            save(options.checkpoints, epoch, model, optimizer)
        if rank == 0:
            print(f"epoch {epoch:2d}  loss {loss.item():.4f}", flush=True)
        time.sleep(options.pause)
    score = accuracy(model, images[:test], digits[:test])
    if rank == 0:
        print(f"test accuracy {score:.3f}", flush=True)
    dist.barrier()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="folder with a folder of images for each digit")
    parser.add_argument("--checkpoints", required=True, help="folder on the local disk")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--pause", type=float, default=0, help="seconds between two epochs, to have time to interrupt it")
    options = parser.parse_args()
    dist.init_process_group("gloo")
    train(options)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
