"""Curves of a run: which panels there are, and their drawing as SVG for the page and as boxes for a PNG.

Owns: which metric stands in which panel, scales and ticks. Does not own: reading (``training``), the page.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from itertools import pairwise

from .picture import LETTER, Box, Label, Picture
from .training import PHASES, Points, TrainingRun, is_fit
from .words import number

WIDTH, HEIGHT = 640, 240
"""Of a panel's plot, in units of its drawing."""
LEFT, TOP, BOTTOM = 76, 14, 30
COLOURS = ("#0f766e", "#b45309", "#5146d8", "#be185d", "#4d7c0f", "#0369a1", "#9f1239", "#475569")
MOST = 400
"""Points that a curve is drawn with."""

_FIXED: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("Reward", (("reward/mean", "mean"), ("reward/std", "standard deviation"))),
    ("KL", (("train/kl", "to the reference"), ("train/approx_kl", "to the rollout's policy"))),
    ("Entropy", (("train/entropy", "of the policy"),)),
    ("Response length, tokens", (("rollout/response_length", "mean"),)),
    (
        "Failures and cut-off answers, share",
        (
            ("reward/failed", "judgments failed"),
            ("rollout/failed", "rollouts failed"),
            ("rollout/truncated", "cut off"),
            ("advantage/groups_dead", "groups without a difference"),
        ),
    ),
    ("Seconds by phase", tuple((f"time/{phase}", phase) for phase in PHASES)),
    ("Gradient norm", (("train/grad_norm", "before clipping"),)),
)
_MONITORED = (
    "agreement", "false_positives", "consistency", "length_correlation", "second_agreement", "gold_agreement",
    "gold_gap",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One line of a panel."""

    name: str
    points: Points


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Curves over the same steps, on one scale."""

    title: str
    curves: tuple[Curve, ...]
    steps: int

    @cached_property
    def ticks(self) -> list[float]:
        """Where the scale has its lines."""
        values = [value for curve in self.curves for _, value in curve.points]
        return round_ticks(min(values), max(values))


_FITTED: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("Loss", (("train/loss", "training"), ("eval/held_out/loss", "held out"))),
    ("Accuracy", (("train/accuracy", "training"), ("eval/held_out/accuracy", "held out"))),
    ("Learning rate", (("train/lr", "of the update"),)),
)
"""Of a fit to examples."""


def panels(run: TrainingRun) -> list[Panel]:
    """The panels for which there are numbers."""
    said = [
        *(_FITTED if is_fit(run) else ()),
        _FIXED[0],
        ("Evaluation, pass@1", tuple((f"eval/{n}/pass@1", n) for n in run.eval_sets)),
        *_FIXED[1:],
    ]
    said.append(("Monitor", tuple(_monitored(run))))
    found: list[Panel] = []
    for title, names in said:
        curves = [Curve(name=shown, points=thinned(run.points(name))) for name, shown in names]
        drawn = tuple(curve for curve in curves if any(value for _, value in curve.points) or len(curves) == 1)
        if any(curve.points for curve in drawn):
            found.append(Panel(title=title, curves=tuple(c for c in drawn if c.points), steps=max(1, run.steps)))
    return found


