"""What an audit found, as figures with their interval, what they are over, and what failed beside them.

A failed judgment is in no figure: it is counted in ``failed``. Owns: the record of a figure, a table and a section, and
the ways to make one. Does not own: what is measured (the modules of the parts), how it is shown (``report``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeVar

from assay.core import intervals
from assay.core.config import Config
from assay.core.intervals import Interval, Rate

U = TypeVar("U")
Scale = Literal["share", "difference", "coefficient"]


class Figure(Config):
    """One number. ``value`` None: nothing to measure it on."""

    name: str
    """What it is, in words."""
    scale: Scale
    """A share of 0 to 1, a difference of shares, or a coefficient (kappa, alpha, an area)."""
    value: float | None = None
    low: float | None = None
    """The 95 % interval."""
    high: float | None = None
    hits: int | None = None
    """Of a share: how many of ``n``."""
    n: int = 0
    """Questions that it is over."""
    failed: int = 0
    """Questions that belong to it and came to no verdict."""
    blind: float | None = None
    """What a judge would get that sees nothing."""

    @property
    def interval(self) -> Interval | None:
        """The value with its limits, where there are any."""
        if self.value is None or self.low is None or self.high is None:
            return None
        return Interval(value=self.value, low=self.low, high=self.high)


class Table(Config):
    """Rows under a heading each; cells are texts."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Section(Config):
    """One part of the audit. ``absent``: why there is nothing to say. ``findings``: what a reader must know."""

    name: str
    title: str
    about: str
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    findings: tuple[str, ...] = ()
    absent: str | None = None
    notes: tuple[str, ...] = ()


def measured(*figures: Figure) -> tuple[Figure, ...]:
    """Those that are over anything, be it that all of it failed."""
    return tuple(figure for figure in figures if figure.n or figure.failed)


def share(name: str, answers: Sequence[bool], *, failed: int = 0, blind: float | None = None) -> Figure:
    """The share of yes, with its Wilson interval."""
    rate = Rate(hits=sum(answers), n=len(answers))
    figure = Figure(name=name, scale="share", n=rate.n, failed=failed, blind=blind)
    return _with(figure, rate.interval, hits=rate.hits if rate.n else None)


def difference(name: str, one: Figure, other: Figure) -> Figure:
    """``one`` less ``other``, two shares of different questions."""
    known, less = one.interval, other.interval
    figure = Figure(name=name, scale="difference", n=one.n + other.n)
    return figure if known is None or less is None else _with(figure, intervals.difference(known, less), blind=0.0)


def paired_difference(name: str, pairs: Sequence[tuple[bool, bool]], *, failed: int = 0) -> Figure:
    """The share of yes in the first place less that in the second, over the same questions."""
    figure = Figure(name=name, scale="difference", n=len(pairs), failed=failed)
    return _with(figure, intervals.paired_difference(pairs), blind=0.0 if pairs else None)


def bootstrapped(
    name: str,
    units: Sequence[U],
    statistic: Callable[[Sequence[U]], float | None],
    *,
    seed: int,
    failed: int = 0,
    blind: float | None = 0.0,
) -> Figure:
    """A coefficient over units, with the interval of a bootstrap that draws units."""
    low, high = intervals.bootstrap(units, statistic, seed=seed) or (None, None)
    return Figure(
        name=name,
        scale="coefficient",
        value=statistic(units),
        low=low,
        high=high,
        n=len(units),
        failed=failed,
        blind=blind,
    )


def _with(figure: Figure, found: Interval | None, **facts: float | None) -> Figure:
    """The figure with these numbers, where there is anything to say."""
    if found is None:
        return figure
    return figure.model_copy(update={"value": found.value, "low": found.low, "high": found.high, **facts})
