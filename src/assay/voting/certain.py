"""Whether the votes that are left can still change the decision. Pure and exact.

The worst that can come is put together and reduced by the product's own reducers: for ``sum``, ``mean`` and ``median``
every vote left gives the leader the least score and each rival the highest; for ``majority`` it is a ballot for the
rival. Votes that fail instead are dropped, which is never worse for the leader than the worst verdict. A tie counts as
overturned. Does not own: when to ask (``stopping``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.core.types import Reduce, Verdict

from .reducers import ballot, reduce_votes
from .ties import best_of

HALF = 0.5
"""Where the decision about a single candidate on the scale 0 to 1 lies."""


def is_certain(
    verdicts: Sequence[Verdict], left: int, *, how: Reduce, n: int, scale: tuple[float, float] | None
) -> bool:
    """Whether ``left`` more votes cannot take the lead away, nor bring about a tie.

    Args:
        verdicts: those of the votes so far; there is at least one.
        left: how many more votes there may be.
        how: how they become one. n: candidates; of a single one it is decided on which side of 1/2 it stands.
        scale: least and highest score of one vote; not looked at for ``majority``.

    Raises:
        ValueError: scores are to be added up and there is no scale (``check_stop`` says it in time).
    """
    if n > 1 and how == "majority":
        return _majority_is_certain(verdicts, left, n)
    if scale is None:
        raise ValueError(f"reduce {how!r} has no certain end without a scale")
    if n == 1:
        return _side_is_certain(verdicts, left, how, scale)
    winners = best_of(reduce_votes(how, verdicts, n))
    low, high = scale
    worst = Verdict(scores=tuple(low if index in winners else high for index in range(n)))
    return len(winners) == 1 and best_of(reduce_votes(how, [*verdicts, *[worst] * left], n)) == winners


def side(how: Reduce, verdicts: Sequence[Verdict]) -> int:
    """On which side of 1/2 the votes about a single candidate on the scale 0 to 1 stand: 1 above, -1 below, 0 on it."""
    (value,) = reduce_votes("median" if how == "median" else "mean", verdicts, 1)
    return (value > HALF) - (value < HALF)


def _side_is_certain(verdicts: Sequence[Verdict], left: int, how: Reduce, scale: tuple[float, float]) -> bool:
    now = side(how, verdicts)
    worst = Verdict(scores=(scale[0] if now > 0 else scale[1],))
    return now != 0 and side(how, [*verdicts, *[worst] * left]) == now


def _majority_is_certain(verdicts: Sequence[Verdict], left: int, n: int) -> bool:
    columns = list(zip(*(ballot(verdict, n) for verdict in verdicts), strict=True))
    totals = [math.fsum(column) for column in columns]
    leader = totals.index(max(totals))
    return all(
        totals[leader] > math.fsum((*column, *[1.0] * left)) for index, column in enumerate(columns) if index != leader
    )
