"""The randomness of a vote: a sampling seed, and the order in which the candidates are shown."""

from __future__ import annotations

from assay.core.seeds import derive_order, derive_seed
from assay.core.types import Draw


def make_draw(asks: str, content: str, n: int, *, vote: int, base: int = 0) -> Draw:
    """The draw of one vote: it follows from what is asked about which content, from the vote's index and from ``base``.

    Args:
        asks: what the judge asks (``Judge.asks``).
        content: hash of the judged content.
        n: number of candidates that are shown.
        vote: index of the vote, from 0.
        base: the user's own seed; another one gives independent draws.
    """
    return Draw(
        vote=vote,
        seed=derive_seed(content, asks, vote, "sample", base=base),
        order=derive_order(derive_seed(content, asks, vote, "order", base=base), n),
    )


def reask_seed(seed: int, attempt: int) -> int:
    """The seed of the ``attempt``-th time of asking again, from 1."""
    return derive_seed(str(seed), "", 0, f"reask-{attempt}")


def request_seed(seed: int, place: int) -> int:
    """The seed of the request at ``place`` among those of one vote; that of the first is the draw's own."""
    return seed if place == 0 else derive_seed(str(seed), "", 0, f"request-{place}")
