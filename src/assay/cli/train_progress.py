"""A training run as it goes: a live view on a terminal, and one line a step where the output goes to a file."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from assay.report.training_words import step_line
from assay.report.words import duration, number
from assay.rl.progress import AnswersJudged, Event, PhaseBegan, StepMade, Tell

SHOWN = 12
"""Steps that the live view keeps in sight."""


@dataclass(slots=True, kw_only=True)
class Watched:
    """What is known of a run so far: a fold over its events. ``clock`` gives seconds."""

    steps: int
    answers: int | None = None
    """Answers of a step, where that is known beforehand."""
    clock: Callable[[], float] = time.monotonic
    made: int = 0
    phase: str = "starting"
    judged: int = 0
    failed: int = 0
    lines: list[str] = field(default_factory=list[str])
    began: float = field(init=False)
    entered: float = field(init=False)
    first: int | None = None
    """Steps that were made before this process."""

    def __post_init__(self) -> None:
        self.began = self.entered = self.clock()

    def tell(self, event: Event) -> None:
        """Take an event in."""
        match event:
            case PhaseBegan(phase=phase):
                self.phase, self.entered = phase, self.clock()
                if phase == "generate":
                    self.judged = self.failed = 0
            case AnswersJudged(answers=answers, failed=failed):
                self.judged += answers
                self.failed += failed
            case StepMade(step=step, metrics=metrics):
                self.first = step if self.first is None and step >= 0 else self.first
                self.made = max(0, step + 1)
                self.lines.append(step_line(step, self.steps, metrics))

    @property
    def left(self) -> float | None:
        """Seconds until the last step, by the mean of those that this process made; None before the first."""
        if self.first is None or self.made <= self.first:
            return None
        return (self.clock() - self.began) / (self.made - self.first) * (self.steps - self.made)

    def __rich__(self) -> RenderableType:
        head = Table.grid(padding=(0, 2))
        head.add_row(
            Text("training", style="bold"),
            ProgressBar(total=self.steps, completed=self.made, width=30),
            f"{self.made}/{self.steps} steps",
            Text(self._now(), style="cyan"),
            Text(self._times(), style="dim"),
        )
        return Group(*(Text(line, no_wrap=True, overflow="ellipsis") for line in self.lines[-SHOWN:]), head)

    def _now(self) -> str:
        if self.made >= self.steps:
            return "done"
        told = f"{self.phase} {duration(max(1.0, round(self.clock() - self.entered)))}"
        if self.phase in ("generate", "judge") and self.judged:
            told += f", {number(self.judged)}{'' if self.answers is None else f'/{number(self.answers)}'} judged"
            told += f", {number(self.failed)} failed" if self.failed else ""
        return told

    def _times(self) -> str:
        spent = duration(max(1.0, round(self.clock() - self.began)))
        return spent if self.left is None else f"{spent}, about {duration(max(1.0, round(self.left)))} left"


@contextmanager
def training_progress(console: Console, steps: int, *, answers: int | None = None) -> Generator[Tell]:
    """What a run tells its events to. Lines of the log go above the live view.

    Args:
        answers: how many a step has, where that is known (prompts times samples).
    """
    watched = Watched(steps=steps, answers=answers)
    if not console.is_terminal:
        yield _plain(console, watched)
        return
    with Live(watched, console=console, refresh_per_second=4, transient=False):
        yield watched.tell


def _plain(console: Console, watched: Watched) -> Tell:
    def tell(event: Event) -> None:
        watched.tell(event)
        if isinstance(event, StepMade):
            console.print(watched.lines[-1], soft_wrap=True, highlight=False, markup=False)

    return tell
