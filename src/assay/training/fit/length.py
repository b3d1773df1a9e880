"""How long a fit lasts, and its learning rate on the way: by updates, or by the time spent. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from ..schedule import lr_at
from .config import FitConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """The end of a fit, and its rate.

    ``updates``: None where only the time ends it. ``seconds``: None where it does not.
    """

    config: FitConfig
    updates: int | None

    @classmethod
    def of(cls, config: FitConfig, epoch_updates: int | None) -> Length:
        """``epoch_updates``: those of the passes over the data; None where nobody asked for passes."""
        ends = [end for end in (epoch_updates, config.max_updates) if end is not None]
        return cls(config=config, updates=min(ends) if ends else None)

    def over(self, updates: int, seconds: float) -> bool:
        """Whether it ends with so many updates made in so many seconds."""
        if self.updates is not None and updates >= self.updates:
            return True
        return self.config.minutes is not None and seconds >= 60 * self.config.minutes

    def lr(self, update: int, seconds: float) -> float:
        """The rate of an update, from 0, that begins after so many seconds of training."""
        config = self.config
        by_time = config.minutes is not None
        return lr_at(
            seconds if by_time else update,
            lr=config.lr,
            minimum=config.min_lr,
            style=config.lr_decay_style,
            warmup=60 * config.lr_warmup_minutes if by_time else config.lr_warmup_iters,
            total=60 * config.minutes if config.minutes is not None else config.lr_decay_iters or self.updates,
        )


def passes(config: FitConfig) -> float | None:
    """Passes over the data; one where nothing says how long."""
    if config.epochs is None and config.max_updates is None and config.minutes is None:
        return 1.0
    return config.epochs
