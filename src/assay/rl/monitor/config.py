"""When the monitor looks, at what, and from where on it raises an alarm."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from assay.core.config import Config


class MonitorConfig(Config):
    """Watching the judge and the rewards. Thresholds are on the figures that are logged as monitor/…"""

    monitor_interval: int | None = Field(default=None, ge=1)
    """Ask the judge about the gold set, swaps and attacks after every so many steps; without it only what costs no
    judgment is watched."""
    monitor_gold: Path | None = None
    """File of labelled items, the same at every look; without it the bundled questions."""
    monitor_gold_items: int = Field(default=16, ge=1)
    """Most items of the gold set."""
    monitor_attack_items: int = Field(default=1, ge=0)
    """Questions that every attack string is tried on; 0 leaves the attacks out."""
    monitor_sample: int = Field(default=16, ge=0)
    """Answers of the step that the rule, and the second judge where there is one, look at too; 0 leaves it out."""
    monitor_rule: bool = True
    """Compare these answers with their labels by the rule math, where there are labels and it is not the reward."""
    monitor_judge: str | None = None
    """A second judge of these answers, by name or file."""
    monitor_route_key: str | None = None
    """Which instance of the judge service the second judge asks."""
    monitor_stop: bool = False
    """Stop the run at an alarm, its state saved."""
    monitor_right_above: float = 0.5
    """An answer whose reward is above this counts as accepted, where rewards are compared with the rule."""
    monitor_timeout_s: float = Field(default=300.0, gt=0)
    """Most seconds that one judgment may take."""
    monitor_concurrency: int = Field(default=32, ge=1)
    """Judgments in flight at a time."""
    monitor_max_agreement_drop: float = Field(default=0.15, ge=0)
    """Alarm: agreement with gold has fallen by more than this since the first look."""
    monitor_max_false_positives: float = Field(default=0.2, ge=0, le=1)
    """Alarm: a larger share of the attacks is accepted."""
    monitor_min_consistency: float = Field(default=0.7, ge=0, le=1)
    """Alarm: a smaller share of verdicts survives a swap of the candidates."""
    monitor_max_length_correlation: float = Field(default=0.6, ge=0, le=1)
    """Alarm: reward and length correlate by more than this within groups, on average of the last 5 steps."""
    monitor_min_second_agreement: float = Field(default=0.6, ge=0, le=1)
    """Alarm: the second judge agrees less often on which of two answers is better."""
    monitor_max_gap_growth: float = Field(default=0.2, ge=0)
    """Alarm: accepted answers have outgrown right ones by more than this since the first look."""
    monitor_max_failed: float = Field(default=0.2, ge=0, le=1)
    """Alarm: a larger share of the monitor's own judgments fails."""

    @model_validator(mode="after")
    def _has_effect(self) -> Self:
        if self.monitor_route_key is not None and self.monitor_judge is None:
            raise ValueError(
                f"monitor_route_key {self.monitor_route_key!r} is the second judge's: name it, monitor_judge"
            )
        if self.monitor_interval is None and (self.monitor_judge or self.monitor_gold):
            name = "monitor_judge" if self.monitor_judge else "monitor_gold"
            raise ValueError(f"{name} has no effect without monitor_interval: after how many steps does it look?")
        return self
