"""What the labels of a triage come to: how many of each class, with intervals, and for the whole run. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.core.config import Config

from ..audit.figure import Figure, share
from .sheet import MEANING, Cause, Labelled


class ClassCount(Config):
    """One class. ``drawn``: its share of the labelled cases. ``run``: of all wrong cases of the run, with each stratum
    weighted by how many wrong cases it has; None where a stratum has no label."""

    cause: Cause
    meaning: str
    drawn: Figure
    run: Figure | None
    by_stratum: dict[str, int]


class Triage(Config):
    """The whole: classes in the order of the paper; ``strata``: labelled cases and wrong ones of each."""

    classes: tuple[ClassCount, ...]
    labelled: int
    unlabelled: int
    strata: dict[str, tuple[int, int]]


def count(rows: Sequence[Labelled]) -> Triage:
    """The counts of a labelled file; rows without a class are counted and left out."""
    told = [row for row in rows if row.cause is not None]
    sizes = {row.stratum: row.stratum_wrong for row in rows}
    strata = {name: (sum(row.stratum == name for row in told), size) for name, size in sizes.items()}
    return Triage(
        classes=tuple(_class(cause, told, strata) for cause in Cause),
        labelled=len(told),
        unlabelled=len(rows) - len(told),
        strata=strata,
    )


def _class(cause: Cause, told: Sequence[Labelled], strata: dict[str, tuple[int, int]]) -> ClassCount:
    own = {name: [row.cause is cause for row in told if row.stratum == name] for name in strata}
    return ClassCount(
        cause=cause,
        meaning=MEANING[cause],
        drawn=share(cause, [row.cause is cause for row in told]),
        run=_weighted(cause, [(share(name, own[name]), size) for name, (_, size) in strata.items()]),
        by_stratum={name: sum(answers) for name, answers in own.items()},
    )


def _weighted(name: str, parts: Sequence[tuple[Figure, int]]) -> Figure | None:
    """The mean of shares by weight. The interval adds the distances to the strata's Wilson limits as squares (Zou and
    Donner 2008); that the run is finite is left out, so that it is rather too wide."""
    total = sum(size for _, size in parts)
    value = down = up = 0.0
    for part, size in parts:
        if part.value is None or part.low is None or part.high is None:
            return None
        weight = size / total
        value += weight * part.value
        down += (weight * (part.value - part.low)) ** 2
        up += (weight * (part.high - part.value)) ** 2
    if not parts:
        return None
    low, high = max(0.0, value - math.sqrt(down)), min(1.0, value + math.sqrt(up))
    return Figure(name=name, scale="share", value=value, low=low, high=high, n=sum(part.n for part, _ in parts))
