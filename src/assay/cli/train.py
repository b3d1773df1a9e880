"""``assay train``: GRPO with a generative judge as the reward. The flags; ``train_run`` does the work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from pydantic import BaseModel

from assay.placement import PlacementFlags
from assay.rl.algorithm import AlgorithmConfig
from assay.rl.config import ClusterConfig, EngineConfig, RunConfig, TrainConfig, WeightSyncConfig
from assay.rl.evaluation import EvalConfig
from assay.rl.monitor.config import MonitorConfig
from assay.rl.prompts import DataConfig
from assay.rl.record import RecordConfig
from assay.rl.rewards.config import RewardConfig
from assay.rl.rollout.config import RolloutConfig
from assay.tracking.config import TrackingConfig
from assay.training.config import CheckpointConfig, ModelConfig, OptimizerConfig, TrainerConfig, TuningConfig
from assay.training.saving import SavingConfig
from assay.wire.genrm import GenRMConfig

TRAIN_PANELS: dict[type[BaseModel], str] = {
    RunConfig: "The run",
    ModelConfig: "Model",
    DataConfig: "Prompts",
    RolloutConfig: "Rollouts",
    RewardConfig: "Rewards",
    GenRMConfig: "Judge models",
    EngineConfig: "Engines",
    AlgorithmConfig: "Advantages and loss",
    TuningConfig: "Updates",
    TrainerConfig: "Updates",
    OptimizerConfig: "Optimizer",
    SavingConfig: "Checkpoints",
    CheckpointConfig: "Checkpoints",
    EvalConfig: "Evaluation",
    MonitorConfig: "Monitor",
    TrackingConfig: "Records",
    RecordConfig: "Records",
    PlacementFlags: "Placement on GPUs",
    ClusterConfig: "Cluster",
    WeightSyncConfig: "Weights to the engines",
}
"""Headings of the help, in the order in which somebody sets up a run."""


class TrainFlags(TrainConfig):
    """Train a policy with rewards from a judge: rollouts, judging, updates, evaluation; goes on after a kill."""

    recipe: Annotated[Path | None, typer.Option("--config", "-c")] = None
    """TOML file with flags by name (see recipes/), or a run's config.json; those of the command line win."""
    dump_config: Annotated[bool, typer.Option("--dump-config")] = False
    """Print the whole configuration as JSON and train nothing."""
