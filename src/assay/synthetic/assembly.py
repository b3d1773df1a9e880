"""Candidates, however they were made, as one item with gold and findings."""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.types import Candidate as Shown
from assay.core.types import Item, Message

from .draws import Draws
from .record import Candidate, Criterion, Generated, Shape


def size_of(draws: Draws, shape: Shape) -> int:
    """How many candidates an item of this shape has."""
    return {"single": 1, "pair": 2}.get(shape) or draws.between(4, 8)


def build(
    draws: Draws,
    shape: Shape,
    *,
    kind: str,
    question: str,
    template: str,
    reference: str | None,
    candidates: Sequence[Candidate],
    criteria: Sequence[Criterion],
    normal: Sequence[str] | None = None,
) -> Generated:
    """The item; its id follows from its draws, so that equal draws give equal ids."""
    forms = tuple(candidate.form for candidate in candidates)
    item = Item(
        id=f"{kind}-{draws.side}-{shape}-{draws.index}" + (f"-s{draws.seed}" if draws.seed else ""),
        messages=(Message(role="user", content=question),),
        candidates=tuple(Shown(text=candidate.text) for candidate in candidates),
        reference=reference,
        gold=tuple(candidate.gold for candidate in candidates),
        metadata={
            "source": "synthetic",
            "kind": kind,
            "side": draws.side,
            "template": template,
            "language": draws.language,
            "forms": list(forms),
        },
    )
    return Generated(
        item=item,
        kind=kind,
        template=template,
        language=draws.language,
        criteria=tuple(criteria),
        findings=tuple(candidate.findings for candidate in candidates),
        forms=forms,
        normal=None if normal is None else tuple(normal),
    )
