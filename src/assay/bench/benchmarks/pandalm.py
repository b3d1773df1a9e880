"""PandaLM's test set (Wang et al. 2023, arXiv 2306.05087): pairs of answers, each labelled by three people.

The preference is that of the majority; pairs that most call a tie, or about which all three differ, are left out, and a
tie of the judge is wrong. That is our reading: the paper counts ties as a third class, which a judge that scores
candidates does not name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from assay.data.fieldmap import FieldMap
from assay.data.records import AnyRecord
from assay.data.rows import RowError

from ..benchmark import Benchmark, UnitsRead
from ..counting import Counting
from ..credit import credit
from ..measure import Cases, Measured
from ..parts import mean_of_subsets, right
from ..reading import LeftOut, item_of, read_units
from ..score import Score
from ..unit import Judged, Unit

ALL = "all"
_PEOPLE = ("annotator1", "annotator2", "annotator3")
_FIELDS = FieldMap(prompt="prompt", candidates=("response1", "response2"), gold=("gold",), id="idx", metadata=())


def units(records: Iterable[AnyRecord], file: str) -> UnitsRead:
    """A row is a pair with the majority's preference; one without is left out."""
    return read_units(records, file, _unit)


def _unit(row: Mapping[str, Any], fallback: str) -> tuple[Unit]:
    labels = [row.get(name) for name in _PEOPLE]
    if any(label not in (0, 1, 2) for label in labels):
        raise RowError(f"the labels {', '.join(_PEOPLE)} must be 0 (tie), 1 or 2, not {labels!r:.80}")
    ((label, count),) = Counter(labels).most_common(1)
    if count == 1:
        raise LeftOut("three different labels")
    if label == 0:
        raise LeftOut("a tie by most labels")
    told = [str(row[name]) for name in ("instruction", "input") if row.get(name)]
    made = {"prompt": "\n\n".join(told), "gold": [label == 1, label == 2], **_answers(row)}
    item = item_of({**row, **made}, _FIELDS, fallback)
    return (Unit(item=item, subset=ALL, case=item.id),)


def _answers(row: Mapping[str, Any]) -> dict[str, str]:
    """The file holds the answer "True" as a boolean."""
    return {name: str(row[name]) for name in ("response1", "response2") if isinstance(row.get(name), bool)}


def measure(judged: Sequence[Judged], counting: Counting) -> Measured | None:
    """1 if the answer that most people preferred wins."""
    return right(judged, credit(judged[0], counting))


def combine(cases: Mapping[str, Cases]) -> Score:
    """The share of pairs that are right."""
    return mean_of_subsets(cases, (ALL,))


PANDALM = Benchmark(
    name="pandalm",
    title="PandaLM",
    license="Apache-2.0",
    about="pairs with the preference of most of three people; accuracy where there is one",
    kind="pair",
    subsets=(ALL,),
    files=("*testset*.json",),
    units=units,
    measure=measure,
    combine=combine,
)
