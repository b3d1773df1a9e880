"""Parts of a score out of cases: means in percent, and what is built of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .measure import Cases, Measured
from .score import Part, Score
from .unit import Judged

RIGHT = "right"
"""The component of a case that is simply right (1), wrong (0) or something between."""


def right(judged: Sequence[Judged], value: float | None) -> Measured | None:
    """A case that is worth ``value``; None = it is excluded."""
    if value is None:
        return None
    unit = judged[0].unit
    return Measured(case=unit.case, subset=unit.subset, values={RIGHT: value})


def percent(value: float | None) -> float | None:
    """A share as percent."""
    return None if value is None else 100 * value


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of the values that are there; None where none is."""
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None


def accuracy(name: str, cases: Cases, component: str = RIGHT) -> Part:
    """The mean of a component, in percent, as a part."""
    return Part(name=name, value=percent(cases.mean(component)), n=cases.count)


def ordered(cases: Mapping[str, Cases], official: Sequence[str]) -> list[str]:
    """The subsets that are there: the official ones in their order, then others by name."""
    return [*(name for name in official if name in cases), *sorted(set(cases) - set(official))]


def mean_of_subsets(cases: Mapping[str, Cases], official: Sequence[str], component: str = RIGHT) -> Score:
    """The plain mean over the subsets that are there, each the mean of its cases."""
    parts = tuple(accuracy(name, cases[name], component) for name in ordered(cases, official))
    return Score(value=mean(part.value for part in parts), parts=parts)
