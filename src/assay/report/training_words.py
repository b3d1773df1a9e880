"""A step of training as one line of text, and its figures as short words. The live view and the plain one share it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .training import FITTED, PHASES, SHARES, tokens_per_second
from .words import duration, number, percent


def step_line(step: int, steps: int | None, metrics: Mapping[str, Any]) -> str:
    """A step on one line; ``step`` is -1 for the baseline. Figures that it does not have are left out."""
    name = "baseline" if step < 0 else f"step {step + 1}" + ("" if steps is None else f"/{steps}")
    return " · ".join([name, *_figures(metrics)])


def phases_line(metrics: Mapping[str, Any]) -> str:
    """Where the seconds of a step went."""
    spent = {phase: metrics.get(f"time/{phase}") for phase in PHASES}
    return ", ".join(f"{phase} {duration(seconds)}" for phase, seconds in spent.items() if seconds and seconds >= 0.001)


def _figures(metrics: Mapping[str, Any]) -> Iterator[str]:
    if "reward/mean" not in metrics:
        yield from _fitted(metrics)
    if (reward := metrics.get("reward/mean")) is not None:
        yield f"reward {reward:.3f}"
    if (length := metrics.get("rollout/response_length")) is not None:
        cut = metrics.get("rollout/truncated") or 0.0
        yield f"{length:.0f} tokens" + (f" ({percent(cut)} cut off)" if cut else "")
    for what, name in (("judgments", "reward/failed"), ("answers", "rollout/failed")):
        if share := metrics.get(name):
            yield f"{percent(share)} of {what} failed"
    if (kl := metrics.get("train/kl")) is not None:
        yield f"KL {kl:.3g}"
    for name, value in metrics.items():
        if name.startswith("eval/") and name.endswith("/pass@1") and value is not None:
            yield f"{name.split('/')[1]} {percent(value)}"
    counts = [value for name, value in metrics.items() if name.startswith("monitor/") and name.endswith("/alarms")]
    if alarms := sum(count or 0.0 for count in counts):
        yield f"{number(alarms)} {'alarm' if alarms == 1 else 'alarms'}"
    if (speed := tokens_per_second(metrics)) is not None:
        yield f"{number(round(speed))} tokens/s"
    if (seconds := metrics.get("time/step")) is not None:
        spent = phases_line(metrics)
        yield duration(seconds) + (f" ({spent})" if spent else "")


def _fitted(metrics: Mapping[str, Any]) -> Iterator[str]:
    """Of a fit to examples, which has a loss and no reward."""
    for name, shown in FITTED.items():
        if (value := metrics.get(name)) is not None:
            yield f"{shown} {percent(value) if name in SHARES else f'{value:.4f}'}"
