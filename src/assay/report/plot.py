"""Plots of a few points a line, on plain or logarithmic axes, as SVG for a page.

Owns: scales, ticks, where everything lies. Does not own: what is plotted. ``plot_picture`` draws
the same as boxes for a PNG; long curves over steps are in ``curves``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape

from .curves import round_ticks
from .rows import style
from .words import number

WIDTH, HEIGHT = 384, 220
"""Of the plot itself, in units of its drawing."""
RING = ' class="ring"'
LEFT, TOP, RIGHT, BOTTOM = 48, 12, 16, 46


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One point; ``low`` and ``high``: its interval, where it has one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Points that belong together, joined from the left. ``colour``: a run's; ``hollow``: marks that are rings."""

    name: str
    points: tuple[Point, ...]
    colour: int
    hollow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A reference that does not depend on x: a dashed line. ``colour``: a run's, None = that of no run."""

    name: str
    y: float
    colour: int | None = None


@dataclass(frozen=True, kw_only=True)
class Plot:
    """Lines over a logarithmic x axis. ``base``: whose powers the axis counts in (2: votes, 10: parameters)."""

    title: str
    x_name: str
    lines: tuple[Line, ...]
    levels: tuple[Level, ...] = ()
    base: int = 2

    @cached_property
    def x_ticks(self) -> list[float]:
        """Where the x axis has its marks."""
        return log_ticks([point.x for line in self.lines for point in line.points], self.base)

    @cached_property
    def y_ticks(self) -> list[float]:
        """Where the y axis has its lines."""
        values = [level.y for level in self.levels]
        for line in self.lines:
            for point in line.points:
                values += [one for one in (point.y, point.low, point.high) if one is not None]
        return round_ticks(min(values), max(values))

    def x(self, value: float) -> float:
        """Where a value lies, in units of the drawing."""
        low, high = math.log(self.x_ticks[0]), math.log(self.x_ticks[-1])
        share = (math.log(value) - low) / (high - low) if high > low else 0.5
        return LEFT + 12 + (WIDTH - 24) * share

    def y(self, value: float) -> float:
        """Where a value lies, in units of the drawing."""
        low, high = self.y_ticks[0], self.y_ticks[-1]
        return TOP + HEIGHT * (1 - (value - low) / (high - low))


def log_ticks(values: Sequence[float], base: int) -> list[float]:
    """Marks from at most the lowest value to at least the highest: powers of 2, or 1, 2 and 5 times powers of 10."""
    low, high = min(values), max(values)
    if base == 2:
        first, last = math.floor(math.log2(low) + 1e-9), math.ceil(math.log2(high) - 1e-9)
        step = max(1, math.ceil((last - first) / 6))
        return [2.0**power for power in range(first, last + step, step)]
    powers = range(math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9) + 1)
    fine = len(powers) <= 3
    marks = [float(f"{part * 10.0**power:.12g}") for power in powers for part in ((1, 2, 5) if fine else (1,))]
    below = max((mark for mark in marks if mark <= low * (1 + 1e-9)), default=marks[0])
    above = min((mark for mark in marks if mark >= high * (1 - 1e-9)), default=marks[-1])
    return [mark for mark in marks if below <= mark <= above]


def plot_svg(plot: Plot) -> str:
    """The plot as an inline SVG element; colours and fonts come from the page's CSS by class."""
    shapes: list[str] = []
    for value in plot.y_ticks:
        y = plot.y(value)
        shapes.append(f'<line class="grid" x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        shapes.append(f'<text class="tick" x="{LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">{number(value)}</text>')
    for value in plot.x_ticks:
        x = f"{plot.x(value):.1f}"
        shapes.append(f'<text class="tick" x="{x}" y="{TOP + HEIGHT + 19}" text-anchor="middle">{number(value)}</text>')
    middle, under = LEFT + WIDTH / 2, TOP + HEIGHT + 39
    shapes.append(f'<text class="tick" x="{middle}" y="{under}" text-anchor="middle">{escape(plot.x_name)}</text>')
    for level in plot.levels:
        y, style = f"{plot.y(level.y):.1f}", _style(level.colour)
        shapes.append(
            f'<line class="level {style}" x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y}" y2="{y}">'
            f"<title>{escape(level.name)}: {level.y:.1f}</title></line>"
        )
    shapes += [shape for line in plot.lines for shape in _line(plot, line)]
    box, said = f"0 0 {LEFT + WIDTH + RIGHT} {TOP + HEIGHT + BOTTOM}", escape(_said(plot))
    return f'<svg class="curves plot" viewBox="{box}" role="img" aria-label="{said}">{"".join(shapes)}</svg>'


def legend(plot: Plot) -> str:
    """Names of lines and levels, for under the drawing."""
    keys = [
        f'<li class="{_style(line.colour)}"><i{RING if line.hollow else ""}></i>{escape(line.name)}</li>'
        for line in plot.lines
        if len(plot.lines) + len(plot.levels) > 1
    ]
    keys += [
        f'<li class="{_style(level.colour)}"><i class="dash"></i>{escape(level.name)} {level.y:.1f}</li>'
        for level in plot.levels
    ]
    return f'<ul class="keys">{"".join(keys)}</ul>' if keys else ""


def figure(plot: Plot) -> str:
    """The plot with its title and legend."""
    return f"<figure><figcaption>{escape(plot.title)}</figcaption>{plot_svg(plot)}{legend(plot)}</figure>"


def _line(plot: Plot, line: Line) -> Iterator[str]:
    own = _style(line.colour)
    for point in line.points:
        if point.low is not None and point.high is not None:
            x = f"{plot.x(point.x):.1f}"
            yield (
                f'<line class="reach {own}" x1="{x}" x2="{x}" y1="{plot.y(point.low):.1f}" '
                f'y2="{plot.y(point.high):.1f}"/>'
            )
    if len(line.points) > 1:
        path = " ".join(f"{plot.x(point.x):.1f},{plot.y(point.y):.1f}" for point in line.points)
        yield f'<polyline class="curve {own}" points="{path}"/>'
    for point in line.points:
        said = f"{line.name}, {number(point.x)}: {point.y:.1f}{_span(point)}"
        kind = f"{own} ring" if line.hollow else own
        yield (
            f'<circle class="{kind}" cx="{plot.x(point.x):.1f}" cy="{plot.y(point.y):.1f}" r="4">'
            f"<title>{escape(said)}</title></circle>"
        )


def _span(point: Point) -> str:
    return "" if point.low is None or point.high is None else f" (95 % {point.low:.1f}–{point.high:.1f})"


def _said(plot: Plot) -> str:
    lines = (
        f"{line.name} " + ", ".join(f"{number(point.x)}: {point.y:.1f}" for point in line.points) for line in plot.lines
    )
    levels = (f"{level.name} {level.y:.1f}" for level in plot.levels)
    return f"{plot.title}, by {plot.x_name}: " + "; ".join((*lines, *levels))


def _style(colour: int | None) -> str:
    return "plain-level" if colour is None else style(colour)
