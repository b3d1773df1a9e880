"""The randomness of a vote: a sampling seed, and the order in which the candidates are shown."""

from __future__ import annotations

from assay.core.seeds import derive_seed
from assay.core.types import Draw

from .orders import order_of
from .plan import Orders


def make_draw(asks: str, content: str, n: int, *, vote: int, base: int = 0, orders: Orders = "shuffle") -> Draw:
    """The draw of one vote: it follows from what is asked about which content, from the vote's index and from ``base``.

    How many votes there are has no part in it: the votes of k = 2 are the first two of k = 8.

    Args:
        asks: what the judge asks (``Judge.asks``).
        content: hash of the judged content.
        n: number of candidates that are shown.
        vote: index of the vote, from 0.
        base: the user's own seed; another one gives independent draws.
        orders: how the candidates' order changes from vote to vote.
    """
    return Draw(
        vote=vote,
        seed=derive_seed(content, asks, vote, "sample", base=base),
        order=order_of(
            orders,
            n,
            vote,
            item_seed=derive_seed(content, asks, 0, "orders", base=base),
            vote_seed=derive_seed(content, asks, vote, "order", base=base),
        ),
    )


def tie_seed(content: str, *, base: int = 0) -> int:
    """The seed that decides between two best candidates; no judge has a part in it, so a replay finds the same one."""
    return derive_seed(content, "", 0, "tie", base=base)


def reask_seed(seed: int, attempt: int) -> int:
    """The seed of the ``attempt``-th time of asking again, from 1."""
    return derive_seed(str(seed), "", 0, f"reask-{attempt}")


def request_seed(seed: int, place: int) -> int:
    """The seed of the request at ``place`` among those of one vote; that of the first is the draw's own."""
    return seed if place == 0 else derive_seed(str(seed), "", 0, f"request-{place}")
