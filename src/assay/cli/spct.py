"""``assay spct``: all stages of SPCT, one after the other. The flags; ``spct_run`` does the work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from pydantic import Field

from assay.core.config import Config


class SpctFlags(Config):
    """Make a better judge, all of it: cold start, rejection sampling, RL, meta RM, figures; goes on after a kill."""

    recipe: Annotated[Path, typer.Option("--config", "-c")]
    """TOML file: models, items, flags of each training, ablations (see recipes/spct)."""
    run_dir: Path = Path("runs/spct")
    """Folder of the run: one for each stage, the report, ablations below ablations/."""
    stop_after_minutes: float | None = Field(default=None, gt=0)
    """End this call after so many minutes, exit code 75: the same command goes on."""
    only: tuple[str, ...] = ()
    """Run this stage and no other; repeatable. report: write the report of what is there."""
    ablation: tuple[str, ...] = ()
    """Run an ablation of the recipe, not the main line; it shares the stages that are the same. Repeatable, or all."""
    redo: tuple[str, ...] = ()
    """Make this stage, and all that needs it, anew: what is in their folders is deleted first; repeatable."""
    plan: Annotated[bool, typer.Option("--plan")] = False
    """Show the stages, how each stands, and their commands; run nothing."""
