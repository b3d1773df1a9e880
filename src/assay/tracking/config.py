"""Which trackers a run reports to."""

from __future__ import annotations

from typing import Literal, Self, TypeAlias, get_args

from pydantic import Field, model_validator

from assay.core.config import Config

TrackerName: TypeAlias = Literal["trackio", "wandb", "tensorboard"]
KNOWN: tuple[TrackerName, ...] = get_args(TrackerName)


class TrackingConfig(Config):
    """Where metrics go beside ``metrics.jsonl``, which is always written."""

    tracker: str = "auto"
    """trackio, wandb or tensorboard, several with commas between them; none; auto is trackio where it is installed."""
    tracker_project: str = Field(default="assay", min_length=1)
    """The project that the run is filed under."""
    tracker_run: str | None = None
    """The name of the run; without it that of its folder."""

    @model_validator(mode="after")
    def _known(self) -> Self:
        named = self._names()
        unknown = [name for name in named if name not in (*KNOWN, "none", "auto")]
        if unknown or not named:
            raise ValueError(f"tracker {self.tracker!r}: choose from {', '.join(KNOWN)}, none and auto")
        if len(named) > 1 and ("none" in named or "auto" in named):
            raise ValueError(f"tracker {self.tracker!r}: none and auto stand alone")
        return self

    @property
    def automatic(self) -> bool:
        """Whether trackio is used if it is there, and not missed if it is not."""
        return self._names() == ["auto"]

    @property
    def trackers(self) -> tuple[TrackerName, ...]:
        """The trackers that were asked for by name."""
        return tuple(name for name in KNOWN if name in self._names())

    def _names(self) -> list[str]:
        return list(dict.fromkeys(name.strip() for name in self.tracker.split(",") if name.strip()))
