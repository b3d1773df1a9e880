"""Fine-tuning as a task of ``fit``: encoded rows, batches of them, and the loss of those that are held out."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from assay.core.errors import InputError

from ..batch import TrainBatch
from ..objective import NllObjective, NllParts, Objective
from ..source import open_source_model
from ..table import Columns
from ..trainer import Trainer
from .config import SftConfig
from .encode import Encoded
from .openings import openings
from .reading import EncoderSettings, encoded


@dataclass(frozen=True, slots=True, kw_only=True)
class SftObjective:
    """The mean negative log-likelihood of the learned tokens (nats), each counted by the weight of its row.

    ``rows``: the weight of each sample of the update.
    """

    rows: tuple[float, ...]

    @property
    def needs_old(self) -> bool:
        return False

    @property
    def needs_reference(self) -> bool:
        return False

    @property
    def whole_groups(self) -> bool:
        return False

    def weights(self, mask: Tensor, sequence: Tensor) -> Tensor:
        """``w_row / sum of w over the learned tokens`` ``[N]``."""
        own = torch.tensor(self.rows, dtype=torch.float64)[sequence] * mask
        return own / own.sum()

    def loss(self, columns: Columns, logprobs: Tensor, entropy: Tensor) -> NllParts:
        return NllObjective().loss(columns, logprobs, entropy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Encoded rows, and how many were too long."""

    rows: list[Encoded]
    too_long: int


class SftTask:
    """See the module."""

    def __init__(
        self, train: Sequence[Encoded], held: Sequence[Encoded], *, too_long: int = 0, share_openings: bool = True
    ) -> None:
        if not train:
            raise InputError(
                f"there is nothing to train on ({too_long} rows are longer than max_length, {len(held)} are held out)"
            )
        self._train, self._held = train, held
        self._openings = openings([row.ids for row in train]) if share_openings else [0] * len(train)
        self.too_long = too_long
        self.held = len(held)

    @property
    def size(self) -> int:
        return len(self._train)

    @property
    def tokens(self) -> tuple[int, int]:
        """All tokens to train on, and those that are learned."""
        return sum(len(row.ids) for row in self._train), sum(sum(row.mask) for row in self._train)

    @property
    def identity(self) -> str:
        found = hashlib.blake2b(digest_size=16)
        for row in self._train:
            found.update(row.ids.tobytes())
            found.update(f"{row.prompt} {row.weight}".encode() + row.mask)
        return found.hexdigest()

    def batch(self, picked: Sequence[int]) -> tuple[TrainBatch, Objective]:
        rows = [self._train[place] for place in picked]
        sequences = (row.sequence(self._openings[place]) for place, row in zip(picked, rows, strict=True))
        batch = TrainBatch(sequences=tuple(sequences))
        return batch, SftObjective(rows=tuple(row.weight for row in rows))

    def evaluate(self, trainer: Trainer) -> Mapping[str, float]:
        """``loss``: the weighted mean over the learned tokens of the held-out rows; ``perplexity``: its exponential."""
        if not self._held:
            return {}
        found = trainer.logprobs([row.sequence() for row in self._held])
        total = weight = 0.0
        for row, logprobs in zip(self._held, found, strict=True):
            learned = [value for value, on in zip(logprobs, row.mask, strict=True) if on]
            total -= row.weight * math.fsum(learned)
            weight += row.weight * len(learned)
        return {"loss": total / weight, "perplexity": math.exp(min(700.0, total / weight))}


def load_task(config: SftConfig) -> SftTask:
    """Read and encode the data.

    Raises:
        InputError, StartError: the model's tokenizer cannot be had; a row is unfit; nothing is left to train on.
    """
    source = open_source_model(config)
    longest = min(most for most in (config.max_length, source.context, 1 << 30) if most is not None)
    read = _encoded(config.data, config, longest)
    train = [row for row in read.rows if not row.held]
    held = [row for row in read.rows if row.held]
    if config.eval_data is not None:
        held = _encoded(config.eval_data, config, longest).rows
    if config.eval_share and not held:
        raise InputError(f"eval_share {config.eval_share:g} of {len(read.rows)} rows holds none out: raise it")
    return SftTask(train, held, too_long=read.too_long, share_openings=config.share_prompts)


def _encoded(source: str, config: SftConfig, longest: int) -> Loaded:
    fit, too_long = list[Encoded](), 0
    for row in encoded(source, EncoderSettings.of(config), config.encode_workers):
        if len(row.ids) <= longest:
            fit.append(row)
        else:
            too_long += 1
    if not fit:
        raise InputError(f"every row of {source!r} is longer than {longest} tokens (max_length, the model's context)")
    return Loaded(rows=fit, too_long=too_long)
