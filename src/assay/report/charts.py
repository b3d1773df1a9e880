"""Small inline SVG drawings. Places are percentages of the width, so that a drawing fits a phone and a wide screen.

Colours come from the page's CSS by class; nothing here is text, the figures stand beside the drawing in HTML.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from assay.core.intervals import Interval

BINS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One stretch of a stacked bar."""

    name: str
    count: int
    style: str
    """CSS class."""


def stacked_bar(parts: Sequence[Part]) -> str:
    """A bar whose stretches are the counts' shares; a stretch that is there at all is at least a hair wide."""
    total = sum(part.count for part in parts)
    shapes: list[str] = []
    at = 0.0
    for part in parts:
        width = 100 * part.count / total if total else 0.0
        title = f"<title>{escape(part.name)}: {part.count:,}</title>"
        drawn = max(width, 0.4) if part.count else 0.0
        shapes.append(f'<rect class="{part.style}" x="{at:.2f}%" width="{drawn:.2f}%" height="100%">{title}</rect>')
        at += width
    said = ", ".join(f"{part.name} {part.count:,}" for part in parts if part.count)
    return f'<svg class="bar" role="img" aria-label="{escape(said)}">{"".join(shapes)}</svg>'


def whisker(interval: Interval, chance: float | None, said: str) -> str:
    """A dot with its interval on a line from 0 to 1, and a tick where chance is, if that is anywhere."""
    low, value, high = (100 * place for place in (interval.low, interval.value, interval.high))
    tick = (
        ""
        if chance is None
        else f'<line class="blind" x1="{100 * chance:.2f}%" x2="{100 * chance:.2f}%" y1="0%" y2="100%"/>'
    )
    return (
        f'<svg class="whisker" role="img" aria-label="{escape(said)}"><title>{escape(said)}</title>'
        '<line class="rail" x1="0%" x2="100%" y1="50%" y2="50%"/>'
        f"{tick}"
        f'<line class="span" x1="{low:.2f}%" x2="{high:.2f}%" y1="50%" y2="50%"/>'
        f'<circle class="dot" cx="{value:.2f}%" cy="50%" r="4.5"/></svg>'
    )


def histogram(right: Iterable[float], wrong: Iterable[float], low: float, high: float) -> str:
    """Scores of right answers above a base line, of wrong ones below it, each as shares of its own number."""
    up, down = _shares(right, low, high), _shares(wrong, low, high)
    tallest = max([*up, *down], default=0.0) or 1.0
    width = 100 / BINS
    shapes: list[str] = []
    for place in range(BINS):
        x = f'x="{place * width + 0.4:.2f}%" width="{width - 0.8:.2f}%"'
        for share, style, top in ((up[place], "gold-right", True), (down[place], "gold-wrong", False)):
            if share:
                height = max(1.0, 48 * share / tallest)
                y = 50 - height if top else 50.0
                shapes.append(f'<rect class="{style}" {x} y="{y:.2f}%" height="{height:.2f}%"/>')
    line = '<line class="rail" x1="0%" x2="100%" y1="50%" y2="50%"/>'
    said = "Shares of the scores of right answers, above the line, and of wrong answers, below it"
    return f'<svg class="histogram" role="img" aria-label="{said}">{"".join(shapes)}{line}</svg>'


def _shares(scores: Iterable[float], low: float, high: float) -> list[float]:
    counts = [0] * BINS
    for score in scores:
        place = int((score - low) / (high - low) * BINS) if high > low else 0
        counts[min(max(place, 0), BINS - 1)] += 1
    total = sum(counts)
    return [count / total if total else 0.0 for count in counts]
