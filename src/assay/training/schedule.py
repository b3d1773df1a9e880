"""The learning rate as a function of the update's number. Pure: a resumed run needs no state for it."""

from __future__ import annotations

import math
from typing import Literal

Decay = Literal["constant", "linear", "cosine"]


def lr_at(update: float, *, lr: float, minimum: float, style: Decay, warmup: float, total: float | None) -> float:
    """The rate of update number ``update``, counted from 0. Seconds do as well as updates, for all three of them.

    Rises as ``lr * (update + 1) / warmup``, then stays, or falls from ``lr`` to ``minimum`` at update ``total``.

    Args:
        update: number of updates applied before this one.
        lr: the highest rate.
        minimum: the rate at the end of a decay and after it.
        style: how it falls.
        warmup: number of updates over which it rises; 0 for none.
        total: number of updates at which the decay ends; needed by ``linear`` and ``cosine``.
    """
    if update < warmup:
        return lr * min(1.0, (update + 1) / warmup)
    if style == "constant" or total is None:
        return lr
    share = min(1.0, (update - warmup) / max(1, total - warmup))
    left = 1.0 - share if style == "linear" else 0.5 * (1.0 + math.cos(math.pi * share))
    return minimum + (lr - minimum) * left
