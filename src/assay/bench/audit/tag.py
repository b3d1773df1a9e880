"""The tag that every item of an audit carries: which item it was made of and what was done to it.

It travels in the item's metadata, so that a result file says of itself what was asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from assay.core.config import Config
from assay.core.types import Item

from .plan import Family

KEY = "audit"


class Tag(Config):
    """``of``: id of the item as it is. ``n``: its candidates, of which a judge may see one at a time. ``place``: where
    an attack stands. ``humans``: labels of several people, each as rewards of the candidates or None. ``order``: where
    each candidate stands in the file."""

    of: str
    family: Family
    n: int
    variant: str = ""
    place: int = 0
    humans: tuple[tuple[float, ...] | None, ...] = ()
    order: tuple[int, ...] = ()


def tagged(item: Item, tag: Tag) -> Item:
    """The item with nothing but the tag beside it."""
    return replace(item, metadata={KEY: tag.model_dump(mode="json")})


def read_tag(metadata: Mapping[str, Any]) -> Tag | None:
    """The tag in the metadata of an item or of a result of an audit; None where there is none."""
    told = metadata.get(KEY)
    return None if told is None else Tag.model_validate(told)
