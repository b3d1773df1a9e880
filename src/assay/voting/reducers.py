"""From the verdicts of several votes to one score per candidate. Pure, and the order of the votes changes nothing.

``sum``: pointwise GRM (DeepSeek-GRM eq. 14). ``mean``: semi-scalar (eq. 12). ``majority``: pairwise (eq. 13), one vote
for each best candidate. ``median``: of each candidate's scores. Does not own: ties, failures, the meta RM (``decide``).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from assay.core.types import Reduce, Verdict


def reduce_votes(how: Reduce, verdicts: Sequence[Verdict], n: int) -> tuple[float, ...]:
    """One number per candidate: a score, or (``majority``) how many votes it has.

    Raises:
        ValueError: no verdicts, or scores are to be added up and a verdict has not ``n`` of them.
    """
    if not verdicts:
        raise ValueError("there are no verdicts to reduce")
    if how == "majority":
        shares = [ballot(verdict, n) for verdict in verdicts]
        return tuple(math.fsum(share[index] for share in shares) for index in range(n))
    columns = [[_scores(verdict, n)[index] for verdict in verdicts] for index in range(n)]
    match how:
        case "sum":
            return tuple(math.fsum(column) for column in columns)
        case "mean":
            return tuple(math.fsum(column) / len(column) for column in columns)
        case "median":
            return tuple(float(statistics.median(column)) for column in columns)


def ballot(verdict: Verdict, n: int) -> tuple[float, ...]:
    """One vote, shared by the best candidates; a verdict that calls no one best gives nothing to anybody.

    Raises:
        ValueError: the verdict has neither a choice nor ``n`` scores.
    """
    if verdict.choice is not None:
        return tuple(float(index == verdict.choice) for index in range(n))
    if verdict.scores is None:
        return (0.0,) * n
    scores = _scores(verdict, n)
    best = max(scores)
    winners = [index for index, score in enumerate(scores) if score == best]
    return tuple(1.0 / len(winners) if index in winners else 0.0 for index in range(n))


def _scores(verdict: Verdict, n: int) -> tuple[float, ...]:
    if verdict.scores is None or len(verdict.scores) != n:
        raise ValueError(f"a verdict with {n} scores is needed, got {verdict.scores!r}")
    return verdict.scores
