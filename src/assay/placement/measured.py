"""Speeds out of a run's own metrics, so that the next plan predicts from what was seen. Pure: numbers in, rates out."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping, Sequence

from assay.core.errors import InputError

from .job import EngineRate, Rates, Workload

STEADY = 1
"""The first step warms up (compilation, caches) and is left out, where there are others."""

TRAINER = "actor"


def measured_rates(
    steps: Sequence[Mapping[str, float]],
    workload: Workload,
    *,
    rollout_engines: int = 1,
    actor_gpus: int = 1,
    judges: Collection[str] = (),
    known: Rates | None = None,
) -> Rates:
    """Medians over a run's steps, in the terms of the planner.

    One point of the rollout's speed: all samples at a time, and the tokens that they got. Where judges were asked
    inline, the run does not tell the two apart: then a rate that is ``known`` stays, and so does all that was not
    measured.

    Args:
        steps: the lines of ``metrics.jsonl``, seconds under ``time/…``.
        workload: prompts and samples of those steps; its response length gives way to the measured one.
        judges: route keys; where judging was a phase of its own, its speed is that of each of them.

    Raises:
        InputError: no line has the seconds of a step.
    """
    timed = [line for line in steps if "time/generate" in line and "rollout/response_length" in line]
    if not timed:
        raise InputError("no step of that run has `time/generate` and `rollout/response_length`: nothing to measure")
    seen = _Seen(timed[STEADY:] or timed)
    samples = workload.prompts * workload.samples
    written = samples * seen("rollout/response_length", 0.0)
    known, inline, found = known or Rates(), bool(judges) and "time/judge" not in seen, dict[str, object]()
    if known.rollout is None or not inline:
        found["rollout"] = _rate(samples / rollout_engines, written, seen("time/generate", 0.0))
    train = seen("time/train", 0.0)
    if train > 0:
        # A checkpoint is saved after the step, and its seconds are none of this.
        found["train_tokens_per_s"] = (samples * workload.prompt_tokens + written) / actor_gpus / train
    if "time/judge" in seen and judges:
        asked = {key: workload.judges.get(key, workload.judge) for key in judges}
        found["judges"] = {
            key: _rate(samples, samples * load.calls * load.response_tokens, seen("time/judge", 0.0))
            for key, load in asked.items()
        }
    found |= seen.moves()
    return known.model_copy(update={name: value for name, value in found.items() if value is not None})


def measured_workload(steps: Sequence[Mapping[str, float]], workload: Workload) -> Workload:
    """The workload with the mean response length of a run, all of that length: the measured rate has the tail in it."""
    lengths = [line["rollout/response_length"] for line in steps if "rollout/response_length" in line]
    if not lengths:
        raise InputError("no step of that run has `rollout/response_length`")
    return workload.model_copy(update={"response_tokens": max(1, round(statistics.fmean(lengths))), "spread": 0.0})


class _Seen:
    """Medians by name."""

    def __init__(self, lines: Sequence[Mapping[str, float]]) -> None:
        self._lines = lines

    def __contains__(self, name: str) -> bool:
        return any(name in line for line in self._lines)

    def __call__(self, name: str, missing: float) -> float:
        values = [line[name] for line in self._lines if name in line]
        return statistics.median(values) if values else missing

    def moves(self) -> dict[str, float]:
        """Engines move side by side, so the slowest counts; the trainer is told apart."""
        found = {"sync_s": self("time/publish", 0.0)} if "time/publish" in self else {}
        for kind in ("sleep", "wake"):
            roles = sorted({name for line in self._lines for name in line if name.startswith(f"time/{kind}/")})
            engines = [self(name, 0.0) for name in roles if not name.endswith(f"/{TRAINER}")]
            if engines:
                found[f"{kind}_s"] = max(engines)
            if f"time/{kind}/{TRAINER}" in roles:
                found[f"actor_{kind}_s"] = self(f"time/{kind}/{TRAINER}", 0.0)
        return found


def _rate(requests: float, tokens: float, seconds: float) -> EngineRate | None:
    return EngineRate(tokens_per_s=((requests, tokens / seconds),)) if tokens > 0 and seconds > 0 else None
