"""Position bias, measured from votes that were drawn anyway. Pure.

Votes show the candidates in different orders, so that what a place gives or takes can be told from what the answer is
worth: each vote says how its candidates stand by the place at which they were shown, each item gives the mean of its
votes, and the items' means and their spread give the figure and its interval. It says nothing about ``fixed`` orders,
where place and answer are the same thing.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.core.types import Verdict, Vote

from .reducers import ballot

Z95 = 1.96


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceBias:
    """What one place gives. Without position bias ``mean`` is near ``fair``: 0 points, or one nth of the ballots.

    ``low`` and ``high``: 95 % by the standard error between items; infinite where there is only one item.
    """

    place: int
    mean: float
    low: float
    high: float
    fair: float
    items: int
    votes: int


def bias_by_place(items: Iterable[Sequence[Vote]], *, by: Literal["score", "win"] = "win") -> tuple[PlaceBias, ...]:
    """One entry per place, from the first.

    Args:
        items: the votes of each item; all items have equally many candidates. Votes that failed, that looked at one
            candidate at a time, or (``score``) that give no scores are left out, and so are items without others.
        by: ``score`` = the score at a place less the mean of that vote's scores; ``win`` = the ballot's share.

    Raises:
        ValueError: the items differ in their number of candidates.
    """
    means: list[tuple[float, ...]] = []
    votes = 0
    for item in items:
        shown = [row for row in (_by_place(vote, by) for vote in item) if row is not None]
        if shown:
            means.append(tuple(map(statistics.fmean, zip(*shown, strict=True))))
            votes += len(shown)
    if len({len(row) for row in means}) > 1:
        raise ValueError("items with different numbers of candidates: measure each number on its own")
    return tuple(
        _entry(place, column, votes, 0.0 if by == "score" else 1 / len(means[0]))
        for place, column in enumerate(zip(*means, strict=True))
    )


def _by_place(vote: Vote, by: Literal["score", "win"]) -> tuple[float, ...] | None:
    order, outcome = vote.draw.order, vote.outcome
    n = len(order)
    if not isinstance(outcome, Verdict) or n < 2 or vote.candidate is not None:
        return None
    if by == "win":
        share = ballot(outcome, n)
        return tuple(share[index] for index in order)
    if outcome.scores is None:
        return None
    mean = statistics.fmean(outcome.scores)
    return tuple(outcome.scores[index] - mean for index in order)


def _entry(place: int, column: Sequence[float], votes: int, fair: float) -> PlaceBias:
    mean = statistics.fmean(column)
    error = statistics.stdev(column) / math.sqrt(len(column)) if len(column) > 1 else math.inf
    return PlaceBias(
        place=place,
        mean=mean,
        low=mean - Z95 * error,
        high=mean + Z95 * error,
        fair=fair,
        items=len(column),
        votes=votes,
    )
