"""When the figures of the monitor are an alarm. Pure: the same history and thresholds, the same alarms.

Three kinds of threshold: a bound on the last figure; a bound on how far it has moved since the first look, for figures
whose level is the judge's and whose change is not; and a bound on the mean of the last looks, for noisy ones.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from .config import MonitorConfig

SMOOTH = 5
"""Looks that a noisy figure is averaged over."""

Figures = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """``figure`` is beyond ``threshold``. ``text`` says what that means."""

    figure: str
    value: float
    threshold: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    figure: str
    value: Callable[[Sequence[float]], float]
    threshold: Callable[[MonitorConfig], float]
    below: bool
    text: str


def _last(seen: Sequence[float]) -> float:
    return seen[-1]


def _fall(seen: Sequence[float]) -> float:
    return seen[0] - seen[-1]


def _rise(seen: Sequence[float]) -> float:
    return seen[-1] - seen[0]


def _recent(seen: Sequence[float]) -> float:
    return abs(statistics.fmean(seen[-SMOOTH:])) if len(seen) >= SMOOTH else 0.0


_RULES: tuple[_Rule, ...] = (
    _Rule(
        figure="agreement",
        value=_fall,
        threshold=lambda c: c.monitor_max_agreement_drop,
        below=False,
        text="the judge agrees less with the gold set than at the start: it is not the judge that it was",
    ),
    _Rule(
        figure="false_positives",
        value=_last,
        threshold=lambda c: c.monitor_max_false_positives,
        below=False,
        text="the judge accepts answers that say nothing",
    ),
    _Rule(
        figure="consistency",
        value=_last,
        threshold=lambda c: c.monitor_min_consistency,
        below=True,
        text="verdicts depend on the order in which the candidates stand",
    ),
    _Rule(
        figure="length_correlation",
        value=_recent,
        threshold=lambda c: c.monitor_max_length_correlation,
        below=False,
        text="within groups the reward goes with the length of the answer",
    ),
    _Rule(
        figure="second_agreement",
        value=_last,
        threshold=lambda c: c.monitor_min_second_agreement,
        below=True,
        text="the second judge prefers other answers",
    ),
    _Rule(
        figure="gold_gap",
        value=_rise,
        threshold=lambda c: c.monitor_max_gap_growth,
        below=False,
        text="rewards have risen further than right answers have: the policy has learned to please the judge",
    ),
    _Rule(
        figure="failed",
        value=_last,
        threshold=lambda c: c.monitor_max_failed,
        below=False,
        text="judgments of the monitor fail",
    ),
)


def alarms(history: Sequence[Figures], config: MonitorConfig) -> list[Alarm]:
    """The alarms of the last look.

    Args:
        history: the figures of every look so far, oldest first, by their short names (``agreement``). A figure that the
            last look does not have raises none.
    """
    if not history:
        return []
    found: list[Alarm] = []
    for rule in _RULES:
        if rule.figure not in history[-1]:
            continue
        value = rule.value([look[rule.figure] for look in history if rule.figure in look])
        threshold = rule.threshold(config)
        if value < threshold if rule.below else value > threshold:
            found.append(Alarm(figure=rule.figure, value=value, threshold=threshold, text=rule.text))
    return found


def told(step: int, found: Sequence[Alarm], label: str = "") -> str:
    """The alarms of a step as one line; ``label`` names the judge where there are several."""
    each = "; ".join(f"{one.text} ({one.figure} {one.value:.2f}, threshold {one.threshold:g})" for one in found)
    return f"monitor{f' of {label}' if label else ''}, step {step}: {each}"
