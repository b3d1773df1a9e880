"""``assay sft``: supervised fine-tuning. The flags; ``fit_run`` does the work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.training.sft.config import SftConfig

from .fit_panels import fit_panels

SFT_PANELS = fit_panels(SftConfig, "What is learned")
"""Headings of the help."""


class SftFlags(SftConfig):
    """Fine-tune a model on given completions: LoRA or all weights, one device or many; goes on after a kill."""

    recipe: Annotated[Path | None, typer.Option("--config", "-c")] = None
    """TOML file with flags by name, or a run's config.json; those of the command line win."""
    dump_config: Annotated[bool, typer.Option("--dump-config")] = False
    """Print the whole configuration as JSON and train nothing."""
