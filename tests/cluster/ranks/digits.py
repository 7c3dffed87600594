"""Data-parallel training on scikit-learn's handwritten digits that survives what the tests do to it: it writes checkpoints, resumes from
the last one, and ends with the weights of an undisturbed training of as many steps, to the last bit.

  digits.py FOLDER [STEPS]     FOLDER is shared by all ranks: ckpt/step-*, and wishes of the test as files.
                               Without STEPS it trains until there is a file `finish`.

Gradients are averaged by one all-reduce of a flat tensor. DistributedDataParallel sorts its buckets anew after the first step of a
process, which changes the order of sums, so that a resumed training differs in the last bits.
"""

import hashlib
import importlib.util
import itertools
import os
import signal
import sys
import threading
import time

has_begun = threading.Event()


def tell_waiting():
    """On a busy machine imports, some of them in the first step, may take longer than `timeouts.hang`."""
    while not has_begun.wait(1):
        print("beginning", flush=True)


threading.Thread(target=tell_waiting, daemon=True).start()
import numpy  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch import nn  # noqa: E402

SHORTEST_STEP = 0.05  # seconds, until it is to finish
BATCH = 32  # samples of a rank in a step
CHECKPOINT_EVERY = 20  # steps
ENOUGH = 400  # steps after which the network has learned the digits
WARM = 32  # steps after which a process tells that it trains: there is a new checkpoint then, and steps since


def load_digits():
    """As sklearn.datasets.load_digits(), in a fixed random order, but without the second that sklearn's import takes."""
    package, = importlib.util.find_spec("sklearn").submodule_search_locations
    rows = numpy.loadtxt(os.path.join(package, "datasets", "data", "digits.csv.gz"), delimiter=",", dtype=numpy.float32)
    rows = rows[numpy.random.RandomState(0).permutation(len(rows))]
    return torch.tensor(rows[:, :-1] / 16), torch.tensor(rows[:, -1], dtype=torch.int64)


class Training:
    def __init__(self, folder):
        self.folder = folder
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        images, labels = load_digits()
        self.images, self.labels, self.test_images, self.test_labels = images[:1500], labels[:1500], images[1500:], labels[1500:]
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=4e-3)
        self.step = 0

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def resume(self):
        """From the checkpoint that rank 0 sees: all ranks from the same one."""
        steps = [int(name.partition("-")[2]) for name in os.listdir(self.path("ckpt")) if name.startswith("step-")]
        latest = torch.tensor([max(steps, default=0)])
        dist.broadcast(latest, 0)
        self.step = int(latest)
        if self.step:
            saved = torch.load(self.path("ckpt", f"step-{self.step}"))
            self.model.load_state_dict(saved["model"])
            self.optimizer.load_state_dict(saved["optimizer"])

    def save(self):
        if self.rank == 0 and not os.path.exists(self.path("ckpt", f"step-{self.step}")):
            new = self.path("ckpt", "new")
            torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}, new)
            os.rename(new, self.path("ckpt", f"step-{self.step}"))

    def train_step(self, wishes):
        """One step of all ranks; the sums of their wishes, so that all of them agree."""
        self.step += 1
        chosen = torch.randperm(len(self.labels), generator=torch.Generator().manual_seed(self.step))
        mine = chosen[self.rank * BATCH:(self.rank + 1) * BATCH]
        self.optimizer.zero_grad()
        nn.functional.cross_entropy(self.model(self.images[mine]), self.labels[mine]).backward()
        parameters = list(self.model.parameters())
        flat = torch.cat([*(parameter.grad.reshape(-1) for parameter in parameters), torch.tensor([float(wish) for wish in wishes])])
        dist.all_reduce(flat)
        *gradients, sums = flat.split([*(parameter.numel() for parameter in parameters), len(wishes)])
        for parameter, gradient in zip(parameters, gradients):
            parameter.grad.copy_((gradient / self.world).reshape(parameter.shape))
        self.optimizer.step()
        return [wish > 0 for wish in sums.tolist()]

    def accuracy(self):
        with torch.no_grad():
            return (self.model(self.test_images).argmax(dim=1) == self.test_labels).float().mean().item()

    def weight_hash(self):
        return hashlib.sha256(b"".join(value.numpy().tobytes() for value in self.model.state_dict().values())).hexdigest()


def tell(line):
    if "EVENTS" in os.environ:
        with open(os.environ["EVENTS"], "w", encoding="ascii") as events:
            events.write(f"{line}\n")


def main():
    folder, steps = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None
    told_to_stop = []
    signal.signal(signal.SIGTERM, lambda number, frame: told_to_stop.append(number))
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    others = dist.new_group()
    training = Training(folder)
    training.resume()
    for done in itertools.count(1):
        began = time.monotonic()
        if training.rank == 1 and os.path.exists(training.path("deadlock")):
            os.unlink(training.path("deadlock"))
            dist.barrier(others)  # while the others are in the all-reduce of a step
        stop, finish = training.train_step([bool(told_to_stop), os.path.exists(training.path("finish"))])
        has_begun.set()
        if training.rank == 0:
            print(f"step={training.step}", flush=True)
        if stop or training.step % CHECKPOINT_EVERY == 0:
            training.save()
        if stop:
            os._exit(0)
        if training.step == steps or (finish and not steps and training.step >= ENOUGH):
            break
        if done == WARM:
            tell(f"trains {os.environ['DLAUNCH_ATTEMPT']} {training.rank}")
        if not steps and not finish:
            time.sleep(max(0.0, SHORTEST_STEP - (time.monotonic() - began)))
    hashes = [None] * training.world
    dist.all_gather_object(hashes, training.weight_hash())
    if training.rank == 0:
        print(f"equal weights on {training.world} ranks: {len(set(hashes)) == 1}; {training.step} steps, "
              f"accuracy {training.accuracy():.3f}, sha256 {hashes[0]}", flush=True)
    dist.barrier()
    os._exit(0)  # torch 2.15: a thread of gloo may abort while Python ends


if __name__ == "__main__":
    main()
