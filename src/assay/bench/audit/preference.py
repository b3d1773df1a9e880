"""Self-preference: does a judge favour what its own model wrote, beyond what gold grants it?

Compared are pairs with one answer of its own and one of somebody else, by whether gold prefers the own one: a judge
without self-preference is right as often on both kinds (equal opportunity, Wataoka et al. 2024, arXiv 2410.21819).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .figure import Section, Table, difference, measured, share
from .looks import Look, Seen
from .names import is_own

MOST_AUTHORS = 12


def preference_section(items: Sequence[Seen], own: Sequence[str]) -> Section:
    """The figures of pairs with one answer of the judge's own model.

    Args:
        own: names of the judge's model, as authors have them.
    """
    section = Section(
        name="self_preference",
        title="Self-preference",
        about="Pairs of an answer by the judge's own model and one by another. It should be right as often on either.",
    )
    authors = Counter(one.author for item in items for one in item.base.item.candidates if one.author is not None)
    pairs = [(item.base, place) for item in items if (place := _own(item.base, own)) is not None]
    if not pairs:
        there = ", ".join(name for name, _ in authors.most_common(MOST_AUTHORS)) or "none is named"
        reason = f"no pair has one answer by {' or '.join(own) or 'the judge'}; authors: {there}"
        return section.model_copy(update={"absent": reason})
    labelled = [(look, place) for look, place in pairs if look.better is not None]
    won = [(look, place) for look, place in pairs if look.winner is not None]
    failed = sum(look.scores is None for look, _ in pairs)
    mine = share("right, own answer better", _right(labelled, own=True), blind=0.5)
    theirs = share("right, other's answer better", _right(labelled, own=False), blind=0.5)
    gap = difference("self-preference, between the two", mine, theirs)
    figures = measured(
        gap,
        mine,
        theirs,
        share("prefers its own answer", [look.winner == place for look, place in won], failed=failed),
        share("gold prefers its own answer", [look.better == place for look, place in labelled]),
    )
    finding = "the judge favours its own model's answers: let another model judge them"
    findings = (finding,) if gap.low is not None and gap.low > 0 else ()
    table = Table(
        title="Answers by author",
        columns=("author", "answers"),
        rows=tuple((name, str(n)) for name, n in authors.most_common(MOST_AUTHORS)),
    )
    return section.model_copy(update={"figures": figures, "findings": findings, "tables": (table,)})


def _own(look: Look, own: Sequence[str]) -> int | None:
    """The place of the one own answer of a pair."""
    mine = [place for place, one in enumerate(look.item.candidates) if is_own(one.author, own)]
    known = all(one.author is not None for one in look.item.candidates)
    return mine[0] if look.item.n == 2 and len(mine) == 1 and known else None


def _right(pairs: Sequence[tuple[Look, int]], *, own: bool) -> list[bool]:
    return [look.right for look, place in pairs if (look.better == place) is own and look.right is not None]