def thinned(points: Points, most: int = MOST) -> Points:
    """At most so many points: means over equal stretches, the last point as it is."""
    size = math.ceil(len(points) / most)
    if size <= 1:
        return points
    parts = [points[start : start + size] for start in range(0, len(points), size)]
    return [(part[len(part) // 2][0], math.fsum(value for _, value in part) / len(part)) for part in parts]


def round_ticks(low: float, high: float) -> list[float]:
    """Three to seven round values from at most ``low`` to at least ``high``."""
    size = max(abs(low), abs(high))
    if high - low <= max(1e-9 * size, 1e-30):
        margin = 0.1 * size or 0.5
        low, high = low - margin, high + margin
    rough = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * part for part in (1.0, 2.0, 2.5, 5.0, 10.0) if power * part >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [float(f"{step * place:.12g}") for place in range(first, last + 1)]


def svg(panel: Panel) -> str:
    """The panel as an inline SVG element; colours and fonts come from the page's CSS by class."""
    shapes: list[str] = []
    for value in panel.ticks:
        y = _y(panel, value)
        shapes.append(f'<line class="grid" x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        shapes.append(f'<text class="tick" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_number(value)}</text>')
    for step in step_ticks(panel.steps):
        x = _x(panel, step)
        shapes.append(f'<text class="tick" x="{x:.1f}" y="{TOP + HEIGHT + 20}" text-anchor="middle">{step}</text>')
    for place, curve in enumerate(panel.curves):
        line = " ".join(f"{_x(panel, step):.1f},{_y(panel, value):.1f}" for step, value in curve.points)
        shapes.append(f'<polyline class="curve c{place % len(COLOURS)}" points="{line}"/>')
        if len(curve.points) < 30:
            shapes += [
                f'<circle class="c{place % len(COLOURS)}" cx="{_x(panel, step):.1f}" cy="{_y(panel, value):.1f}" r="3">'
                f"<title>step {step}: {_number(value)}</title></circle>"
                for step, value in curve.points
            ]
    said = f"{panel.title}: " + "; ".join(f"{curve.name} {_ends(curve)}" for curve in panel.curves)
    box = f"0 0 {LEFT + WIDTH + 20} {TOP + HEIGHT + BOTTOM}"
    return f'<svg class="curves" viewBox="{box}" role="img" aria-label="{escape(said)}">{"".join(shapes)}</svg>'


def picture(title: str, shown: Sequence[Panel]) -> Picture:
    """All panels, two in a row, under a title."""
    width, height = LEFT + WIDTH + 40, TOP + HEIGHT + BOTTOM + 60
    boxes, labels = list[Box](), [Label(x=16, y=16, text=title)]
    for place, panel in enumerate(shown):
        left, top = (place % 2) * width, 48 + (place // 2) * height
        boxes += [_moved(box, left, top) for box in _boxes(panel)]
        labels += [Label(x=one.x + left, y=one.y + top, text=one.text, colour=one.colour) for one in _labels(panel)]
    rows = math.ceil(len(shown) / 2)
    across = 2 if len(shown) > 1 else 1
    size = max(width * across, 32 + LETTER * len(title))
    return Picture(width=size, height=56 + height * rows, boxes=tuple(boxes), labels=tuple(labels))


def step_ticks(steps: int) -> list[int]:
    """Whole steps from 0 on, about five."""
    step = max(1, round(round_ticks(0, steps)[1]))
    return list(range(0, steps + 1, step))


def _boxes(panel: Panel) -> Iterator[Box]:
    for value in panel.ticks:
        yield Box(x=LEFT, y=24 + _y(panel, value), width=WIDTH, height=1, colour="#e4e1d9")
    for place, curve in enumerate(panel.curves):
        colour = COLOURS[place % len(COLOURS)]
        yield Box(x=LEFT + _legend_at(panel, place), y=TOP + HEIGHT + BOTTOM + 26, width=14, height=12, colour=colour)
        dots = [(_x(panel, step), 24 + _y(panel, value)) for step, value in curve.points]
        yield from (Box(x=x - 2, y=y - 2, width=5, height=5, colour=colour) for x, y in dots if len(dots) < 30)
        for (x, y), (to_x, to_y) in pairwise(dots):
            yield from line_boxes(x, y, to_x, to_y, colour)


def line_boxes(x: float, y: float, to_x: float, to_y: float, colour: str) -> Iterator[Box]:
    """A line as a column for each pixel across."""
    columns = max(1, round(to_x - x))
    for column in range(columns):
        here, there = (y + (to_y - y) * part / columns for part in (column, column + 1))
        low, high = min(here, there), max(here, there)
        yield Box(x=x + column, y=low - 1, width=1, height=high - low + 2, colour=colour)


def _labels(panel: Panel) -> Iterator[Label]:
    yield Label(x=LEFT, y=4, text=panel.title)
    soft = "#5c6169"
    for value in panel.ticks:
        text = _number(value)
        yield Label(x=LEFT - 8 - LETTER * len(text), y=18 + _y(panel, value), text=text, colour=soft)
    for step in step_ticks(panel.steps):
        x = _x(panel, step) - LETTER * len(str(step)) / 2
        yield Label(x=x, y=24 + TOP + HEIGHT + 12, text=str(step), colour=soft)
    for place, curve in enumerate(panel.curves):
        yield Label(x=LEFT + 20 + _legend_at(panel, place), y=TOP + HEIGHT + BOTTOM + 25, text=curve.name)


def _legend_at(panel: Panel, place: int) -> float:
    return sum(36 + LETTER * len(curve.name) for curve in panel.curves[:place])


def _moved(box: Box, left: float, top: float) -> Box:
    return Box(x=box.x + left, y=box.y + top, width=box.width, height=box.height, colour=box.colour)


def _x(panel: Panel, step: int) -> float:
    return LEFT + WIDTH * step / panel.steps


def _y(panel: Panel, value: float) -> float:
    low, high = panel.ticks[0], panel.ticks[-1]
    return TOP + HEIGHT * (1 - (value - low) / (high - low))


def _number(value: float) -> str:
    return "0" if value == 0 else number(value) if abs(value) >= 0.01 else f"{value:.1e}"


def _ends(curve: Curve) -> str:
    return f"from {_number(curve.points[0][1])} to {_number(curve.points[-1][1])}"


def _monitored(run: TrainingRun) -> Iterator[tuple[str, str]]:
    for name in run.names:
        if name.startswith("monitor/") and name.split("/")[-1] in _MONITORED:
            yield name, name.removeprefix("monitor/").replace("_", " ")
