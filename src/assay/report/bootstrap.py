"""How far a judge's one figure depends on which votes happened to be drawn: its mean and spread over resampled votes.

The spread says nothing about the choice of items; the intervals of the tables do. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.core.errors import InputError
from assay.core.intervals import Interval
from assay.core.stats import percentile
from assay.core.types import Outcome, Verdict
from assay.judges.base import Judge
from assay.scoring.replay import Recording, resampled
from assay.voting.plan import VotePlan

from .agreement import Scored, accepting, ranking

_LOW, _HIGH = 2.5, 97.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Bootstrap:
    """The figure ``name`` over ``times`` resamples: mean, and the middle 95 % of them."""

    name: str
    interval: Interval
    times: int


def bootstrap(
    recorded: Sequence[Recording], judge: Judge, plan: VotePlan, *, times: int, base: int = 0
) -> Bootstrap | None:
    """The figure over resampled votes; None where gold decides nothing.

    Raises:
        InputError: as ``scoring.replay.resampled``.
    """
    if times < 2:
        raise InputError(f"a bootstrap needs at least 2 resamples, got {times}")
    found = [_figure(recorded, outcomes) for outcomes in resampled(recorded, judge, plan, times=times, base=base)]
    values = [value for _, value in found if value is not None]
    low, high = percentile(values, _LOW), percentile(values, _HIGH)
    if low is None or high is None:
        return None
    name = next(name for name, value in found if value is not None)
    interval = Interval(value=sum(values) / len(values), low=low, high=high)
    return Bootstrap(name=name, interval=interval, times=len(values))


def _figure(recorded: Sequence[Recording], outcomes: Sequence[Outcome]) -> tuple[str, float | None]:
    """As ``words.headline`` picks it."""
    single: list[tuple[float, float]] = []
    several: list[Scored] = []
    for recording, outcome in zip(recorded, outcomes, strict=True):
        gold = recording.first.own_gold
        if gold is None or not isinstance(outcome, Verdict) or outcome.scores is None:
            continue
        if len(outcome.scores) == len(gold) == 1:
            single.append((outcome.scores[0], gold[0]))
        elif len(outcome.scores) == len(gold):
            several.append((outcome.scores, gold))
    taken = accepting(single)
    if taken is not None and taken.balanced is not None:
        return "balanced accuracy", taken.balanced.value
    if taken is not None and taken.auc is not None:
        return "AUC", taken.auc.value
    ranked = ranking(several)
    right = None if ranked is None else ranked.right.interval
    return "best on top", None if right is None else right.value
