"""Whether the votes that are left would hardly ever change the decision: a sequential test. Pure.

The leader is held against each rival on its own, by the differences d_1, d_2, ... of the two in each vote (scores, or
shares of the ballot; for a single candidate its score against 1/2). With m votes of k, t = m/k and their sum S, the
test calls the lead safe where

    S >= c * sqrt(k) * (1 - t)^0.3 * t^0.4 * sigma.

What is bounded is P(the decision here differs from that of all k votes), before any vote is drawn, a tie of all k left
aside. It is largest where the two are equally good (by reflection, a walk without drift comes back the most), so ``c``
follows from k and delta alone: it is the least one with which that probability is at most delta for two equally good
candidates, the worst of several kinds of votes (normal, rounded to a scale, two-valued, skewed, with rare outliers).
``confident_table`` holds it; ``benchmarks/confident_calibration.py`` computes it. For items with a lead it is far
smaller, and so it is for several candidates, as the leader must be safe from all of them at once; only a delta above
0.1 would be exceeded then, so it counts as 0.1.

The shape was found by numerical optimisation, for the least mean number of votes: it is high at first, when sigma is
hardly known, and sinks at the end, when little is left that could turn the lead. sigma is the root of the larger of

- the variances of the two candidates' own scores, added up: 2(m - 1) degrees of freedom;
- 0.85 times the mean square of the differences, so that equal votes (scores are whole numbers) do not make it zero;

where votes have no scores, of the mean square. What the estimate adds to the error is part of ``c``.

Assumptions: votes are independent and alike, and about symmetric; which of them fail does not depend on what they would
have said; the noise of two candidates within one vote is not opposed. What breaks them: a judge that takes sides anew
in each vote (correlation -0.9 between two equally good candidates: 0.066 in place of 0.05); an order that decides more
than the answers do, with few distinct orders; seeds that repeat, so that votes are copies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.core.types import Reduce, Verdict

from .certain import HALF
from .confident_table import constant
from .reducers import ballot

EARLY, LATE = 0.4, 0.3
LEAST_SHARE = 0.85
_MOST_DELTA_OF_MANY = 0.1


def is_confident(verdicts: Sequence[Verdict], left: int, *, how: Reduce, n: int, delta: float) -> bool:
    """Whether the lead is safe against ``left`` more votes but for a probability of ``delta``.

    Args:
        verdicts: those of the votes so far; there is at least one.
        left: how many more votes there may be.
        how: ``sum``, ``mean`` or ``majority``; n: candidates.
    """
    columns = _columns(verdicts, how, n)
    totals = [math.fsum(column) for column in columns]
    leader = totals.index(max(totals))
    scored = n > 1 and how != "majority"
    threshold = boundary(len(verdicts), len(verdicts) + left, delta, n=n, scored=scored)
    return all(
        _is_ahead(columns[leader], column, threshold, scored=scored)
        for index, column in enumerate(columns)
        if index != leader
    )


def boundary(m: int, k: int, delta: float, *, n: int, scored: bool) -> float:
    """How many sigma the lead must be after ``m`` of ``k`` votes on ``n`` candidates that have scores, or have not."""
    if m == k:
        return 0.0
    t = m / k
    of_one = min(delta, _MOST_DELTA_OF_MANY) if n > 2 else delta
    return constant(k, of_one, scored=scored) * math.sqrt(k) * (1 - t) ** LATE * t**EARLY


def _is_ahead(leader: Sequence[float], rival: Sequence[float], threshold: float, *, scored: bool) -> bool:
    differences = [ours - theirs for ours, theirs in zip(leader, rival, strict=True)]
    lead = math.fsum(differences)
    square = math.fsum(d * d for d in differences) / len(differences)
    variance = max(_own(leader) + _own(rival), LEAST_SHARE * square) if scored else square
    return lead > 0 and lead >= threshold * math.sqrt(variance)


def _own(scores: Sequence[float]) -> float:
    """The variance of one candidate's scores; 0 of one score."""
    if len(scores) < 2:
        return 0.0
    mean = math.fsum(scores) / len(scores)
    return math.fsum((score - mean) ** 2 for score in scores) / (len(scores) - 1)


def _columns(verdicts: Sequence[Verdict], how: Reduce, n: int) -> list[tuple[float, ...]]:
    """What each candidate has of each vote; a single one stands against 1/2."""
    if how == "majority":
        return list(zip(*(ballot(verdict, n) for verdict in verdicts), strict=True))
    rows = [verdict.scores for verdict in verdicts if verdict.scores is not None]
    columns = list(zip(*rows, strict=True))
    return columns if n > 1 else [*columns, (HALF,) * len(rows)]
