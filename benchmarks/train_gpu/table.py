"""What the layouts measured, as one Markdown table: a column a layout."""

from __future__ import annotations

import statistics
from pathlib import Path

from .layouts import PROMPTS, SAMPLES
from .prediction import predicted, steps

ROWS = (
    ("rollout (with inline judging), s", "time/generate"),
    ("judging afterwards, s", "time/judge"),
    ("train, s", "time/train"),
    ("weights to the rollout, s", "time/publish"),
    ("moves in all, s", "time/moves"),
    ("rollout to sleep, s", "time/sleep/rollout"),
    ("rollout awake, s", "time/wake/rollout"),
    ("judge to sleep, s", "time/sleep/__default__"),
    ("judge awake, s", "time/wake/__default__"),
    ("actor to sleep, s", "time/sleep/actor"),
    ("actor awake, s", "time/wake/actor"),
)
MEMORY = (("freed by the rollout, GB", "memory/sleep/rollout"), ("freed by the judge, GB", "memory/sleep/__default__"))


def markdown(out: Path, layouts: list[str], *, samples: int = PROMPTS * SAMPLES) -> str:
    """The table of the layouts that made steps."""
    ran = {name: steps(out / name) for name in layouts if (out / name / "metrics.jsonl").exists()}
    ran = {name: lines for name, lines in ran.items() if len(lines) > 1}
    lines = ["| | " + " | ".join(ran) + " |", "|---|" + "---|" * len(ran)]

    def row(name: str, cells: list[str]) -> None:
        if any(cell for cell in cells):
            lines.append(f"| {name} | " + " | ".join(cells) + " |")

    row("steps", [str(len(found)) for found in ran.values()])
    row("reward, first 3 → last 3", [_rise(found) for found in ran.values()])
    row("tokens/s of the rollout", [_tokens(found, samples) for found in ran.values()])
    row("step (saving apart), s", [f"{_step(found):.2f}" for found in ran.values()])
    row("predicted before the run, s", [_said(out, name) for name in ran])
    row("error of the prediction", [_error(out, name, found) for name, found in ran.items()])
    for title, metric in ROWS:
        row(title, [_median(found, metric, "{:.2f}") for found in ran.values()])
    for title, metric in MEMORY:
        row(title, [_median(found, metric, "{:.1f}", 1e-9) for found in ran.values()])
    detail = [f"{name}: {predicted(out / f'{name}.plan.json').words()}" for name in ran if _said(out, name)]
    return "\n".join([*lines, "", *detail]) + "\n"


def _values(lines: list[dict[str, float]], name: str) -> list[float]:
    return [line[name] for line in lines[1:] if name in line]


def _median(lines: list[dict[str, float]], name: str, form: str, scale: float = 1.0) -> str:
    values = _values(lines, name)
    return form.format(statistics.median(values) * scale) if values else ""


def _step(lines: list[dict[str, float]]) -> float:
    return statistics.median(line["time/step"] for line in lines[1:])


def _tokens(lines: list[dict[str, float]], samples: int) -> str:
    rates = [samples * line["rollout/response_length"] / line["time/generate"] for line in lines[1:]]
    return f"{statistics.median(rates):.0f}"


def _rise(lines: list[dict[str, float]]) -> str:
    rewards = [line["reward/mean"] for line in lines if "reward/mean" in line]
    return f"{statistics.fmean(rewards[:3]):.2f} → {statistics.fmean(rewards[-3:]):.2f}" if rewards else ""


def _said(out: Path, name: str) -> str:
    file = out / f"{name}.plan.json"
    return f"{predicted(file).seconds:.2f}" if file.exists() else ""


def _error(out: Path, name: str, lines: list[dict[str, float]]) -> str:
    file = out / f"{name}.plan.json"
    return f"{predicted(file).seconds / _step(lines) - 1:+.0%}" if file.exists() else ""
