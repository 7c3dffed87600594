"""Text classification with the Trainer of Hugging Face Transformers, with the arguments of its run_glue.py.

The model is a tiny BERT with random weights, the texts are made up here: nothing is downloaded.
"""

import hashlib
import os
import sys
from dataclasses import dataclass, field

import torch
from transformers import BertConfig, BertForSequenceClassification, HfArgumentParser, Trainer, TrainingArguments

TEXTS = 64


@dataclass
class DataArguments:
    task_name: str = field(default="mnli")
    max_seq_length: int = field(default=16)
    world: int = field(default=2, metadata={"help": "number of ranks that have to take part"})


def made_up_texts(length):
    """Tokens, and whether there are more of one kind than of the other."""
    generator = torch.Generator().manual_seed(0)
    for _ in range(TEXTS):
        tokens = torch.randint(2, 32, (length,), generator=generator)
        yield {"input_ids": tokens, "attention_mask": torch.ones_like(tokens), "labels": int((tokens < 16).sum() > length // 2)}


def gather(value):
    values = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(values, value)
    return values


class CheckedTrainer(Trainer):
    """Records what each rank has trained on."""

    def training_step(self, model, inputs, *others):
        self.seen = getattr(self, "seen", "") + hashlib.sha256(inputs["input_ids"].numpy().tobytes()).hexdigest()
        return super().training_step(model, inputs, *others)


def check_world(rank, world, expected):
    assert world == expected, f"{world} ranks instead of {expected}"
    total = torch.tensor([rank])
    torch.distributed.all_reduce(total)
    assert total.item() == world * (world - 1) // 2, f"the ranks sum up to {total.item()}"
    if rank == 0:
        print(f"world of {world} ranks, sum of ranks {total.item()}", flush=True)


def leave():
    """Ends without cleaning up: with PyTorch 2.15 threads of gloo outlive destroy_process_group(), and one of them now and then aborts
    the process while Python ends ("terminate called without an active exception")."""
    sys.stdout.flush()
    os._exit(0)


def main():
    data, training = HfArgumentParser((DataArguments, TrainingArguments)).parse_args_into_dataclasses()
    rank, world = training.process_index, training.world_size
    check_world(rank, world, data.world)
    torch.manual_seed(rank)  # other weights on each rank: the Trainer levels them
    model = BertForSequenceClassification(BertConfig(
        vocab_size=32, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, max_position_embeddings=64))
    trainer = CheckedTrainer(model=model, args=training, train_dataset=list(made_up_texts(data.max_seq_length)))
    if training.do_train:
        trainer.train()
    assert len(set(gather(trainer.seen))) == world, "two ranks trained on the same texts"
    digest = hashlib.sha256(b"".join(value.detach().numpy().tobytes() for value in model.parameters())).hexdigest()
    hashes = gather(digest)
    assert len(set(hashes)) == 1, f"the ranks ended with different weights: {hashes}"
    if rank == 0:
        print(f"equal weights on all {world} ranks, sha256 {digest[:12]}, {trainer.state.global_step} steps", flush=True)
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
    leave()


if __name__ == "__main__":
    main()
