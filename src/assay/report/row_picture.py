"""Named rows with marks as a block of a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .blocks import Block
from .picture import LETTER, Box, Label
from .plot_picture import GRID, ROW, SOFT, pale, run_colour
from .rows import Mark, Row, Rows

INK = "#1c1e22"
NAME, RAIL, TEXT = 420, 760, 330
"""Pixels of the three columns."""


def rows_block(shown: Rows) -> Block:
    """The rows under their title, each as high as it has marks."""
    scale = f"({shown.low:,.0f} to {shown.high:,.0f}{', logarithmic' if shown.log else ''})"
    boxes, labels = list[Box](), [Label(x=0, y=0, text=f"{shown.title} {scale}")]
    top = 34.0
    for row in shown.rows:
        labels.append(Label(x=20.0 * row.depth, y=top, text=_cut(row)))
        for line, mark in enumerate(row.marks):
            at = top + ROW * line
            boxes += _boxes(shown, mark, at)
            labels.append(Label(x=NAME + RAIL + 20, y=at, text=mark.text, colour=SOFT if mark.value is None else INK))
        top += ROW * max(1, len(row.marks)) + 6
    return Block(width=NAME + RAIL + TEXT, height=top, boxes=tuple(boxes), labels=tuple(labels))


def legend_block(names: Sequence[str]) -> Block:
    """Which run has which colour."""
    boxes, labels = list[Box](), list[Label]()
    left = 0.0
    for place, name in enumerate(names):
        boxes.append(Box(x=left, y=2, width=11, height=11, colour=run_colour(place)))
        labels.append(Label(x=left + 20, y=0, text=name))
        left += 20 + LETTER * (len(name) + 3)
    return Block(width=max(NAME + RAIL + TEXT, left), height=ROW, boxes=tuple(boxes), labels=tuple(labels))


def _boxes(shown: Rows, mark: Mark, top: float) -> Iterator[Box]:
    if mark.value is None:
        return
    middle, colour = top + 7, run_colour(mark.place)
    yield Box(x=NAME, y=middle, width=RAIL, height=1, colour=GRID)
    if mark.low is not None and mark.high is not None:
        low, high = (NAME + RAIL * shown.at(value) for value in (mark.low, mark.high))
        yield Box(x=low, y=middle - 2, width=high - low, height=5, colour=pale(colour))
    yield Box(x=NAME + RAIL * shown.at(mark.value) - 5, y=middle - 5, width=11, height=11, colour=colour)


def _cut(row: Row) -> str:
    """Name and note as far as there is room."""
    room = int((NAME - 20 - 20 * row.depth) / LETTER)
    text = f"{row.name} {row.note}" if row.note and len(row.name) + len(row.note) < room else row.name
    return text if len(text) <= room else text[: room - 2] + ".."
