"""Principles apart from the critique: what a response is judged by, as data instead of as a part of the judge's text.

They come from the user, from another judge's recorded text (``principle_text``), or from a model that is asked for
them alone (``principle_writer``); the pointwise judge takes them instead of writing its own. Owns: the record, its
checks, where an item carries it, how a prompt shows it. Does not own: files of principles (``data.principles``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, cast

from pydantic import Field, StringConstraints, TypeAdapter, ValidationError

from assay.core.config import Config, explain
from assay.core.errors import InputError
from assay.core.kinds import refuse_mixed
from assay.core.seeds import digest
from assay.core.types import Item, Json

from .shield import shield
from .template import conversation

KEY = "principles"
"""Where an item's metadata holds the principles of its prompt."""

LONGEST_NAME = 200


class Principle(Config):
    """One thing that a response is judged by."""

    name: Annotated[str, StringConstraints(pattern=r"^\S(?:.*\S)?$", max_length=LONGEST_NAME)]
    text: str = ""
    """What it asks for, where its name does not say it all."""
    weight: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """How much it counts beside the others: only the ratio matters. None = not said; then of none of them."""


Principles = tuple[Principle, ...]
_ADAPTER: TypeAdapter[Principles] = TypeAdapter(Principles)


def check_principles(principles: Sequence[Principle]) -> str | None:
    """What is wrong with them together, or None: there are none, two have one name, or only some have a weight."""
    if not principles:
        return "there are no principles"
    names = [principle.name.casefold() for principle in principles]
    twice = next((p.name for place, p in enumerate(principles) if p.name.casefold() in names[:place]), None)
    if twice is not None:
        return f"two principles are called {twice!r}"
    without = [principle.name for principle in principles if principle.weight is None]
    if without and len(without) < len(principles):
        return f"principle {without[0]!r} has no weight, others have: give all of them one, or none"
    return None


def to_principles(value: object) -> Principles:
    """Principles out of JSON: a list of objects with ``name``, ``text`` and ``weight``.

    Raises:
        ValueError: it is something else, or ``check_principles`` objects.
    """
    try:
        refuse_mixed(Principles, value)
        principles = _ADAPTER.validate_python(value)
    except ValidationError as error:
        raise ValueError(explain(error, Principles)) from error
    problem = check_principles(principles)
    if problem is not None:
        raise ValueError(problem)
    return principles


def from_principles(principles: Sequence[Principle]) -> list[Json]:
    """The JSON of ``to_principles``."""
    return [cast("Json", principle.model_dump(mode="json")) for principle in principles]


def stored_principles(item: Item, *, judge: str) -> Principles:
    """The principles that the item carries in its metadata.

    Raises:
        InputError: it carries none, or something that is none.
    """
    if KEY not in item.metadata:
        raise InputError(
            f"item {item.id!r} has no {KEY!r} in its metadata, which judge {judge!r} was told to judge by; make them "
            "with 'assay principles', or give some for all items"
        )
    try:
        return to_principles(item.metadata[KEY])
    except ValueError as error:
        raise InputError(f"item {item.id!r}: metadata.{KEY}: {error}") from error


def conversation_hash(item: Item) -> str:
    """What stored principles are found by: a hash of the conversation alone, whatever its candidates."""
    return digest([[role, text] for role, text in conversation(item)])


def show_principles(principles: Sequence[Principle]) -> str:
    """The principles as a prompt shows them: numbered, weights as shares of 100 %, texts shielded."""
    total = sum(principle.weight or 0.0 for principle in principles)
    return "\n".join(
        f"{place}. {_head(principle, total)}"
        + (f": {shield(principle.text.strip())}" if principle.text.strip() else "")
        for place, principle in enumerate(principles, 1)
    )


def _head(principle: Principle, total: float) -> str:
    share = "" if principle.weight is None else f" ({100 * principle.weight / total:.3g}%)"
    return shield(principle.name) + share
