"""Headings of the help of ``assay sft`` and ``assay rm``, in the order in which somebody sets up a fit."""

from __future__ import annotations

from pydantic import BaseModel

from assay.tracking.config import TrackingConfig
from assay.training.config import ModelConfig, OptimizerConfig, TuningConfig
from assay.training.fit.config import ExampleConfig, ExportConfig, LengthConfig
from assay.training.saving import SavingConfig


def fit_panels(kind: type[BaseModel], about: str) -> dict[type[BaseModel], str]:
    """The headings; the settings that ``kind`` adds to those of every fit stand under ``about``."""
    return {
        ExampleConfig: "Data",
        kind: about,
        ExportConfig: "The run, and what is left of it",
        ModelConfig: "Model",
        LengthConfig: "How long",
        TuningConfig: "Updates",
        OptimizerConfig: "Optimizer",
        SavingConfig: "Checkpoints",
        TrackingConfig: "Records",
    }
