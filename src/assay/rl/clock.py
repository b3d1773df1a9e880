"""How long a run makes steps: over all its calls, and in this one. Asked between steps, so that each is whole."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from assay.tracking.lines import MetricLines, read_lines

from .config import RunConfig, TrainConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """``before``: seconds that the steps of earlier calls took. None of a limit: there is none."""

    minutes: float | None
    call_minutes: float | None
    before: float = 0.0
    began: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, config: TrainConfig, made: int) -> Clock:
        """The clock of a call that goes on after ``made`` steps; it begins now."""
        run = config.settings(RunConfig)
        lines = MetricLines(run.run_dir).path
        told = read_lines(lines) if lines.exists() else []
        spent = sum(float(line.get("time/step") or 0.0) for line in told if 0 <= line["step"] < made)
        return cls(minutes=run.minutes, call_minutes=run.stop_after_minutes, before=spent)

    def over(self) -> bool:
        """Whether the run has had its time."""
        return self.minutes is not None and self.before + self._call() >= 60 * self.minutes

    def call_is_over(self) -> bool:
        """Whether this call has had its time."""
        return self.call_minutes is not None and self._call() >= 60 * self.call_minutes

    def _call(self) -> float:
        return time.monotonic() - self.began
