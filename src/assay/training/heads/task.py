"""Heads as a task of ``fit``: examples, batches of them, and how well those that are held out are told apart."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeAlias

import torch

from assay.core.errors import InputError
from assay.core.stats import auc
from assay.models.heads import binary, bradley_terry, shares_right

from ..batch import TrainBatch, TrainSequence
from ..fit.held import split
from ..objective import Objective
from ..source import open_source_model
from ..trainer import MakePolicy, Trainer
from .config import HeadConfig
from .examples import LabelledExample, PairExample, Taken, TextEncoder, last_tokens, pair_sequences, text_sequence
from .judgments import take_judgments
from .objective import BinaryObjective, PairObjective
from .padding import choose_padding
from .preferences import take_preferences

Example: TypeAlias = "PairExample | LabelledExample"


class HeadTask:
    """See the module. ``left_out`` says why some of the data is no example."""

    def __init__(
        self, train: Sequence[Example], held: Sequence[Example], *, center: float = 0.0, left_out: Mapping[str, int]
    ) -> None:
        if not train:
            raise InputError(f"there is nothing to train on: all {len(held)} examples are held out")
        self._train, self._held, self._center = train, held, center
        self.left_out = dict(left_out)

    @property
    def size(self) -> int:
        return len(self._train)

    @property
    def told(self) -> str:
        """What there is, in a few words."""
        what = "pairs" if isinstance(self._train[0], PairExample) else "examples"
        tokens = sum(len(text) for example in self._train for text in example.texts)
        return f"{self.size:,} {what}, {tokens:,} tokens; {len(self._held):,} {what} held out"

    @property
    def identity(self) -> str:
        found = hashlib.blake2b(digest_size=16)
        for example in self._train:
            for text in example.texts:
                found.update(text.tobytes())
            found.update(repr(example.margin if isinstance(example, PairExample) else example.label).encode())
        return found.hexdigest()

    def batch(self, picked: Sequence[int]) -> tuple[TrainBatch, Objective]:
        examples = [self._train[place] for place in picked]
        sequences = [s for group, example in enumerate(examples) for s in _sequences(example, group)]
        batch = TrainBatch(sequences=tuple(sequences))
        margins = tuple(one.margin for one in examples if isinstance(one, PairExample))
        if margins:
            return batch, PairObjective(margins=margins, center=self._center)
        return batch, BinaryObjective(labels=tuple(o.label for o in examples if isinstance(o, LabelledExample)))

    def evaluate(self, trainer: Trainer) -> Mapping[str, float]:
        """``loss``, ``accuracy`` (of the order of a pair, or of the sign), and for labels ``auc``."""
        if not self._held:
            return {}
        logits = logits_of(trainer, [text for example in self._held for text in example.texts])
        pairs = [example for example in self._held if isinstance(example, PairExample)]
        if pairs:
            return _on_pairs(pairs, logits, self._center)
        return _on_labels([e.label for e in self._held if isinstance(e, LabelledExample)], logits)


def logits_of(trainer: Trainer, texts: Sequence[array[int]]) -> list[float]:
    """The logit of each text. Every rank calls it."""
    # All but the last token are the prompt: what is predicted behind it is one place only.
    found = trainer.logprobs([text_sequence(text, len(text), group) for group, text in enumerate(texts)])
    return [values[-1] for values in found]


def load_task(config: HeadConfig) -> tuple[HeadTask, MakePolicy]:
    """Read and encode the data; the task, and what makes the model with the head.

    Raises:
        InputError, StartError: the model's tokenizer cannot be had; the data is unfit; no token can be padded with.
    """
    source = open_source_model(config)
    longest = min(most for most in (config.max_length, source.context, 1 << 30) if most is not None)
    encoder = TextEncoder(source.tokenizer, vocabulary=source.vocabulary, longest=longest)
    taken = _taken(config, config.data, encoder)
    train, held = split(_examples(taken), lambda one: one.prompt, config.eval_share, seed=config.seed)
    if config.eval_data is not None:
        held = _examples(_taken(config, config.eval_data, encoder))
    if config.eval_share and not held:
        raise InputError(f"eval_share {config.eval_share:g} of {len(train)} examples holds none out: raise it")
    ends = {text[-1] for example in (*train, *held) for text in example.texts} | set(last_tokens(taken))
    padding = choose_padding(source.tokenizer, ends, source.vocabulary)

    from .policy import load_head

    task = HeadTask(train, held, center=config.center, left_out=taken.left_out)
    return task, partial(load_head, source=source.path, padding=padding, head=config.head)


def _taken(config: HeadConfig, source: str, encoder: TextEncoder) -> Taken:
    return (take_judgments if config.kind == "meta" else take_preferences)(config, source, encoder)


def _examples(taken: Taken) -> list[Example]:
    return [*taken.pairs, *taken.labelled]


def _sequences(example: Example, group: int) -> tuple[TrainSequence, ...]:
    if isinstance(example, PairExample):
        return pair_sequences(example, group)
    return (text_sequence(example.ids, len(example.ids), group),)


def _on_pairs(pairs: Sequence[PairExample], logits: Sequence[float], center: float) -> dict[str, float]:
    values = torch.tensor(logits, dtype=torch.float64).view(-1, 2)
    margins = torch.tensor([pair.margin for pair in pairs], dtype=torch.float64)
    losses = bradley_terry(values[:, 0], values[:, 1], margin=margins, center=center)
    return {"loss": float(losses.mean()), "accuracy": float(shares_right(values[:, 0] - values[:, 1]).mean())}


def _on_labels(labels: Sequence[float], logits: Sequence[float]) -> dict[str, float]:
    losses = binary(torch.tensor(logits, dtype=torch.float64), torch.tensor(labels, dtype=torch.float64))
    told = list(zip(logits, labels, strict=True))
    leads = torch.tensor([logit if label else -logit for logit, label in told], dtype=torch.float64)
    found = {"loss": float(losses.mean()), "accuracy": float(shares_right(leads).mean())}
    area = auc([logit for logit, label in told if label], [logit for logit, label in told if not label])
    return found if area is None else found | {"auc": area}
