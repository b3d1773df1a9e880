"""Which examples an update takes: a new seeded order in every pass, batches that run on from pass to pass. Pure.

A function of the number of the update alone, so that a resumed run needs no state for it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from assay.core.seeds import digest


class Order:
    """The order of ``size`` examples in batches of ``batch``.

    Args:
        size: number of examples.
        batch: examples of an update; the last update of a training that is counted in passes may have fewer.
        seed: another one gives another order.
        epochs: passes over the examples; None: no end.
    """

    def __init__(self, size: int, batch: int, *, seed: int, epochs: float | None) -> None:
        self._size, self._batch, self._seed = size, batch, seed
        self._total = None if epochs is None else max(1, round(epochs * size))
        self._known: tuple[int, Sequence[int]] = (-1, ())

    @property
    def updates(self) -> int | None:
        """How many updates the passes are; None where there is no end."""
        return None if self._total is None else -(-self._total // self._batch)

    def batch(self, number: int) -> list[int]:
        """The examples of update ``number``, from 0; empty behind the end."""
        start, end = number * self._batch, (number + 1) * self._batch
        if self._total is not None:
            end = min(end, self._total)
        return [self._pass(place // self._size)[place % self._size] for place in range(start, end)]

    def _pass(self, number: int) -> Sequence[int]:
        if self._known[0] != number:
            order = list(range(self._size))
            random.Random(digest(["order of examples", self._seed, number])).shuffle(order)
            self._known = (number, order)
        return self._known[1]
