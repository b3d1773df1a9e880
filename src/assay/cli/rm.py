"""``assay rm``: reward heads. The flags; ``fit_run`` does the work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.training.heads.config import HeadConfig

from .fit_panels import fit_panels

RM_PANELS = fit_panels(HeadConfig, "The head")
"""Headings of the help."""


class RmFlags(HeadConfig):
    """Train a reward model with one logit (Bradley-Terry, PairRM, CLoud, meta RM); goes on after a kill."""

    recipe: Annotated[Path | None, typer.Option("--config", "-c")] = None
    """TOML file with flags by name, or a run's config.json; those of the command line win."""
    dump_config: Annotated[bool, typer.Option("--dump-config")] = False
    """Print the whole configuration as JSON and train nothing."""
