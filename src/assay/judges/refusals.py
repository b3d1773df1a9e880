"""Items that a judge cannot take, and why: said of one item, and counted by reason over many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from assay.core.errors import InputError
from assay.core.types import Item

from .base import Judge, content_hash
from .parts import parts

MOST = 3
"""So many reasons are told; the rest are counted."""


def refusal(judge: Judge, item: Item) -> str | None:
    """Why the judge cannot judge such an item at all; None where it can."""
    try:
        for part in parts(judge, item):
            content_hash(judge, part)
    except InputError as error:
        return str(error)
    return None


def takes(judge: Judge, item: Item) -> bool:
    """Whether the judge can judge such an item at all."""
    return refusal(judge, item) is None


def counted(refused: Mapping[str, str]) -> str:
    """How many items were refused for which reason, the most frequent first.

    Args:
        refused: the reason by the item's id, which it names (``item 'a7' has no reference``): it is left out here, so
            that equal reasons are one.
    """
    found = Counter(reason.replace(f"item {name!r}", "the item") for name, reason in refused.items())
    ranked = found.most_common()
    told = [f"{count} because {reason}" for reason, count in ranked[:MOST]]
    rest = sum(count for _, count in ranked[MOST:])
    return "; ".join([*told, *([f"{rest} for other reasons"] if rest else [])])
