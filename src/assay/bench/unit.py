"""``Unit``, ``Answer``, ``Judged``: one question of a benchmark, what was answered to it, and the two together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.core.types import FailureKind, Item


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One question to the judge, and what the official score needs to know of it.

    ``item``: its id is unique within the benchmark; its candidates stand in the order of the file, the right ones
    first where the file tells right from wrong; ``gold`` is set.
    """

    item: Item
    subset: str
    """The subset of the official score that it counts for."""
    case: str
    """Units of one case are measured together (a row of RM-Bench asks nine questions); the item's id where there is
    nothing to put together. Unique within the subset."""
    units_of_case: int = 1
    """How many units the case has: with fewer of them it is incomplete, and not measured."""
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the benchmark's formula needs beside the answer."""
    line: int = 0
    """Line of its record in the file; units of one record stand together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a judge, a reward model or a table says about a unit: exactly one of scores, choice and failure.

    Equal best scores are a tie, which the rule for ties settles: give the scores as they were voted, before any tie was
    broken. A choice is final (a pairwise judge's, or one that a soft tie-break made).
    """

    scores: tuple[float, ...] | None = None
    """Higher is better, in the order of the item's candidates."""
    choice: int | None = None
    """Index of the best candidate, in the order of the item's candidates."""
    failure: FailureKind | None = None

    def __post_init__(self) -> None:
        said = [self.scores is not None, self.choice is not None, self.failure is not None]
        if sum(said) != 1:
            raise ValueError(f"an answer is scores, a choice or a failure, exactly one of them, not {self}")
        if self.scores is not None and not (self.scores and all(map(math.isfinite, self.scores))):
            raise ValueError(f"scores must be finite numbers, at least one, not {self.scores}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A unit and what was answered to it."""

    unit: Unit
    answer: Answer
    """What all votes come to."""
    by_order: tuple[Answer, ...] = ()
    """Where both orders were asked: the answers to (0, 1) and to (1, 0), each put back into the item's own order."""
    lenient: Answer | None = None
    """``answer``, had the lenient parser read the same texts; None where they were not read again."""
    lenient_by_order: tuple[Answer, ...] = ()
