"""The user's own file: ``pairs``, ``bon`` (best of n) and ``single`` (one labelled answer).

Fields are found as ``assay judge`` finds them, or mapped by the user (``own``). Subsets come from the field
``subset`` or ``category`` where the rows have one; the score is the mean of the subsets, the mean of all cases stands
beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from assay.core.types import Item
from assay.data.fieldmap import FieldMap
from assay.data.lookup import find
from assay.data.records import AnyRecord, Record
from assay.data.rows import RowError
from assay.data.shapes import detect

from ..benchmark import Benchmark, Kind, UnitsRead
from ..counting import Counting
from ..credit import Rule, credit
from ..measure import Cases, Measured
from ..parts import mean, mean_of_subsets, ordered, percent, right
from ..reading import LeftOut, item_of, read_units
from ..score import Part, Score
from ..single import GOOD, SCORE, single_values
from ..unit import Judged, Unit

ALL = "all"
OVERALL = "all cases"
_SUBSETS = ("subset", "category")
_FAIR = Rule(tie="share", failure=0.0)


def units(records: Iterable[AnyRecord], file: str, kind: Kind, fields: FieldMap) -> UnitsRead:
    """A row is an item with gold; one whose gold prefers no candidate is left out."""
    rows = list(records)
    shape = next((found for one in rows if isinstance(one, Record) and (found := detect(one.row))), None)
    merged = fields.over(shape.fields) if shape else fields
    return read_units(rows, file, lambda row, fallback: (_unit(row, fallback, kind, merged),))


def _unit(row: Mapping[str, Any], fallback: str, kind: Kind, fields: FieldMap) -> Unit:
    item = item_of(row, fields, fallback)
    _check(item, kind)
    subset = next((str(value) for name in _SUBSETS if (value := find(row, name)) is not None), ALL)
    return Unit(item=item, subset=subset, case=item.id)


def _check(item: Item, kind: Kind) -> None:
    gold = item.gold
    if gold is None:
        raise RowError("gold is missing")
    if kind == "single":
        if item.n != 1:
            raise RowError(f"one answer a row is judged here, this one has {item.n}: take 'pairs' or 'bon'")
        if gold[0] not in (0.0, 1.0):
            raise RowError(f"gold must be 0 or 1 (wrong or right), not {gold[0]:g}")
        return
    if item.n < 2 or (kind == "pair" and item.n != 2):
        due = "two answers" if kind == "pair" else "at least two answers"
        raise RowError(f"a row needs {due}, this one has {item.n}")
    if len(set(gold)) == 1:
        raise LeftOut("gold prefers no candidate")


def measure(judged: Sequence[Judged], counting: Counting) -> Measured | None:
    """1 if the best candidate by gold wins; a tie with it is worth its share."""
    return right(judged, credit(judged[0], counting, _FAIR))


def combine(cases: Mapping[str, Cases]) -> Score:
    """The mean of the subsets; beside it that of all cases."""
    found = mean_of_subsets(cases, ())
    pooled = percent(Cases.pooled(cases.values()).mean("right")) if cases else None
    return Score(value=found.value, parts=found.parts, beside={OVERALL: pooled})


def single_measure(judged: Sequence[Judged], counting: Counting) -> Measured | None:
    """The score of the answer and whether it is right."""
    unit, values = judged[0].unit, single_values(judged[0], counting)
    return None if values is None else Measured(case=unit.case, subset=unit.subset, values=values)


def single_combine(cases: Mapping[str, Cases]) -> Score:
    """The mean area under the ROC curve of the subsets; beside it that of all cases."""
    parts = tuple(
        Part(name=name, value=percent(cases[name].auc(SCORE, GOOD)), n=cases[name].count) for name in ordered(cases, ())
    )
    if len(parts) == 1:
        return Score(value=parts[0].value, parts=parts, beside={OVERALL: parts[0].value})
    pooled = percent(Cases.pooled(cases.values()).auc(SCORE, GOOD)) if cases else None
    return Score(value=mean(part.value for part in parts), parts=parts, beside={OVERALL: pooled})


def own(name: str, fields: FieldMap | None = None) -> Benchmark:
    """``pairs``, ``bon`` or ``single``, with what the user says of the fields.

    Raises:
        KeyError: another name.
    """
    kind, about = _KINDS[name]
    one = kind == "single"
    return Benchmark(
        name=name,
        title=f"Own {name}",
        license="the user's own",
        about=about,
        kind=kind,
        units=partial(units, kind=kind, fields=fields or FieldMap()),
        measure=single_measure if one else measure,
        combine=single_combine if one else combine,
    )


_KINDS: dict[str, tuple[Kind, str]] = {
    "pairs": ("pair", "your own pairs, any format that is read: mean accuracy of the subsets"),
    "bon": ("list", "your own lists with gold for each answer: how often the best one wins, mean of the subsets"),
    "single": ("single", "your own answers labelled right or wrong: mean area under the ROC curve of the subsets"),
}
