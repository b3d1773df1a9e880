"""What recorded votes on held-out items say of a judge: greedy, Voting@k and MetaRM@k for growing k. Pure.

A verdict is worth 1 where the best candidate alone is on top, and the share of a random draw where others are as high
(the paper draws among the tied); one that could not be read is worth 0. Of fewer than all votes, every group of k in
the order drawn counts, so that Voting@1 is the mean of single votes. Intervals resample items, all series of a model
together, so that the interval of a gain does not hold the spread of the items.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InputError
from assay.core.intervals import Interval
from assay.core.types import Failure, Outcome, Verdict
from assay.data import ResultRow
from assay.data.decisions import to_outcome, to_vote
from assay.scoring.replay import Recording, recordings
from assay.voting.decide import decide
from assay.voting.plan import VotePlan
from assay.voting.ties import best_of

from .fates import OF_THE_TEXT

DRAWS = 2000
GREEDY, VOTING, META = "greedy", "voting@", "meta@"
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """What an outcome is worth: ``value`` from 0 to 1, whether the best is ``tied``, whether there is a verdict."""

    value: float
    tied: float
    read: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A model on the items: series by name, a worth an item, in the order of ``items``."""

    items: tuple[str, ...]
    kinds: tuple[str, ...]
    series: Mapping[str, tuple[Worth, ...]]
    tokens: float
    """Mean length of a vote's text."""
    lost: int = 0
    """Items that are left out, because for one of their judgments no text came (a timeout, an engine that broke)."""

    def values(self, series: str) -> Floats:
        return np.array([worth.value for worth in self.series[series]], dtype=np.float64)

    def mean(self, series: str, what: str) -> float:
        """The mean of ``value``, ``tied`` or ``read``."""
        return float(np.mean([getattr(worth, what) for worth in self.series[series]]))


def measure(greedy: Iterable[ResultRow], votes: Iterable[ResultRow], k_meta: int | None = None) -> Measured:
    """A model's recorded passes over the same items; votes with logits have series of the meta RM as well.

    Args:
        k_meta: how many of all votes the meta RM keeps; half of them without it, as of fewer votes.

    Raises:
        InputError: no votes, or items without gold or of one candidate.
    """
    plain = {row.item_id: row for row in greedy}
    both = [one for one in recordings(votes) if one.item.id in plain]
    if not both:
        raise InputError("the two passes have no item in common")
    recorded = [one for one in both if not any(map(_without_text, (plain[one.item.id], *one.rows)))]
    if not recorded:
        raise InputError(
            f"no text came for any of {len(both)} items ({plain[both[0].item.id].detail:.200}): mend the engine, and "
            "make the stage anew (--redo)"
        )
    series: dict[str, list[Worth]] = {GREEDY: []}
    for one in recorded:
        series[GREEDY].append(_single(plain[one.item.id], _gold(one)))
        for name, worth in _voted(one, k_meta):
            series.setdefault(name, []).append(worth)
    texts = [row.completion_tokens for one in recorded for row in one.rows]
    return Measured(
        items=tuple(one.item.id for one in recorded),
        kinds=tuple(str(one.item.metadata.get("kind", "-")) for one in recorded),
        series={name: tuple(worths) for name, worths in series.items() if len(worths) == len(recorded)},
        tokens=float(np.mean(texts)),
        lost=len(both) - len(recorded),
    )


def worth_of(outcome: Outcome, gold: Sequence[float]) -> Worth:
    """What an outcome is worth."""
    if not isinstance(outcome, Verdict):
        return Worth(value=0.0, tied=0.0, read=0.0)
    scores = outcome.scores
    if scores is None:
        scores = tuple(float(place == outcome.choice) for place in range(len(gold)))
    best, right = best_of(scores), gold.index(max(gold))
    return Worth(value=(right in best) / len(best), tied=float(len(best) > 1), read=1.0)


