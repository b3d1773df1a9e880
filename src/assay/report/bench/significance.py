"""Whether two runs over the same cases differ: the exact sign test, and the paired bootstrap. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.bench.single import GOOD, SCORE

_PAIRS, _RIGHT = "pairs", "right"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """Cases that the second run gets better, worse, or as right. ``binary``: each case is right or wrong, so that the
    sign test is McNemar's exact test."""

    better: int
    worse: int
    same: int
    binary: bool

    @property
    def p(self) -> float:
        """Two-sided."""
        return sign_test(self.better, self.worse)


def worth(values: Mapping[str, float]) -> float | None:
    """What a case is worth by itself, the higher the better; None where only many cases together are worth anything (an
    area under the ROC curve)."""
    if {SCORE, GOOD} <= set(values):
        return None
    if _PAIRS in values:
        return values[_RIGHT] / values[_PAIRS]
    return sum(values.values()) / len(values)


def signs(pairs: Iterable[tuple[float, float]]) -> Signs:
    """Counts over cases, each with its worth in the first and in the second run."""
    every = list(pairs)
    return Signs(
        better=sum(after > before for before, after in every),
        worse=sum(after < before for before, after in every),
        same=sum(after == before for before, after in every),
        binary=all(value in (0.0, 1.0) for pair in every for value in pair),
    )


def sign_test(better: int, worse: int) -> float:
    """Two-sided exact p of the sign test: the chance that a fair coin falls at least as unevenly.

    It is McNemar's exact test where cases are right or wrong (McNemar 1947; exact form: Conover 1999, 3.5).
    """
    n = better + worse
    term, total = 1, 0
    for hits in range(min(better, worse) + 1):
        total += term
        term = term * (n - hits) // (hits + 1)
    return min(1.0, 2 * total / 2**n)


def bootstrap_p(differences: Sequence[float]) -> float | None:
    """Two-sided p of a paired bootstrap: twice the smaller share of draws on either side of 0, each counted with one
    draw more, so that it is never 0 (Davison and Hinkley 1997, 4.2). None without draws."""
    if not differences:
        return None
    below = sum(one <= 0 for one in differences) + 1
    above = sum(one >= 0 for one in differences) + 1
    return min(1.0, 2 * min(below, above) / (len(differences) + 1))
