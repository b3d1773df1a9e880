"""Settings of a fit, whatever is fitted. Importable without torch."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from assay.core.config import Config
from assay.tracking.config import TrackingConfig

from ..config import TrainerConfig, TuningConfig
from ..saving import SavingConfig
from ..schedule import Decay


class ExampleConfig(Config):
    """The examples."""

    data: str = Field(min_length=1)
    """File (JSONL, JSON, CSV, Parquet) or hub dataset to train on."""
    eval_data: str | None = None
    """Another one to measure on; without it, --eval-share of the data."""
    eval_share: float = Field(default=0.0, ge=0, le=0.5)
    """Share of the data that is held out to measure on: all examples of a prompt, or none."""
    max_length: int | None = Field(default=None, ge=2)
    """Leave out examples with more tokens; they are counted, and none is cut. None: the model's own limit."""


class LengthConfig(Config):
    """How long the fit lasts."""

    epochs: float | None = Field(default=None, gt=0)
    """Passes over the data. Which of --epochs, --max-updates and --minutes is reached first ends the training; none of
    them means one pass."""
    max_updates: int | None = Field(default=None, ge=1)
    """Optimizer updates."""
    minutes: float | None = Field(default=None, gt=0)
    """Minutes of training, over all calls; the rate then follows the time spent, not the count of updates."""
    stop_after_minutes: float | None = Field(default=None, gt=0)
    """End this call, with a checkpoint, after so many minutes; the same command goes on."""
    global_batch_size: int = Field(default=32, ge=1)
    """Examples in one optimizer update."""
    lr_warmup_minutes: float = Field(default=0.0, ge=0)
    """With --minutes: the rate rises to lr over so many."""
    eval_interval: int | None = Field(default=None, ge=1)
    """Measure after every so many updates; always before the first and after the last one."""


class ExportConfig(Config):
    """What is left of it."""

    run_dir: Path = Path("runs/fit")
    """Folder of the run: config, metrics, checkpoints, model, adapter, report."""
    export_model: bool = True
    """Write the trained model, an adapter merged into it, to model/ in the run's folder."""
    export_dtype: str | None = Field(default=None, pattern="^(float32|bfloat16|float16)$")
    """Type of the exported weights; without it that of the computation."""
    adapter_dtype: str = Field(default="float32", pattern="^(float32|bfloat16|float16)$")
    """Type of the exported adapter."""


class FitConfig(TuningConfig, ExampleConfig, LengthConfig, ExportConfig, TrackingConfig):
    """The data, how long to train on it, and what is left of it."""

    lr: float = Field(default=1e-5, gt=0)
    """The highest learning rate."""
    lr_decay_style: Decay = "cosine"
    """How the rate falls after the warm-up, to --min-lr at the end of the training (or at --lr-decay-iters)."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.eval_data is not None and self.eval_share:
            raise ValueError(f"eval_data {self.eval_data!r} and eval_share {self.eval_share:g}: say one of them")
        if self.minutes is None and self.lr_warmup_minutes:
            raise ValueError("lr_warmup_minutes needs minutes: by steps, the warm-up is lr_warmup_iters")
        if self.minutes is not None and (self.lr_warmup_iters or self.lr_decay_iters is not None):
            raise ValueError("with minutes the rate follows the time: say lr_warmup_minutes, not lr_*_iters")
        if self.minutes is not None and self.lr_warmup_minutes >= self.minutes:
            raise ValueError(f"lr_warmup_minutes {self.lr_warmup_minutes:g} must be below minutes {self.minutes:g}")
        return self

    def trainer(self, load: Path | None) -> TrainerConfig:
        """The trainer's settings; the rate is given to it at every step."""
        own = {name: getattr(self, name) for name in TuningConfig.model_fields if name in TrainerConfig.model_fields}
        own |= {"lr_decay_style": "constant", "lr_decay_iters": None, "lr_warmup_iters": 0, "reference": "none"}
        return TrainerConfig(**own, save=str(self.checkpoints), load=None if load is None else str(load))

    @property
    def checkpoints(self) -> Path:
        """The folder of the checkpoints."""
        return self.run_dir / "checkpoints"


MAY_CHANGE = frozenset(
    {
        *SavingConfig.model_fields,
        *("tracker", "tracker_run", "tracker_project", "stop_after_minutes"),
        *("eval_interval", "export_model", "export_dtype", "adapter_dtype", "encode_workers"),
    }
)
"""Settings under which the updates that were made are the same updates."""