def sizes(k: int) -> tuple[int, ...]:
    """The k of the curves: powers of two, and all votes."""
    found = [1]
    while 2 * found[-1] < k:
        found.append(2 * found[-1])
    return tuple(dict.fromkeys((*found, k)))


def interval(values: Floats, draws: int = DRAWS, seed: int = 0) -> Interval:
    """The mean over items, with the middle 95 % of its resamples."""
    generator = np.random.default_rng(seed)
    weights = generator.multinomial(len(values), np.full(len(values), 1 / len(values)), size=draws)
    means = weights @ values / len(values)
    low, high = np.percentile(means, (2.5, 97.5))
    return Interval(value=float(values.mean()), low=float(low), high=float(high))


def gain(measured: Measured, series: str, over: str) -> Interval:
    """How much higher one series is than another, over the same items."""
    return interval(measured.values(series) - measured.values(over))


def difference(one: Measured, other: Measured, series: str = GREEDY) -> Interval | None:
    """How much higher ``one`` is than ``other`` in a series, over their common items; None where there are none."""
    places = {item: place for place, item in enumerate(other.items)}
    shared = [(place, places[item]) for place, item in enumerate(one.items) if item in places]
    if not shared or series not in one.series or series not in other.series:
        return None
    mine, theirs = one.values(series), other.values(series)
    return interval(np.array([mine[a] - theirs[b] for a, b in shared], dtype=np.float64))


def by_kind(measured: Measured, groups: Mapping[str, str], series: str = GREEDY) -> dict[str, tuple[Interval, int]]:
    """The figure of each group of kinds, and of how many items. ``groups``: of each kind."""
    found: dict[str, list[float]] = {}
    for kind, value in zip(measured.kinds, measured.values(series), strict=True):
        found.setdefault(groups.get(kind, kind), []).append(float(value))
    return {name: (interval(np.array(values)), len(values)) for name, values in sorted(found.items())}


def _without_text(row: ResultRow) -> bool:
    """Whether nothing is known: that is no wrong verdict."""
    outcome = to_outcome(row)
    return isinstance(outcome, Failure) and outcome.kind not in OF_THE_TEXT


def _voted(one: Recording, k_meta: int | None) -> Iterable[tuple[str, Worth]]:
    plan = one.plan
    if plan is None:
        raise InputError(f"{one.where} is one plain judgment: record votes (--k)")
    own = replace(plan, meta=None, k_meta=None)
    for k in sizes(plan.k):
        yield f"{VOTING}{k}", _mean(one, replace(own, k=k, min_valid=None))
    if plan.meta is None:
        return
    for k in sizes(plan.k)[1:]:
        kept = k_meta if k == plan.k else None
        yield f"{META}{k}", _mean(one, replace(plan, k=k, k_meta=kept, min_valid=None))


def _mean(one: Recording, plan: VotePlan) -> Worth:
    """Over all groups of ``plan.k`` votes."""
    gold, how = _gold(one), plan.reduce
    if how is None:
        raise InputError(f"{one.where}: the recording does not say how its votes become one")
    starts = range(0, len(one.votes) - plan.k + 1, plan.k)
    found = [
        worth_of(decide(one.votes[start : start + plan.k], plan, how, one.item.n).outcome, gold) for start in starts
    ]
    if not found:
        # A judgment that failed before its votes were drawn has fewer.
        return Worth(value=0.0, tied=0.0, read=0.0)
    return Worth(
        value=float(np.mean([worth.value for worth in found])),
        tied=float(np.mean([worth.tied for worth in found])),
        read=float(np.mean([worth.read for worth in found])),
    )


def _single(row: ResultRow, gold: Sequence[float]) -> Worth:
    return worth_of(to_vote(row).outcome, gold)


def _gold(one: Recording) -> tuple[float, ...]:
    gold = one.item.gold
    if gold is None or len(gold) < 2:
        raise InputError(f"{one.where} has no gold of several candidates")
    return gold
