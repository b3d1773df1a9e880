"""A training run as its files tell it (``metrics.jsonl``, ``config.json``, samples), and the figures it comes to.

Everything that shows a run (the closing table, the page, the picture) is made from this. What can be read is shown,
whatever is damaged beside it, and what is damaged is named. Owns: reading the folder, and which figures stand for the
run. Does not own: how they are shown (``training_table``, ``training_page``).
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from assay.core.errors import InputError
from assay.tracking.lines import NAME, readable_lines

from .training_samples import Damaged, Samples, read_samples

CONFIG = "config.json"
RUN_DIR = "run_dir"
"""A setting that every run has, and that no other ``config.json`` has (that of a model)."""
FEW = 5
"""Steps at the start and at the end that first and last figures are averaged over."""
PHASES = ("generate", "judge", "train", "sync", "moves", "save", "eval", "monitor")
"""Names under ``time/`` that are stretches of a run, in their order; the loop's own step is the sum of the first five.
Saving is told with the step after the checkpoint."""

FITTED = {
    "train/loss": "loss",
    "train/accuracy": "accuracy",
    "eval/held_out/loss": "held-out loss",
    "eval/held_out/accuracy": "held-out accuracy",
    "eval/held_out/auc": "held-out AUC",
}
"""What a fit to examples is told by (``assay sft``, ``assay rm``), in that order."""
SHARES = ("train/accuracy", "eval/held_out/accuracy")
"""Those of them that are shares."""

Points = list[tuple[int, float]]
"""(steps made, value); the baseline is at 0."""


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    """What the files of a run hold. ``lines`` are in the order of steps; the baseline has step -1.

    ``broken``: what of settings and metrics cannot be read.
    """

    folder: Path
    lines: tuple[Mapping[str, Any], ...]
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    broken: tuple[Damaged, ...] = ()

    @cached_property
    def samples(self) -> Samples:
        """Answers worth a look."""
        return read_samples(self.folder)

    @property
    def damaged(self) -> tuple[Damaged, ...]:
        """All that cannot be read."""
        return self.broken + self.samples.damaged

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every metric that any line has."""
        return tuple(dict.fromkeys(name for line in self.lines for name in line if name != "step"))

    @property
    def steps(self) -> int:
        """Steps made."""
        return max((int(line["step"]) + 1 for line in self.lines), default=0)

    def points(self, name: str) -> Points:
        """A metric over the run; steps that have none are left out."""
        return [(int(line["step"]) + 1, float(line[name])) for line in self.lines if line.get(name) is not None]

    @cached_property
    def eval_sets(self) -> tuple[str, ...]:
        """Names of the sets that were evaluated."""
        return tuple(dict.fromkeys(name.split("/")[1] for name in self.names if name.startswith("eval/")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A figure at the start and at the end of a run."""

    name: str
    first: float
    last: float


def read_training(folder: str | Path) -> TrainingRun:
    """The run in a folder, also one that has not made a step yet.

    Raises:
        InputError: it is no folder of a run, or nothing of it can be read.
    """
    run = Path(folder)
    config, broken = _config(run / CONFIG)
    if not (run / NAME).is_file():
        if broken:
            raise InputError(f"{broken[0]}; there is no {NAME} beside it, so nothing of this run can be shown")
        if RUN_DIR not in config:
            raise InputError(f"{str(run)!r} is no folder of a training run: it has neither a {NAME} nor its {CONFIG}")
        return TrainingRun(folder=run, lines=(), config=config)
    lines, bad = readable_lines(run / NAME)
    broken += tuple(Damaged(path=run / NAME, why=why) for why in bad)
    lines.sort(key=lambda line: int(line["step"]))
    return TrainingRun(folder=run, lines=tuple(lines), config=config, broken=broken)


def _config(path: Path) -> tuple[Mapping[str, Any], tuple[Damaged, ...]]:
    """The settings, as far as they are there and can be read."""
    if not path.is_file():
        return {}, ()
    try:
        config: Any = json.loads(path.read_text("utf-8"))
    except (ValueError, OSError) as error:
        return {}, (Damaged(path=path, why=f"no JSON: {error}"),)
    if not isinstance(config, dict):
        return {}, (Damaged(path=path, why="no settings, which are a JSON object"),)
    return cast("dict[str, Any]", config), ()


def is_fit(run: TrainingRun) -> bool:
    """Whether it is a fit to examples, which has a loss and no reward."""
    return "reward/mean" not in run.names and any(name in run.names for name in FITTED)


def fit_changes(run: TrainingRun) -> list[Change]:
    """The figures of a fit: those of training are means over the first and the last few steps, as for a reward."""
    found: list[Change] = []
    for name in FITTED if is_fit(run) else ():
        values = [value for _, value in run.points(name)]
        if values:
            few = 1 if name.startswith("eval/") else max(1, min(FEW, len(values) // 2))
            first, last = statistics.fmean(values[:few]), statistics.fmean(values[-few:])
            found.append(Change(name=name, first=first, last=last))
    return found


def reward_change(run: TrainingRun) -> Change | None:
    """The mean reward of the first and of the last few steps; of fewer where the run is short."""
    points = run.points("reward/mean")
    if not points:
        return None
    few = max(1, min(FEW, len(points) // 2))
    values = [value for _, value in points]
    return Change(name="reward", first=statistics.fmean(values[:few]), last=statistics.fmean(values[-few:]))


def eval_changes(run: TrainingRun) -> list[Change]:
    """pass@1 of each set at its first and at its last evaluation."""
    found: list[Change] = []
    for name in run.eval_sets:
        points = run.points(f"eval/{name}/pass@1")
        if points:
            found.append(Change(name=name, first=points[0][1], last=points[-1][1]))
    return found


def failures(run: TrainingRun) -> dict[str, float]:
    """How many answers have no reward, by what failed and how, over all steps; the most frequent first."""
    counted: dict[str, float] = {}
    for line in run.lines:
        answers = float(line.get("rollout/samples") or 0.0)
        shares = {f"judge: {name.removeprefix('reward/failed_')}": line[name] for name in _kinds(line)}
        shares["rollout"] = line.get("rollout/failed")
        for name, share in shares.items():
            if share:
                counted[name] = counted.get(name, 0.0) + share * answers
    return dict(sorted(counted.items(), key=lambda one: -one[1]))


def answers(run: TrainingRun) -> int:
    """Answers that were rolled out and kept, over all steps."""
    return round(sum(float(line.get("rollout/samples") or 0.0) for line in run.lines))


def seconds_by_phase(run: TrainingRun) -> dict[str, float]:
    """Seconds of the run's steps by what they were spent on; phases without any are left out."""
    sums = {phase: sum(value for _, value in run.points(f"time/{phase}")) for phase in PHASES}
    return {phase: seconds for phase, seconds in sums.items() if seconds > 0}


def tokens_per_second(line: Mapping[str, Any]) -> float | None:
    """Tokens that the rollouts of a step wrote, by the seconds of its rollout phase."""
    count, length, seconds = (
        line.get(name) for name in ("rollout/samples", "rollout/response_length", "time/generate")
    )
    return count * length / seconds if count and length and seconds else None


def _kinds(line: Mapping[str, Any]) -> list[str]:
    return [name for name in line if name.startswith("reward/failed_")]
