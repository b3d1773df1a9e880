"""What a generator makes: an item with gold, and what a careful judge finds in each of its candidates.

Owns: the records. Does not own: how they are drawn (the kinds), or how findings become a judge's text (``oracle``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from assay.core.types import Item
from assay.judges.shield import Language

from .draws import Draws

Shape: TypeAlias = Literal["single", "pair", "several"]
"""One candidate with gold 0 or 1; two, one of them right; four to eight, exactly one of them right."""
Group: TypeAlias = Literal["answers", "problems", "instructions"]

SHAPES: tuple[Shape, ...] = ("single", "pair", "several")


@dataclass(frozen=True, slots=True)
class Criterion:
    """A principle of the item: its name, what it asks for, and its weight in percent."""

    name: str
    asks: str
    weight: int


@dataclass(frozen=True, slots=True)
class Finding:
    """What the check of one criterion found in one candidate: a sentence that carries the computation."""

    met: bool
    said: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate before it has its place in an item: text, gold, what it is called in tables, one finding a criterion.

    ``form``: the surface form or the error of an answer (``words``, ``order of magnitude``, ``hedge``).
    """

    text: str
    gold: float
    form: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """An item whose gold a rule decided, with all that an oracle needs to say why.

    ``template``: the name of the text or function that asked; those of the training side and of the held-out side
    differ. ``forms``: one a candidate. ``findings``: by candidate, by criterion. ``normal``: the normal forms of the
    reference and of each candidate, ``("10800 s", "10800 s")`` for one.
    """

    item: Item
    kind: str
    template: str
    language: Language
    criteria: tuple[Criterion, ...]
    findings: tuple[tuple[Finding, ...], ...]
    forms: tuple[str, ...]
    normal: tuple[str, ...] | None = None

    def line(self, order: Sequence[int]) -> str | None:
        """The normal forms, of the reference and of the candidates in that order: ``10800 s | 10800 s``."""
        if self.normal is None:
            return None
        reference, *answers = self.normal
        return " | ".join((reference, *(answers[index] for index in order)))

    @property
    def gold(self) -> tuple[float, ...]:
        """Gold of each candidate; every generated item has it."""
        return self.item.gold or ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of item. ``make`` draws one of them from ``draws`` in the given shape; ``draws`` says language and side.

    ``reference``: its items have a reference, so that the ``verifier`` can judge them.
    """

    name: str
    group: Group
    languages: tuple[Language, ...]
    reference: bool
    make: Callable[[Draws, Shape], Generated]
