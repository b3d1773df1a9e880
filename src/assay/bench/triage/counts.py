"""What the labels of a triage come to: how many of each class, with intervals, and for the whole run. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.config import Config
from assay.core.intervals import weighted_mean

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
    """The mean of shares by weight; that the run is finite is left out, so that the interval is rather too wide."""
    known = [(part.interval, size) for part, size in parts if part.interval is not None]
    if not known or len(known) < len(parts):
        return None
    found = weighted_mean(known)
    n = sum(part.n for part, _ in parts)
    return Figure(name=name, scale="share", value=found.value, low=found.low, high=found.high, n=n)
