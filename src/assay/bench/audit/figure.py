"""What an audit found, as figures with their interval, what they are over, and what failed beside them.

A failed judgment is in no figure: it is counted in ``failed``. Owns: the record of a figure, a table and a section, and
the ways to make one. Does not own: what is measured (the modules of the parts), how it is shown (``report``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, TypeVar

from assay.core.config import Config
from assay.core.stats import wilson

from .kappa import bootstrap

U = TypeVar("U")
Scale = Literal["share", "difference", "coefficient"]
Z = 1.96


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
    n, hits = len(answers), sum(answers)
    if not n:
        return Figure(name=name, scale="share", failed=failed, blind=blind)
    low, high = wilson(hits, n, Z)
    return Figure(
        name=name, scale="share", value=hits / n, low=low, high=high, hits=hits, n=n, failed=failed, blind=blind
    )


def difference(name: str, one: Figure, other: Figure) -> Figure:
    """``one`` less ``other``, two shares of different questions; the interval is Newcombe's (1998, method 10)."""
    n = one.n + other.n
    if one.value is None or other.value is None:
        return Figure(name=name, scale="difference", n=n)
    value = one.value - other.value
    down = math.hypot(one.value - (one.low or 0.0), (other.high or 0.0) - other.value)
    up = math.hypot((one.high or 0.0) - one.value, other.value - (other.low or 0.0))
    return Figure(name=name, scale="difference", value=value, low=value - down, high=value + up, n=n, blind=0.0)


def paired_difference(name: str, pairs: Sequence[tuple[bool, bool]], *, failed: int = 0) -> Figure:
    """The share of yes in the first place less that in the second, over the same questions.

    The interval is that of Agresti and Min (2005): Wald's, with half a question more in each of the four cells.
    """
    n = len(pairs)
    if not n:
        return Figure(name=name, scale="difference", failed=failed)
    gained = sum(one and not other for one, other in pairs)
    lost = sum(other and not one for one, other in pairs)
    total, up, down = n + 2, gained + 0.5, lost + 0.5
    middle = (up - down) / total
    spread = Z * math.sqrt((up + down) / total - middle**2) / math.sqrt(total)
    return Figure(
        name=name,
        scale="difference",
        value=(gained - lost) / n,
        low=max(-1.0, middle - spread),
        high=min(1.0, middle + spread),
        n=n,
        failed=failed,
        blind=0.0,
    )


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
    low, high = bootstrap(units, statistic, seed=seed) or (None, None)
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
