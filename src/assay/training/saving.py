"""When a checkpoint is due, so that a kill costs minutes and not the run. Importable without torch.

A step may take a second or an hour, and a save likewise: so the time decides unless a count of steps is said. Owns: the
rule, and its clock. Does not own: the checkpoint itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from pydantic import Field

from assay.core.config import Config

SHARE = 0.05
"""Of the time between two checkpoints, the most that the first of them may have taken."""


class SavingConfig(Config):
    """When the state of a run is saved, beside its end."""

    save_interval: int | None = Field(default=None, ge=1)
    """Save after every so many steps (rollouts, updates); None goes by save_minutes."""
    save_minutes: float = Field(default=5.0, ge=0)
    """Without save_interval: save after the first step that ends so many minutes after the last checkpoint, or later
    where saving would take more than a twentieth of the time. 0 saves at the end only."""
    keep_checkpoints: int = Field(default=2, ge=1)
    """How many of the last checkpoints stay."""


def is_due(config: SavingConfig, made: int, *, since_s: float, save_s: float) -> bool:
    """Whether to save after a step that is not the last.

    Args:
        made: steps made. since_s: seconds since the last checkpoint. save_s: seconds that it took.
    """
    if config.save_interval is not None:
        return made % config.save_interval == 0
    return config.save_minutes > 0 and since_s >= max(60 * config.save_minutes, save_s / SHARE)


class Saves:
    """The checkpoints of one process: when the last one was, what it took, and after which step. ``clock``: seconds."""

    def __init__(self, config: SavingConfig, clock: Callable[[], float] = time.monotonic) -> None:
        self._config, self._clock = config, clock
        self._since = clock()
        self.seconds = 0.0
        """What the last one took."""
        self.made: int | None = None
        """Steps that were made when it was saved; None before the first."""

    def due(self, made: int) -> bool:
        """Whether one is due, ``made`` steps being made."""
        return is_due(self._config, made, since_s=self._clock() - self._since, save_s=self.seconds)

    @contextmanager
    def saving(self, made: int) -> Generator[None]:
        """Around a save."""
        begin = self._clock()
        yield
        self._since, self.made = self._clock(), made
        self.seconds = self._since - begin
