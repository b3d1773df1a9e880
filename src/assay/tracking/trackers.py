"""The trackers of others behind one small protocol; each is imported when it is asked for."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from assay.core.errors import InputError
from assay.core.seeds import digest

from .config import TrackerName


class Tracker(Protocol):
    """Takes the numbers of each step. May raise anything: it is somebody else's (``Guarded`` keeps it apart)."""

    def log(self, step: int, metrics: Mapping[str, float]) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """What a tracker is told of a run. ``config``: the resolved settings, as JSON.

    ``first_step``: the one that is made next. ``told``: the last one that was told before, which is later than that
    where a kill came between two checkpoints.
    """

    folder: Path
    project: str = "assay"
    name: str = ""
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    first_step: int = 0
    told: int | None = None

    def again(self, step: int) -> bool:
        """Whether a step was told before."""
        return self.told is not None and step <= self.told

    @property
    def title(self) -> str:
        return self.name or self.folder.resolve().name


class Trackio:
    """The local dashboard of Hugging Face (``trackio show``). It has no way to take a step back: one that is made again
    is not told again.
    """

    def __init__(self, run: RunInfo) -> None:
        trackio: Any = import_module("trackio")
        # The module's own finish, which also forgets the run: otherwise it is finished once more at exit.
        self._finish = trackio.finish
        self._info = run
        with contextlib.redirect_stdout(io.StringIO()):
            self._run = trackio.init(
                project=run.project, name=run.title, config=dict(run.config), resume="allow", embed=False
            )

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        if not self._info.again(step):
            self._run.log(dict(metrics), step=step)

    def close(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            self._finish()


class Wandb:
    """Weights & Biases; ``WANDB_MODE=offline`` keeps it on this machine. Steps count from 0 there: see ``shift``. They
    only go up: one that is made again is not told again.
    """

    def __init__(self, run: RunInfo) -> None:
        wandb: Any = import_module("wandb")
        run.folder.mkdir(parents=True, exist_ok=True)
        self._info = run
        self._run = wandb.init(
            project=run.project,
            name=run.title,
            id=digest(str(run.folder.resolve()))[:16],
            dir=str(run.folder),
            config=dict(run.config),
            resume="allow",
        )

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        if not self._info.again(step):
            self._run.log(dict(metrics), step=shift(step))

    def close(self) -> None:
        self._run.finish()


class Tensorboard:
    """Event files under ``<run>/tensorboard``. What was told of steps that are made again is taken back."""

    def __init__(self, run: RunInfo) -> None:
        tensorboard: Any = import_module("torch.utils.tensorboard")
        again = shift(run.first_step) if run.told is not None and run.told >= run.first_step else None
        self._writer = tensorboard.SummaryWriter(str(run.folder / "tensorboard"), purge_step=again)

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, shift(step))
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


KINDS: Mapping[TrackerName, type[Trackio | Wandb | Tensorboard]] = {
    "trackio": Trackio,
    "wandb": Wandb,
    "tensorboard": Tensorboard,
}


def shift(step: int) -> int:
    """Steps made, for trackers that know no step -1: the baseline is at 0, the first step's numbers at 1."""
    return step + 1


def installed(name: TrackerName) -> bool:
    """Whether the package of a tracker is there."""
    return find_spec(name) is not None


def need(name: TrackerName) -> None:
    """Raises InputError: the tracker is not installed."""
    if not installed(name):
        fix = "'assay[tracking]'" if name == "trackio" else name
        raise InputError(f"tracker {name!r} is not installed: pip install {fix}, or leave it out of --tracker")
