"""Length and position bias of a benchmark's answers: what a judge prefers beside what is right. Pure, no texts.

Length: is the answer that the judge likes best longer than the mean of the others, more often than the right one is?
And is the judge right as often where the right answer is the shorter one? Position: how often does the answer shown
first win, over votes that showed the answers in drawn orders.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay.core.intervals import Rate
from assay.voting.ties import best_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """An answer to one unit. ``lengths``: characters of each candidate; ``best``: the best ones by the judge, none
    where it failed."""

    gold: tuple[float, ...]
    lengths: tuple[int, ...]
    scores: tuple[float, ...] | None
    choice: int | None

    @property
    def best(self) -> tuple[int, ...]:
        if self.choice is not None:
            return (self.choice,)
        return best_of(self.scores) if self.scores else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthBias:
    """Of pairs and lists. Units with a tie, a failure, several right answers or equal lengths have no part in it.

    ``liked``: how often the judge's best is longer than the mean of the others; ``right``: how often the right one is,
    over the same units. ``when_longer``, ``when_shorter``: how often the judge is right where the right one is.
    """

    liked: Rate
    right: Rate
    when_longer: Rate
    when_shorter: Rate
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthCorrelation:
    """Of single answers: Spearman's rank correlation of their length with the judge's score, and with gold."""

    score: float | None
    gold: float | None
    n: int
    left_out: int


def length_bias(answers: Iterable[Answered]) -> LengthBias | None:
    """The length bias of choices; None where there is no unit to see it in."""
    every = [one for one in answers if len(one.gold) > 1]
    seen: list[tuple[bool, bool, bool]] = []
    for one in every:
        right, best = best_of(one.gold), one.best
        if len(right) != 1 or len(best) != 1 or len(one.lengths) != len(one.gold):
            continue
        liked, wanted = _longer(one.lengths, best[0]), _longer(one.lengths, right[0])
        if liked is not None and wanted is not None:
            seen.append((liked, wanted, best == right))
    if not seen:
        return None
    return LengthBias(
        liked=_rate(liked for liked, _, _ in seen),
        right=_rate(wanted for _, wanted, _ in seen),
        when_longer=_rate(hit for _, wanted, hit in seen if wanted),
        when_shorter=_rate(hit for _, wanted, hit in seen if not wanted),
        left_out=len(every) - len(seen),
    )


def length_correlation(answers: Iterable[Answered]) -> LengthCorrelation | None:
    """The length bias of scores of single answers; None where there are none."""
    every = [one for one in answers if len(one.gold) == 1]
    there = [one for one in every if one.scores and len(one.lengths) == 1]
    if not there:
        return None
    lengths = [float(one.lengths[0]) for one in there]
    return LengthCorrelation(
        score=spearman(lengths, [one.scores[0] for one in there if one.scores]),
        gold=spearman(lengths, [one.gold[0] for one in there]),
        n=len(there),
        left_out=len(every) - len(there),
    )


def spearman(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's rank correlation, equal values sharing their mean rank; None where one of the two never varies."""
    x, y = _ranks(one), _ranks(other)
    middle = (len(x) + 1) / 2
    spread = math.sqrt(sum((a - middle) ** 2 for a in x) * sum((b - middle) ** 2 for b in y))
    return sum((a - middle) * (b - middle) for a, b in zip(x, y, strict=True)) / spread if spread else None


def _longer(lengths: Sequence[int], index: int) -> bool | None:
    """Whether a candidate is longer than the mean of the others; None where it is just as long."""
    others = (sum(lengths) - lengths[index]) / (len(lengths) - 1)
    return None if lengths[index] == others else lengths[index] > others


def _rate(found: Iterable[bool]) -> Rate:
    told = list(found)
    return Rate(hits=sum(told), n=len(told))


def _ranks(values: Sequence[float]) -> list[float]:
    ordered = sorted(range(len(values)), key=lambda place: values[place])
    ranks = [0.0] * len(values)
    start = 0
    while start < len(ordered):
        stop = start
        while stop < len(ordered) and values[ordered[stop]] == values[ordered[start]]:
            stop += 1
        for place in ordered[start:stop]:
            ranks[place] = (start + 1 + stop) / 2
        start = stop
    return ranks
