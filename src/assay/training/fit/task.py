"""What is fitted, as the loop sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ..batch import TrainBatch
from ..objective import Objective
from ..trainer import Trainer


class Task(Protocol):
    """Examples, their loss, and what is measured on those that are held out."""

    @property
    def size(self) -> int:
        """Examples to train on."""
        ...

    @property
    def identity(self) -> str:
        """A hash of the examples: a run must not go on with others."""
        ...

    def batch(self, picked: Sequence[int]) -> tuple[TrainBatch, Objective]:
        """The examples of one update, and the loss over them."""
        ...

    def evaluate(self, trainer: Trainer) -> Mapping[str, float]:
        """Figures on the held-out examples by name, such as ``loss``; empty where there are none. Every rank calls."""
        ...
