"""What a judge is known by: a hash of what it asks, and one of everything that shapes its verdicts.

They are two because they do different work. Seeds and cached texts follow from what is asked; so another way of reading
(a lenient parser, another threshold) reads the very same texts, and the two can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.core.seeds import digest
from assay.core.types import Json

from .scores import RULES_VERSION

ASKING_VERSION = 1
"""Goes up when the way in which items are shown changes without a change of any prompt file."""


@dataclass(frozen=True, slots=True)
class Names:
    """``asks``: name and hash of what is asked. ``identity``: name and hash of that and of how replies are read."""

    asks: str
    identity: str


def identify(name: str, *, asked: Sequence[Json], read: Sequence[Json] = ()) -> Names:
    """Both as ``<name>-<12 hex digits>``.

    Args:
        asked: prompt texts, labels and options that shape the requests.
        read: options that shape only the reading; the parsers' version is added.
    """
    asks = f"{name}-{digest([ASKING_VERSION, *asked])[:12]}"
    return Names(asks=asks, identity=f"{name}-{digest([asks, RULES_VERSION, *read])[:12]}")
