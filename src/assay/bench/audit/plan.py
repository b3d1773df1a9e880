"""What an audit asks. Data only."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast, get_args

from pydantic import BeforeValidator, Field

from assay.core.config import Config

Family = Literal["base", "order", "length", "style", "attack"]
"""What is done to an item: nothing, candidates swapped, answers changed in length or style, an attack for an answer."""

Part = Literal["order", "length", "style", "attacks", "repeats"]
"""The parts of an audit that need judgments of their own; the others read those of the items as they are."""
PARTS: tuple[Part, ...] = get_args(Part)


def _split(said: object) -> object:
    """Texts with commas in them as several."""
    if not isinstance(said, list | tuple):
        return said
    texts = cast("tuple[Any, ...]", said)
    return tuple(part.strip() for one in texts for part in str(one).split(","))


class AuditPlan(Config):
    """How much is asked. Which items are taken follows from their content and the seed, not from their order."""

    items: int = Field(default=40, ge=1)
    """Most items that are judged."""
    attack_items: int = Field(default=4, ge=1)
    """Questions that every attack string is tried on."""
    repeat_items: int = Field(default=8, ge=1)
    """Items that are asked about several times at temperature 0."""
    repeats: int = Field(default=3, ge=2)
    """How many times each of them is."""
    parts: Annotated[tuple[Part, ...], BeforeValidator(_split)] = PARTS
    """order, length, style, attacks, repeats; all unless said; with commas between them, or repeatable."""
    own: tuple[str, ...] = ()
    """Authors that are the judge's own model, for self-preference; without it the model that answers."""
    annotators: Annotated[tuple[str, ...], BeforeValidator(_split)] = ()
    """Fields with one human label each (A, B, tie, 1, 0, ...), where several people labelled every item; with commas
    between them, or repeatable."""
    seed: int = Field(default=0, ge=0)
    """Another seed takes other items and draws anew."""
