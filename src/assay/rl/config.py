"""``TrainConfig``: every setting of a training run, flat, under the flags' names; a TOML file has the same names.

It is the sum of the parts' own configurations; each part is made out of it (``settings``) and knows no other.
Owns: what no part says by itself. Does not own: the meaning of any flag.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from pydantic import Field, ValidationError, model_validator

from assay.core.config import Config, explain
from assay.core.errors import InputError
from assay.placement import PlacementFlags, parse_cluster
from assay.tracking.config import TrackingConfig
from assay.training.config import TrainerConfig

from .algorithm import AlgorithmConfig
from .evaluation import EvalConfig
from .monitor.config import MonitorConfig
from .prompts import DataConfig
from .record import RecordConfig
from .rewards.config import RewardConfig
from .rollout.config import RolloutConfig

C = TypeVar("C", bound=Config)


class EngineConfig(Config):
    """Which engines run, beside the trainer."""

    rollout_engine: Literal["embedded", "sglang", "fake"] = "embedded"
    """Who generates: embedded (this process), or sglang servers that the run starts."""
    rollout_engine_options: dict[str, Any] = Field(default_factory=dict[str, Any])
    """JSON: more options of the rollout engine."""
    rollout_attach: int | None = Field(default=None, ge=1, le=65535)
    """With sglang: the port of this machine where a server with weights of this shape runs already. The run rolls out
    there and gives it the policy's weights through a folder; it is neither put to sleep nor ended."""
    genrm_engine: Literal["embedded", "sglang", "fake"] = "embedded"
    """Who runs the judge models that --genrm-model-path or --genrm-instances name."""
    genrm_engine_options: dict[str, Any] = Field(default_factory=dict[str, Any])
    """JSON: more options of the judges' engines."""
    sglang_python: str | None = None
    """Interpreter that has SGLang in it; see docs/sglang.md."""
    batch_invariant: bool = False
    """Embedded rollouts compute every answer by itself: slower, and a resumed run repeats every token."""


class ClusterConfig(Config):
    """Where the roles run."""

    cluster: str | None = None
    """Nodes x GPUs x card, such as 1x2xH200; needed where --resource places roles."""
    ray: bool = False
    """Run the roles as Ray actors in one placement group."""
    ray_address: str | None = None
    """Address of a running Ray cluster; one is started on this machine without it."""
    start_timeout_s: float = Field(default=1800.0, gt=0)
    """With --ray, seconds that one stage of a start (a rank's process group, its model; an engine) may take before the
    run ends, naming it."""
    train_timeout_s: float = Field(default=3600.0, gt=0)
    """With --ray, seconds after which a rank of the trainer that does not come back from a call ends the run."""


class WeightSyncConfig(Config):
    """How weights reach the rollout engines."""

    weight_sync: Literal["auto", "tensor", "nccl", "store", "disk"] = "auto"
    """How weights reach rollout engines: tensor (on a card, or in a process, that they share with the trainer), nccl (a
    broadcast to SGLang on other cards), store (Ray's object store), or disk (a folder in the run's own)."""
    weight_bucket_mib: int = Field(default=512, ge=1)
    """MiB of weights that are sent to SGLang at once (tensor, nccl); both sides need so much memory beside the rest."""
    weight_sync_timeout_s: float = Field(default=120.0, gt=0)
    """Seconds after which a bucket of weights that has not arrived is given up, and the engine started anew."""


class RunConfig(ClusterConfig, WeightSyncConfig):
    """Where a run is, and what it leaves there."""

    run_dir: Path = Path("runs/train")
    """Folder of the run: config, plan, metrics, samples, checkpoints, report."""
    minutes: float | None = Field(default=None, gt=0)
    """Minutes of steps, over all calls: the run is done with the step that passes them, or with --num-rollout."""
    stop_after_minutes: float | None = Field(default=None, gt=0)
    """End this call after the step that passes so many, saved; the same command goes on."""
    export_model: bool = False
    """Write the trained policy to model/ in the run's folder when the run is done, an adapter merged into it."""


def _known(cluster: str) -> None:
    try:
        parse_cluster(cluster)
    except InputError as error:
        raise ValueError(str(error)) from None


PARTS: tuple[type[Config], ...] = (
    DataConfig,
    RolloutConfig,
    RewardConfig,
    AlgorithmConfig,
    TrainerConfig,
    EvalConfig,
    MonitorConfig,
    TrackingConfig,
    RecordConfig,
    EngineConfig,
    RunConfig,
)


class TrainConfig(  # pyright: ignore[reportIncompatibleVariableOverride]  # rm_type is any name to the planner
    DataConfig,
    RolloutConfig,
    RewardConfig,
    AlgorithmConfig,
    TrainerConfig,
    EngineConfig,
    PlacementFlags,
    EvalConfig,
    MonitorConfig,
    TrackingConfig,
    RecordConfig,
    RunConfig,
):
    """Train a policy with GRPO, rewards from a judge."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        for kind in PARTS:
            try:
                self.settings(kind)
            except ValidationError as error:
                raise ValueError(explain(error)) from None
        if self.prompt_data is None:
            raise ValueError("prompt_data: what are the prompts? Name a file with --prompt-data")
        if self.rollout_attach is not None and (self.rollout_engine != "sglang" or self.ray):
            raise ValueError("rollout_attach is for rollout_engine 'sglang', without ray")
        if self.cluster is not None:
            _known(self.cluster)
        if self.n_samples_per_prompt == 1 and self.advantage_estimator != "reinforce_plus_plus":
            raise ValueError(
                f"n_samples_per_prompt 1: {self.advantage_estimator} compares the answers to one prompt with each "
                "other, so nothing would be learned; ask for 2 or more, or --advantage-estimator reinforce_plus_plus"
            )
        if self.use_tis and self.rollout_temperature != 1.0:
            raise ValueError(
                f"use_tis compares log-probs of the rollout with the trainer's, and engines report them at temperature "
                f"1: it cannot be used with rollout_temperature {self.rollout_temperature:g}"
            )
        return self

    def settings(self, kind: type[C]) -> C:
        """The settings of one part."""
        return kind(**{name: getattr(self, name) for name in kind.model_fields})

    def trainer(self) -> TrainerConfig:
        """The trainer's settings: its log-probs are at the rollout's temperature."""
        own = self.settings(TrainerConfig)
        return own.model_copy(update={"temperature": self.rollout_temperature or 1.0, "save": str(self.checkpoints)})

    @property
    def checkpoints(self) -> Path:
        """The folder of the run's own checkpoints."""
        return Path(self.save) if self.save else self.run_dir / "checkpoints"
