"""A training run as one section of another page: what was trained, its two curves, and the link to its own page."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from urllib.parse import quote

from .curves import Curve, Panel, svg, thinned
from .training import Points, TrainingRun
from .words import percent


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingStory:
    """What the section tells."""

    run: TrainingRun
    lead: str
    """What was trained, in a sentence or two."""
    right: Points
    """(steps made, share of held-out questions answered right), by rule and not by the judge."""
    page: str
    """Where the run's own page is, relative to this one."""


def training_section(story: TrainingStory) -> str:
    """The section as HTML."""
    steps = max(1, story.run.steps)
    panels = [
        Panel(title=title, curves=(Curve(name=name, points=points),), steps=steps)
        for title, name, points in (
            ("Held-out questions answered right", "greedy, by rule", story.right),
            ("Reward", "mean, by the judge", thinned(story.run.points("reward/mean"))),
        )
        if points
    ]
    figures = "".join(
        f"<figure><figcaption>{escape(panel.title)} <small>{escape(panel.curves[0].name)}</small></figcaption>"
        f"{svg(panel)}</figure>"
        for panel in panels
    )
    (_, before), (_, after) = story.right[0], story.right[-1]
    return (
        f'<section id="training"><h2>Training</h2><p class="lead">{escape(story.lead)} Held-out questions answered '
        f"right: <b>{escape(percent(before))}</b> before, <b>{escape(percent(after))}</b> after. "
        f'<a href="{escape(quote(story.page))}">Everything about the run</a></p>'
        f'<div class="columns">{figures}</div></section>'
    )
