"""How many judgments may fail before a run stops (``--max-judge-failure-rate``). A small state machine, no clock."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from assay.core.errors import InputError, TrainingStopped

STEPS = 5
"""The rate is taken over this many steps."""


@dataclass(slots=True, kw_only=True)
class FailureBudget:
    """The judgments and failures of the last steps."""

    max_rate: float = 0.2
    seen: deque[tuple[int, int]] = field(default_factory=lambda: deque[tuple[int, int]](maxlen=STEPS))
    """(failed, made) of each step, the newest last."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.max_rate <= 1.0:
            raise InputError(f"max_judge_failure_rate must lie between 0 and 1, got {self.max_rate:g}")

    @property
    def rate(self) -> float:
        """Over the steps that are remembered; 0 where nothing was judged."""
        made = sum(made for _, made in self.seen)
        return sum(failed for failed, _ in self.seen) / made if made else 0.0

    def add(self, failed: int, made: int, most: str = "") -> None:
        """A step's judgments; ``most`` says which kind of failure was the most frequent one.

        Raises:
            TrainingStopped: more of the last steps' judgments failed than may.
        """
        self.seen.append((failed, made))
        if self.rate > self.max_rate:
            kinds = f" (most often {most})" if most else ""
            raise TrainingStopped(
                f"{self.rate:.1%} of the judgments of the last {len(self.seen)} steps failed{kinds}, and "
                f"--max-judge-failure-rate is {self.max_rate:g}: mend the judge and give the same command "
                "again, it goes on"
            )
