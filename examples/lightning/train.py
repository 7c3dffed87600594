"""Two epochs with the Trainer of PyTorch Lightning, strategy ddp, on CPU.

Lightning detects which launcher has started the processes (TORCHELASTIC_RUN_ID, or MPI through mpi4py). If it finds none, it
starts the other processes of its node itself.
"""

import argparse
import hashlib
import logging
import os
import sys
import warnings

import lightning
import torch
from lightning.pytorch.plugins.environments import LightningEnvironment
from torch import nn

warnings.filterwarnings("ignore")  # warnings about Lightning's own code: less noise
logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
EPOCHS, BATCH = 2, 4


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
        self.seen = []

    def training_step(self, batch):
        numbers, images, labels = batch
        if self.current_epoch == 0:
            self.seen += numbers.tolist()
        return nn.functional.cross_entropy(self.layers(images), labels)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def gather(value):
    values = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(values, value)
    return values


class OneWorld(lightning.Callback):
    """Stops the training if the ranks do not form the requested world."""

    def __init__(self, expected, size):
        self.expected, self.size = expected, size

    def on_train_start(self, trainer, model):
        world, rank = torch.distributed.get_world_size(), torch.distributed.get_rank()
        assert world == trainer.world_size == self.expected, f"{world} ranks instead of {self.expected}"
        total = torch.tensor([rank])
        torch.distributed.all_reduce(total)
        assert total.item() == world * (world - 1) // 2, f"the ranks sum up to {total.item()}"
        if rank == 0:
            environment = type(trainer.strategy.cluster_environment).__name__
            print(f"world of {world} ranks, sum of ranks {total.item()}, by {environment}", flush=True)

    def on_train_end(self, trainer, model):
        digest = hashlib.sha256(b"".join(value.detach().numpy().tobytes() for value in model.parameters())).hexdigest()
        hashes, shards = gather(digest), gather(model.seen)
        assert len(set(hashes)) == 1, f"the ranks ended with different weights: {hashes}"
        together = [number for shard in shards for number in shard]
        assert sorted(together) == list(range(self.size)), "the shards of an epoch are not disjoint and complete"
        assert trainer.current_epoch == EPOCHS, f"{trainer.current_epoch} epochs"
        if torch.distributed.get_rank() == 0:
            print(f"equal weights on all {len(hashes)} ranks, sha256 {hashes[0][:12]}, {EPOCHS} epochs", flush=True)


def leave():
    """Ends without cleaning up: with PyTorch 2.15 threads of gloo outlive destroy_process_group(), and one of them now and then aborts
    the process while Python ends ("terminate called without an active exception")."""
    if "mpi4py.MPI" in sys.modules:
        sys.modules["mpi4py.MPI"].Finalize()
    sys.stdout.flush()
    os._exit(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", type=int, default=2, help="ranks on each node")
    parser.add_argument("--num-nodes", type=int, default=1)
    parser.add_argument("--spawn", action="store_true", help="start the other ranks of this node, whatever MPI says")
    options = parser.parse_args()

    world = options.devices * options.num_nodes
    lightning.seed_everything(0, verbose=False)
    size = 8 * BATCH * world
    data = torch.utils.data.TensorDataset(torch.arange(size), torch.randn(size, 8), torch.randint(2, (size,)))
    plugins = [LightningEnvironment()] if options.spawn else []
    trainer = lightning.Trainer(
        accelerator="cpu", devices=options.devices, num_nodes=options.num_nodes, strategy="ddp", max_epochs=EPOCHS, plugins=plugins,
        logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        callbacks=[OneWorld(world, size)])
    trainer.fit(Model(), torch.utils.data.DataLoader(data, batch_size=BATCH, shuffle=True))
    leave()


if __name__ == "__main__":
    main()
