"""A training with a data loader: on SIGTERM it still fetches one batch from its loader process, writes
it to the file named by the first argument as a checkpoint, and exits with 0."""

import os
import signal
import sys


def start_loader():
    """A child that answers every byte with "batch", until it is killed."""
    from_parent, to_loader = os.pipe()
    from_loader, to_parent = os.pipe()
    if os.fork() == 0:
        while os.read(from_parent, 1):
            os.write(to_parent, b"batch")
        os._exit(0)
    os.close(from_parent)
    os.close(to_parent)
    return from_loader, to_loader


def main():
    from_loader, to_loader = start_loader()
    woken, wake = os.pipe()

    def on_term(number, frame):
        del number, frame
        os.write(wake, b"!")

    signal.signal(signal.SIGTERM, on_term)
    with open(os.environ["EVENTS"], "w", encoding="utf-8") as events:
        events.write(f"training {os.environ['RANK']}\n")
    os.read(woken, 1)
    os.write(to_loader, b"?")
    batch = os.read(from_loader, 100)
    with open(sys.argv[1], "wb") as checkpoint:
        checkpoint.write(batch)


main()
