"""RM-Bench (Liu et al. 2024, arXiv 2410.16184): three chosen and three rejected answers by style, nine comparisons.

The styles are concise, detailed plain and detailed markdown. Of the 3x3 comparisons (chosen style by rejected style)
the diagonal is normal, the upper right is hard (the rejected answer looks better), the lower left easy. A domain is
the mean of the three, the score the mean of the domains; safety-refuse and safety-response are pooled into one.

The files of single domains have no ``domain`` field: their name says it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from assay.data.fieldmap import FieldMap
from assay.data.records import AnyRecord
from assay.data.rows import RowError

from ..benchmark import Benchmark, Source, UnitsRead
from ..counting import Counting
from ..credit import credit
from ..measure import Cases, Measured
from ..parts import accuracy, mean
from ..reading import item_of, known_subset, pair_of, read_units
from ..score import Part, Score
from ..unit import Judged, Unit

SUBSETS = ("chat", "math", "code", "safety-refuse", "safety-response")
DOMAINS = ("chat", "math", "code", "safety")
LEVELS = ("hard", "normal", "easy")
STYLES = 3
_FIELDS = FieldMap(prompt="prompt", chosen=("chosen",), rejected=("rejected",), id="id", metadata=("domain",))


def units(records: Iterable[AnyRecord], file: str) -> UnitsRead:
    """A row is a case of nine pairs, the chosen answer first."""
    stem = file.rsplit("/", 1)[-1].split(".")[0].removesuffix("_filtered")
    return read_units(records, file, lambda row, fallback: _units(row, fallback, stem))


def _units(row: Mapping[str, Any], fallback: str, stem: str) -> list[Unit]:
    domain = known_subset(row.get("domain", stem), SUBSETS, "domain (the field, else the file's name)")
    item = item_of(row, _FIELDS, fallback)
    if item.gold != (1.0,) * STYLES + (0.0,) * STYLES:
        raise RowError(f"a row holds {STYLES} chosen and {STYLES} rejected answers, this one has gold {item.gold}")
    case = f"{domain}/{item.id}"
    return [
        Unit(
            item=pair_of(item, chosen, STYLES + rejected, f"{case}/{chosen}-{rejected}"),
            subset=domain,
            case=case,
            units_of_case=STYLES * STYLES,
            facts={"chosen": chosen, "rejected": rejected, "level": _level(chosen, rejected)},
        )
        for chosen in range(STYLES)
        for rejected in range(STYLES)
    ]


def _level(chosen: int, rejected: int) -> str:
    return "normal" if chosen == rejected else "hard" if rejected > chosen else "easy"


def measure(judged: Sequence[Judged], counting: Counting) -> Measured | None:
    """The share of right comparisons of each level; a row with an excluded comparison is excluded."""
    values: dict[str, list[float]] = {level: [] for level in LEVELS}
    for one in judged:
        value = credit(one, counting)
        if value is None:
            return None
        values[one.unit.facts["level"]].append(value)
    unit = judged[0].unit
    shares = {level: sum(found) / len(found) for level, found in values.items()}
    return Measured(case=unit.case, subset=unit.subset, values=shares)


def combine(cases: Mapping[str, Cases]) -> Score:
    """The mean of the domains; the levels over all domains stand beside it."""
    parts: list[Part] = []
    for domain in DOMAINS:
        own = [found for name, found in cases.items() if name.split("-")[0] == domain]
        if own:
            pooled = Cases.pooled(own)
            levels = tuple(accuracy(level, pooled, level) for level in LEVELS)
            parts.append(Part(name=domain, value=mean(p.value for p in levels), n=pooled.count, parts=levels))
    beside = {level: mean(part.parts[place].value for part in parts) for place, level in enumerate(LEVELS)}
    return Score(value=mean(part.value for part in parts), parts=tuple(parts), beside=beside)


RMBENCH = Benchmark(
    name="rmbench",
    title="RM-Bench",
    license="ODC-BY",
    about="nine comparisons a row by style (hard, normal, easy) in chat, math, code and safety; mean of the domains",
    kind="pair",
    subsets=SUBSETS,
    sources=(Source(hub="THU-KEG/RM-Bench", split="train", file="total_dataset"),),
    files=("*_filtered.json", "*total_dataset.json"),
    units=units,
    measure=measure,
    combine=combine,
)
