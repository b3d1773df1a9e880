"""Plots as blocks of a picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from .blocks import Block
from .curves import COLOURS, line_boxes
from .picture import LETTER, Box, Label
from .plot import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Line, Plot
from .words import number

SOFT, GRID, PAPER = "#5c6169", "#e4e1d9", "#faf9f6"
_RUNS = (COLOURS[0], COLOURS[2], COLOURS[1], COLOURS[3], COLOURS[4], COLOURS[7])
"""In the order of the page's ``--j0`` to ``--j5``."""
SCALE = 1.7
"""Pixels of a unit of a plot."""
ROW = 22
"""Pixels from one line of text to the next."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A plot somewhere in the picture."""

    plot: Plot
    left: float
    top: float

    def x(self, value: float) -> float:
        return self.left + SCALE * value

    def y(self, value: float) -> float:
        return self.top + 28 + SCALE * value


def plot_block(plot: Plot) -> Block:
    """The plot with its title and legend."""
    place = _Place(plot, 0.0, 0.0)
    keys = list(_keys(place))
    return Block(
        width=SCALE * (LEFT + WIDTH + RIGHT),
        height=28 + SCALE * (TOP + HEIGHT + BOTTOM) + ROW * len(keys) + 12,
        boxes=(*_grid(place), *_shapes(place), *(box for found, _ in keys for box in found)),
        labels=(*_ticks(place), *(label for _, label in keys)),
    )


def _grid(place: _Place) -> Iterator[Box]:
    for value in place.plot.y_ticks:
        yield Box(x=place.x(LEFT), y=place.y(place.plot.y(value)), width=SCALE * WIDTH, height=1, colour=GRID)


def _ticks(place: _Place) -> Iterator[Label]:
    plot = place.plot
    yield Label(x=place.left, y=place.top, text=plot.title)
    for value in plot.y_ticks:
        text = number(value)
        yield Label(x=place.x(LEFT) - 8 - LETTER * len(text), y=place.y(plot.y(value)) - 7, text=text, colour=SOFT)
    under = place.y(TOP + HEIGHT) + 10
    for value in plot.x_ticks:
        yield _centred(place.x(plot.x(value)), under, number(value))
    yield _centred(place.x(LEFT + WIDTH / 2), under + ROW, plot.x_name)


def _centred(x: float, y: float, text: str) -> Label:
    return Label(x=x - LETTER * len(text) / 2, y=y, text=text, colour=SOFT)


def _shapes(place: _Place) -> Iterator[Box]:
    plot = place.plot
    for level in plot.levels:
        for dash in range(round(place.x(LEFT)), round(place.x(LEFT + WIDTH)), 14):
            yield Box(x=dash, y=place.y(plot.y(level.y)) - 1, width=8, height=2, colour=_colour(level.colour))
    for line in plot.lines:
        yield from _line(place, line, _colour(line.colour))


def _line(place: _Place, line: Line, colour: str) -> Iterator[Box]:
    plot = place.plot
    for point in line.points:
        if point.low is not None and point.high is not None:
            high, low = place.y(plot.y(point.high)), place.y(plot.y(point.low))
            yield Box(x=place.x(plot.x(point.x)) - 1, y=high, width=2, height=low - high, colour=pale(colour))
    dots = [(place.x(plot.x(point.x)), place.y(plot.y(point.y))) for point in line.points]
    for (x, y), (to_x, to_y) in pairwise(dots):
        yield from line_boxes(x, y, to_x, to_y, colour)
    for x, y in dots:
        yield Box(x=x - 4, y=y - 4, width=9, height=9, colour=colour)
        if line.hollow:
            yield Box(x=x - 2, y=y - 2, width=5, height=5, colour=PAPER)


def _keys(place: _Place) -> Iterator[tuple[list[Box], Label]]:
    """What each mark is; a level is a thin stroke."""
    plot = place.plot
    told = [(line.name, _colour(line.colour), 14.0, line.hollow) for line in plot.lines]
    told += [(f"{level.name} {level.y:.1f}", _colour(level.colour), 4.0, False) for level in plot.levels]
    left = place.x(LEFT)
    for row, (name, colour, thick, hollow) in enumerate(told):
        y = place.y(TOP + HEIGHT + BOTTOM) + 8 + ROW * row
        boxes = [Box(x=left, y=y + 7 - thick / 2, width=16, height=thick, colour=colour)]
        if hollow:
            boxes.append(Box(x=left + 4, y=y + 4, width=8, height=6, colour=PAPER))
        yield boxes, Label(x=left + 24, y=y, text=name)


def run_colour(place: int) -> str:
    """The colour of a run, as on the page."""
    return _RUNS[place % len(_RUNS)]


def _colour(place: int | None) -> str:
    return SOFT if place is None else run_colour(place)


def pale(colour: str) -> str:
    """A colour halfway to the paper."""
    parts = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{(part + 0xF6) // 2:02x}" for part in parts)
