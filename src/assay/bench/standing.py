"""Where an answer that is judged on its own stands: in which questions of a benchmark, and at which place of each.

It travels in the metadata of what is asked, so that the votes alone tell the questions, those too that share an
answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from assay.core.config import Config
from assay.core.types import Item

KEY = "stands_in"


class Place(Config):
    """``unit``: id of the question. ``place``: among its ``of`` answers. ``gold``: of this answer, in this question."""

    unit: str
    subset: str
    place: int
    of: int
    gold: float | None = None


def with_places(item: Item, places: Sequence[Place]) -> Item:
    """The item of one answer, with its places beside what else is said of it."""
    return replace(item, metadata={**item.metadata, KEY: [one.model_dump(mode="json") for one in places]})


def read_places(metadata: Mapping[str, Any]) -> tuple[Place, ...]:
    """The places in the metadata of a result; none where it is about a whole question, or of no benchmark."""
    return tuple(Place.model_validate(one) for one in metadata.get(KEY, ()))
