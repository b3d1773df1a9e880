"""``Result``: all that a run says about one benchmark. Pure; the same answers give the same result, to the last bit."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from assay.core.errors import InputError

from ..aggregate import Aggregate, Interval, MeasuredCases, aggregate, measured_cases
from ..benchmark import Benchmark
from ..counting import Counting, Failures, Ties
from ..unit import Answer, Judged
from .gains import Gain, compare
from .passes import GREEDY
from .series import VOTING_1, Series, is_seed, ordinary


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesResult:
    """The score of one series, and what it gains. ``failed``: units without an answer; ``tied``: several best ones."""

    name: str
    k: int
    k_meta: int | None
    score: float | None
    interval: Interval | None
    failed: int
    tied: int
    gains: tuple[Gain, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderScores:
    """A run in both orders, looked at one order at a time: the score of each, their mean, and how often they agree."""

    first: float | None
    second: float | None
    mean: float | None
    agree: float | None
    """Share of pairs with the same answer in both orders, in percent, of those with two answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedScores:
    """The single-order score under several seeds. ``spread``: highest less lowest, in points."""

    scores: Mapping[int, float | None]
    spread: float | None
    deviation: float | None
    changed: float | None
    """Share of units, in percent, whose answer is not the same under all seeds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The score of a benchmark, and what stands beside it. ``headline``: the series that the score is of."""

    benchmark: Benchmark
    headline: str
    counting: Counting
    aggregate: Aggregate
    by_ties: Mapping[str, float | None]
    """The score under each rule for ties."""
    by_failures: Mapping[str, float | None]
    """The score under each rule for failures; no ``lenient`` where the texts were not read again."""
    failures: Mapping[str, int]
    """Units without an answer, by kind."""
    tied: int
    units: int
    series: tuple[SeriesResult, ...]
    orders: OrderScores | None
    seeds: SeedScores | None
    measured: Mapping[str, MeasuredCases]
    """Series -> its cases, so counted."""


def result_of(
    benchmark: Benchmark, series: Sequence[Series], counting: Counting, *, seed: int = 0, draws: int = 1000
) -> Result:
    """The result of a run; its score is that of the last series.

    Raises:
        InputError: nothing can be counted, or an answer does not fit its unit.
    """
    own = ordinary(series)
    head = own[-1]
    found = aggregate(benchmark, head.judged, counting, draws=draws, seed=seed)
    measured = {one.name: measured_cases(benchmark, one.judged, counting) for one in own}
    kinds = Counter(str(one.answer.failure) for one in head.judged if one.answer.failure is not None)
    return Result(
        benchmark=benchmark,
        headline=head.name,
        counting=counting,
        aggregate=found,
        by_ties={ties: _value(benchmark, head, with_ties(counting, ties)) for ties in get_args(Ties)},
        by_failures=_by_failures(benchmark, head, counting),
        failures=dict(sorted(kinds.items())),
        tied=_tied(head),
        units=len(head.judged),
        series=_series(benchmark, own, measured, found, counting, draws=draws, seed=seed),
        orders=_orders(benchmark, head, counting),
        seeds=_seeds(benchmark, series, counting, seed),
        measured=measured,
    )


def with_ties(counting: Counting, ties: Ties) -> Counting:
    """The counting with another rule for ties."""
    return counting.model_copy(update={"ties": ties})


def _by_failures(benchmark: Benchmark, head: Series, counting: Counting) -> dict[str, float | None]:
    read_again = any(one.lenient is not None for one in head.judged)
    names = [name for name in get_args(Failures) if name != "lenient" or read_again]
    return {name: _value(benchmark, head, counting.model_copy(update={"failures": name})) for name in names}


def _value(benchmark: Benchmark, series: Series, counting: Counting) -> float | None:
    """The score alone; None where nothing is left to count."""
    try:
        return aggregate(benchmark, series.judged, counting, draws=0).score.value
    except InputError:
        return None


def _series(
    benchmark: Benchmark,
    series: Sequence[Series],
    measured: Mapping[str, MeasuredCases],
    head: Aggregate,
    counting: Counting,
    *,
    draws: int,
    seed: int,
) -> tuple[SeriesResult, ...]:
    cases = {name: found.measured for name, found in measured.items()}
    several = len(series) > 1
    compared = compare(benchmark, cases, draws=draws if several else 0, seed=seed)
    bases = [name for name in (GREEDY, VOTING_1) if name in cases]
    return tuple(
        SeriesResult(
            name=one.name,
            k=one.k,
            k_meta=one.k_meta,
            # Of all its own cases; gains are over those that all series have.
            score=_value(benchmark, one, counting),
            interval=head.intervals.get("") if one is series[-1] else compared.interval(one.name),
            failed=sum(judged.answer.failure is not None for judged in one.judged),
            tied=_tied(one),
            gains=tuple(
                gain for base in bases if base != one.name and (gain := compared.gain(one.name, base)) is not None
            ),
        )
        for one in series
    )


def _tied(series: Series) -> int:
    return sum(is_tie(judged.answer) for judged in series.judged)


def is_tie(answer: Answer) -> bool:
    """Whether several candidates share the best score."""
    scores = answer.scores
    return scores is not None and len(scores) > 1 and sum(score == max(scores) for score in scores) > 1


def _orders(benchmark: Benchmark, head: Series, counting: Counting) -> OrderScores | None:
    both = [one for one in head.judged if one.by_order]
    if not both:
        return None
    parts = [
        Series(
            name=name,
            k=head.k,
            judged=tuple(_one_order(one, place) for one in head.judged),
        )
        for place, name in enumerate(("first", "second"))
    ]
    first, second = (_value(benchmark, part, counting) for part in parts)
    votes = [tuple(map(said, one.by_order)) for one in both]
    two = [vote for vote in votes if None not in vote]
    return OrderScores(
        first=first,
        second=second,
        mean=None if first is None or second is None else (first + second) / 2,
        agree=100 * sum(one == other for one, other in two) / len(two) if two else None,
    )


def _one_order(judged: Judged, place: int) -> Judged:
    if not judged.by_order:
        return judged
    lenient = judged.lenient_by_order[place] if judged.lenient_by_order else None
    return replace(judged, answer=judged.by_order[place], by_order=(), lenient=lenient, lenient_by_order=())


def said(answer: Answer) -> tuple[int, ...] | None:
    """The best candidates of an answer; None for a failure."""
    if answer.failure is not None:
        return None
    if answer.choice is not None:
        return (answer.choice,)
    scores = answer.scores or ()
    return tuple(index for index, score in enumerate(scores) if score == max(scores))


def _seeds(benchmark: Benchmark, series: Sequence[Series], counting: Counting, seed: int) -> SeedScores | None:
    others = [one for one in series if is_seed(one)]
    if not others:
        return None
    base = next((one for one in ordinary(series) if one.name == GREEDY), ordinary(series)[0])
    every = {seed: base} | {int(one.name.rpartition("-")[2]): one for one in others}
    scores = {name: _value(benchmark, one, counting) for name, one in every.items()}
    values = [value for value in scores.values() if value is not None]
    answers = [{one.unit.item.id: said(one.answer) for one in each.judged} for each in every.values()]
    names = list(answers[0])
    moved = sum(len({table.get(name) for table in answers}) > 1 for name in names)
    return SeedScores(
        scores=scores,
        spread=max(values) - min(values) if len(values) > 1 else None,
        deviation=statistics.stdev(values) if len(values) > 1 else None,
        changed=100 * moved / len(names) if names else None,
    )
