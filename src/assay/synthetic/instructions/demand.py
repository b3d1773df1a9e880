"""What an instruction demands of a text: its words, the checker that decides, and how a draft keeps or breaks it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..draws import Draws
from ..record import Finding
from .draft import Draft

Part: TypeAlias = Literal["length", "wording", "edges", "casing", "marks", "whole"]
"""What a demand is about; no two demands of an item are about the same part, and one on the whole stands alone."""

ORDER: tuple[Part, ...] = ("whole", "marks", "wording", "edges", "casing", "length")
"""In this order demands shape a draft: the length comes last, since all others change it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """``text``: as the user says it. ``asks``: the criterion. ``check``: the rule that decides, on the text alone."""

    name: str
    title: str
    text: str
    asks: str
    part: Part
    place: int
    """Of its phrasing among those of its side."""
    check: Callable[[str], Finding]
    keep: Callable[[Draft], None]
    breaks: Callable[[Draft], None]


MakeDemand: TypeAlias = Callable[[Draws], Demand]
