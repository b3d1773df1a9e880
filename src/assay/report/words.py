"""Figures as words: how numbers are written, what a failure means, and when a judge says nothing.

Shared by the terminal tables and the page, so that both say the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay.core.intervals import Interval

from .agreement import Accepting, Ranking
from .summary import Group, JudgeSummary

WIDE = 0.15
"""An interval that reaches further than this from its value has seen too few judgments to say anything."""

FAILURES = {
    "parse_error": "the judge's reply holds no verdict that can be read",
    "truncated": "the reply was cut off before its verdict",
    "refused": "the judge declined to judge",
    "timeout": "no reply before the deadline",
    "overloaded": "the engine turned the request away",
    "context_overflow": "the prompt is longer than the judge can read",
    "engine_error": "the engine broke or could not be reached",
    "asleep": "the engine was asleep",
    "cancelled": "the caller left",
    "low_mass": "the judge wanted to say something other than a verdict",
    "too_few_votes": "too few of the votes held",
    "meta_error": "the meta reward model failed",
    "bad_request": "the request could not be judged as it was",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """The one figure that stands for a judge: its name, value, interval, the chance level, and over how many."""

    name: str
    interval: Interval
    chance: float
    n: int

    @property
    def value(self) -> str:
        return f"{self.interval.value:.3f}" if self.name == "AUC" else percent(self.interval.value)

    @property
    def span(self) -> str:
        low, high = self.interval.low, self.interval.high
        return f"{low:.3f}–{high:.3f}" if self.name == "AUC" else span(self.interval)


def headline(judge: JudgeSummary | Group) -> Headline | None:
    """Balanced accuracy where candidates are accepted or refused, else AUC, else the best of n; None without gold."""
    single, ranked = judge.accepting, judge.ranking
    if single is not None and single.balanced is not None:
        return Headline(name="balanced accuracy", interval=single.balanced, chance=0.5, n=single.n)
    if single is not None and single.auc is not None:
        return Headline(name="AUC", interval=single.auc, chance=0.5, n=single.n)
    if ranked is not None and ranked.right.interval is not None:
        return Headline(name="best on top", interval=ranked.right.interval, chance=ranked.chance, n=ranked.right.n)
    return None


def chance_note(judge: JudgeSummary) -> str | None:
    """A plain sentence when the judge cannot be told from chance, or does worse; None when it does better."""
    figures = _against_chance(judge.accepting, judge.ranking)
    if not figures or any(interval.low > chance for interval, chance in figures):
        return None
    if all(interval.high < chance for interval, chance in figures):
        return "worse than chance: look for swapped labels or a swapped scale before anything else"
    if any(max(i.high - i.value, i.value - i.low) > WIDE for i, _ in figures):
        return "cannot be told from chance with so few judgments"
    return "at chance level: its scores are plumbing, not quality"


def percent(value: float, digits: int = 1) -> str:
    """A share as ``12.3 %``. Not quite all reads as ``> 99.9 %``, not quite nothing as ``< 0.1 %``."""
    shown = round(value * 100, digits)
    step = 10**-digits
    if shown == 100 and value < 1:
        return f"> {100 - step:.{digits}f} %"
    if shown == 0 and value > 0:
        return f"< {step:.{digits}f} %"
    return f"{shown:.{digits}f} %"


def span(interval: Interval) -> str:
    """An interval of shares as ``94.7-98.2``, in percent."""
    return f"{interval.low * 100:.1f}–{interval.high * 100:.1f}"


def number(value: float) -> str:
    """A count or a score without noise: ``1,234``, ``0.973``, ``7``."""
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.3g}" if abs(value) < 100 else f"{value:,.0f}"


def power(value: float) -> str:
    """A large count: ``1.23e+15``; below a million as ``number`` writes it."""
    return number(value) if value < 1e6 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """``430 ms``, ``2.31 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _against_chance(single: Accepting | None, ranked: Ranking | None) -> list[tuple[Interval, float]]:
    found: list[tuple[Interval | None, float]] = []
    if single is not None and (single.balanced or single.auc):
        found = [(single.balanced, 0.5), (single.auc, 0.5)]
    elif ranked is not None:
        found = [(ranked.right.interval, ranked.chance)]
    return [(interval, chance) for interval, chance in found if interval is not None]
