"""Length and style: does the verdict follow what an answer looks like instead of what it says?

Each is looked at twice. Over the pairs as they are: is the judge right more often where the better answer is also the
longer one (the one with more markup)? And over pairs that were changed in nothing else: does making both alike, or
giving the worse answer what the judge may like, change the verdict?
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.core.types import Candidate
from assay.judges.matched import near, plain

from .figure import Figure, Section, difference, measured, paired_difference, share
from .looks import Look, Seen, only


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """A property of an answer that is not its worth. ``amount``: how much of it; ``alike``: whether two amounts count
    as the same."""

    family: Literal["length", "style"]
    title: str
    about: str
    more: str
    amount: Callable[[Candidate], int]
    alike: Callable[[int, int], bool]
    changes: Mapping[str, tuple[str, str]]
    """The variants, first the one that pleases by its worse answer: what it is, and what right verdicts are lost to."""
    finding: str


LENGTH = Surface(
    family="length",
    title="Length",
    about="Filler that says nothing is put before an answer: before the shorter one until both are equally long, and "
    "before the worse one until it is twice as long as the better one. The verdict should stay.",
    more="longer",
    amount=lambda candidate: len(candidate.text),
    alike=near,
    changes={"worse longer": ("the worse longer", "filler"), "matched": ("both equally long", "equal length")},
    finding="filler turns right verdicts round: a policy would learn to write more",
)
STYLE = Surface(
    family="style",
    title="Style",
    about="Headings, lists and bold are taken off both answers, or put on the worse one. The verdict should stay.",
    more="more marked-up",
    amount=lambda candidate: len(candidate.text) - len(plain(candidate.text)),
    alike=lambda one, other: one == other,
    changes={"worse dressed up": ("the worse dressed up", "markup"), "matched": ("both without markup", "plain text")},
    finding="markup turns right verdicts round: a policy would learn to decorate",
)


def surface_section(items: Sequence[Seen], surface: Surface) -> Section:
    """The figures of one surface, over pairs with a better and a worse answer."""
    pairs = [item for item in items if item.base.better is not None]
    section = Section(name=surface.family, title=surface.title, about=surface.about)
    if not pairs:
        return section.model_copy(update={"absent": "no pair has a better and a worse answer by gold"})
    pleased, matched = (_changed(pairs, surface, variant) for variant in surface.changes)
    low = pleased[0].low
    findings = (surface.finding,) if low is not None and low > 0 else ()
    figures = measured(*pleased, *matched, *_as_they_are(pairs, surface))
    return section.model_copy(update={"figures": figures, "findings": findings})


def _changed(pairs: Sequence[Seen], surface: Surface, variant: str) -> list[Figure]:
    """How often the same questions are right with the answers changed and as they are, and what is lost.

    A judge that answers at random loses as many as it gains: only what is lost on balance is the change's doing.
    """
    change, lost = surface.changes[variant]
    made = [(item.base, other) for item in pairs if (other := item.of(surface.family, variant)) is not None]
    both = [(one.right, other.right) for one, other in made if one.right is not None and other.right is not None]
    failed = len(made) - len(both)
    return [
        paired_difference(f"lost to {lost}", [(bool(one), bool(other)) for one, other in both], failed=failed),
        share(f"right, {change}", [bool(right) for _, right in both], failed=failed, blind=0.5),
        share(f"right before {lost}", [bool(right) for right, _ in both], failed=failed, blind=0.5),
    ]


def _as_they_are(pairs: Sequence[Seen], surface: Surface) -> list[Figure]:
    """Over the pairs that differ in it."""
    looks = [(item.base, _more(item.base, surface)) for item in pairs]
    apart = [(look, more) for look, more in looks if more is not None]
    won = [(look, more) for look, more in apart if look.winner is not None]
    failed = sum(look.scores is None for look, _ in apart)
    by_judge = share(f"prefers the {surface.more} answer", [look.winner == more for look, more in won], failed=failed)
    by_gold = share(f"gold prefers the {surface.more} answer", [look.better == more for look, more in apart])
    helped = _right([look for look, more in apart if look.better == more])
    hindered = _right([look for look, more in apart if look.better != more])
    one = share(f"right, better answer {surface.more}", helped, blind=0.5)
    other = share(f"right, worse answer {surface.more}", hindered, blind=0.5)
    return [by_judge, by_gold, one, other, difference("between the two", one, other)]


def _right(looks: Sequence[Look]) -> list[bool]:
    return [bool(look.right) for look in looks if look.right is not None]


def _more(look: Look, surface: Surface) -> int | None:
    """Which of the two answers has more of it; None where they are alike."""
    one, other = (surface.amount(candidate) for candidate in look.item.candidates)
    return None if surface.alike(one, other) else only((one, other))
