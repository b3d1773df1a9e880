"""Blocks of a picture: each knows its size and what is in it; they stand beside each other while there is room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .picture import LETTER, Box, Label, Picture

ACROSS = 1560
"""Pixels in which blocks stand beside each other."""
GAP, MARGIN = 24, 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Boxes and labels from 0, 0 on, in pixels."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    labels: tuple[Label, ...]


def picture_of(title: str, blocks: Sequence[Block]) -> Picture:
    """All blocks below a title, in order."""
    boxes, labels = list[Box](), [Label(x=MARGIN, y=MARGIN, text=title)]
    left, top, height = float(MARGIN), 56.0, 0.0
    for block in blocks:
        if left > MARGIN and left + block.width > MARGIN + ACROSS:
            left, top, height = float(MARGIN), top + height + GAP, 0.0
        boxes += [replace(box, x=box.x + left, y=box.y + top) for box in block.boxes]
        labels += [replace(label, x=label.x + left, y=label.y + top) for label in block.labels]
        left, height = left + block.width + GAP, max(height, block.height)
    ends = [label.x + LETTER * len(label.text) for label in labels] + [box.x + box.width for box in boxes]
    return Picture(
        width=round(max(ends)) + MARGIN,
        height=round(top + height) + MARGIN,
        boxes=tuple(boxes),
        labels=tuple(labels),
    )
