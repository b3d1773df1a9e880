"""PPE Correctness as best of k: the response with the highest score among the first k is taken; how often is it right?

Every response of a question is scored, so it is for whatever gives scores (a reward model, ``tokenprob``), not for a
judge of pairs. The score is the mean over the sets of the curve's end, with all responses; max, end and error are the
measures of Frick et al. (2024, section 4). The official code was not at hand when this was written: that the curve
takes the first k of the file, and that the first of several equally high scores is taken, is our reading.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from assay.core.seeds import derive_order
from assay.core.stats import auc
from assay.data.records import AnyRecord
from assay.data.rows import RowError
from assay.voting.ties import best_of

from ..benchmark import UnitsRead
from ..counting import Counting
from ..credit import answer_of, failed, scores_of, tie_seed
from ..measure import Cases, Measured
from ..parts import mean, ordered, percent
from ..reading import read_units
from ..score import Part, Row, Score, Table
from ..unit import Judged, Unit
from .ppe import PPE_CORRECTNESS, SETS, by_gold, question_of, set_of

MOST = 32
"""Responses to a question, at most."""
STEPS = (1, 2, 4, 8, 16, 32)
"""The k of the table; the highest point of a curve is looked for at every k."""
CURVE, BESIDE, PERFECT, OF_SETS = "best of k", "beside the curve", "best there is", "mean of the sets"
K = "k = "
"""What a column of the curve begins with."""
_PICKED, _THERE = "picked ", "there "
_ERROR, _AREA, _RIGHT, _PAIRS = "error", "area", "right", "pairs"


def units(records: Iterable[AnyRecord], file: str) -> UnitsRead:
    """A row is one question with all of its responses."""
    name = set_of(file)
    return read_units(records, file, lambda row, fallback: (_unit(row, fallback, name),))


def _unit(row: Mapping[str, Any], fallback: str, name: str) -> Unit:
    item = question_of(row, fallback)
    gold = item.gold or ()
    if not 2 <= item.n <= MOST:
        raise RowError(f"a question needs 2 to {MOST} responses, this one has {item.n}")
    pairs = row.get("sampled_conflict_pairs")
    found = [by_gold(pair, gold) for pair in cast("list[Any]", pairs)] if isinstance(pairs, list) else []
    case = f"{name}/{item.id}"
    return Unit(item=replace(item, id=case), subset=name, case=case, facts={"pairs": tuple(found)})


def measure(judged: Sequence[Judged], counting: Counting) -> Measured | None:
    """At each k the gold of the response that is taken, and the best there is; beside them the error and the area."""
    (one,) = judged
    answer, gold = answer_of(one, counting), one.unit.item.gold or ()
    there = [max(gold[:k]) for k in range(1, len(gold) + 1)]
    if answer.failure is not None:
        worth = failed(counting)
        if worth is None:
            return None
        picked, area, right = [worth] * len(gold), worth, 0.0
    else:
        scores = scores_of(one.unit, answer)
        picked = [_picked(one.unit, scores[:k], counting) for k in range(1, len(gold) + 1)]
        area = auc(*([s for s, g in zip(scores, gold, strict=True) if (g > 0) is good] for good in (True, False)))
        right = sum(_pair(scores[better], scores[worse], counting) for better, worse in one.unit.facts["pairs"])
    values = {f"{_PICKED}{k}": value for k, value in enumerate(picked, 1)}
    values |= {f"{_THERE}{k}": there[k - 1] for k in STEPS if k <= len(there)}
    values[_ERROR] = sum((best - found) ** 2 for best, found in zip(there, picked, strict=True)) / len(picked)
    values[_AREA] = math.nan if area is None or min(gold) == max(gold) else area
    values |= {_RIGHT: float(right), _PAIRS: float(len(one.unit.facts["pairs"]))}
    every = (*(f"{_PICKED}{k}" for k in range(1, MOST + 1)), *(f"{_THERE}{k}" for k in STEPS))
    return Measured(case=one.unit.case, subset=one.unit.subset, values={**dict.fromkeys(every, math.nan), **values})


def _picked(unit: Unit, scores: Sequence[float], counting: Counting) -> float:
    """The gold of the response with the highest score, by the rule for several of them."""
    gold, winners = unit.item.gold or (), best_of(scores)
    match counting.ties:
        case "share":
            return sum(gold[index] for index in winners) / len(winners)
        case "wrong":
            return min(gold[index] for index in winners)
        case "random":
            order = derive_order(tie_seed(unit, counting), unit.item.n)
            return gold[next(index for index in order if index in winners)]
        case _:
            return gold[winners[0]]


def _pair(better: float, worse: float, counting: Counting) -> float:
    """A pair as ``ppe-correctness`` counts it: a tie is wrong, unless ties are shared."""
    return 0.5 if better == worse and counting.ties == "share" else float(better > worse)


def combine(cases: Mapping[str, Cases]) -> Score:
    """The mean of the ends of the curves; the curves, and the measures beside them, as tables."""
    names = ordered(cases, SETS)
    curves = {name: _curve(cases[name]) for name in names}
    parts = tuple(Part(name=name, value=percent(curves[name][-1]), n=cases[name].count) for name in names)
    steps = [k for k in STEPS if any(k <= len(curve) for curve in curves.values())]
    rows = [_row(name, cases[name], [_at(curves[name], k) for k in steps]) for name in names]
    there = [_row(name, cases[name], [cases[name].mean(f"{_THERE}{k}") for k in steps]) for name in names]
    beside = [_row(name, cases[name], _beside(cases[name], curves[name])) for name in names]
    curve = Table(
        name=CURVE,
        about="How often the response with the highest score among the first k is right; the best there is: how often "
        "one of them is.",
        columns=tuple(f"{K}{k}" for k in steps),
        rows=(*rows, *_means(OF_SETS, rows), *_means(PERFECT, there)),
    )
    measures = Table(
        name=BESIDE,
        about="max: the highest point of the curve. end: its last one. error: the mean over k of the squared "
        "difference to the best there is. area: under the ROC curve, within questions. pairs: the sampled ones that "
        "are right (the score of ppe-correctness).",
        columns=("max", "end", "error", "area", "pairs"),
        rows=(*beside, *_means(OF_SETS, beside)),
    )
    return Score(value=mean(part.value for part in parts), parts=parts, tables=(curve, measures))


def _curve(cases: Cases) -> list[float]:
    """The mean of what is taken at each k, as far as questions have so many responses."""
    found = [cases.mean(f"{_PICKED}{k}") for k in range(1, MOST + 1)]
    return [value for value in found if value is not None]


def _at(curve: Sequence[float], k: int) -> float | None:
    return curve[k - 1] if k <= len(curve) else None


def _beside(cases: Cases, curve: Sequence[float]) -> list[float | None]:
    return [max(curve), curve[-1], cases.mean(_ERROR), cases.mean(_AREA), cases.ratio(_RIGHT, _PAIRS)]


def _row(name: str, cases: Cases, values: Sequence[float | None]) -> Row:
    return Row(name=name, n=cases.count, values=tuple(map(percent, values)))


def _means(name: str, rows: Sequence[Row]) -> tuple[Row, ...]:
    """The mean of each column."""
    columns = zip(*(row.values for row in rows), strict=True)
    return (Row(name=name, n=sum(row.n for row in rows), values=tuple(mean(column) for column in columns)),)


PPE_BEST_OF_K = replace(
    PPE_CORRECTNESS,
    name="ppe-best-of-k",
    title="PPE Correctness (best of k)",
    about="every response scored, the best of the first k taken; how often it is right with all of them, mean of five "
    "sets; the curve over k beside it",
    kind="list",
    units=units,
    measure=measure,
    combine=combine,
)
