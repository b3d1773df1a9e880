"""``assay train``: GRPO with a generative judge as the reward. The flags; ``training`` does the work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.rl.config import TrainConfig


class TrainFlags(TrainConfig):
    """Train a policy with rewards from a judge: rollouts, judging, updates, evaluation; goes on after a kill."""

    recipe: Annotated[Path | None, typer.Option("--config", "-c")] = None
    """TOML file with flags by name (see recipes/), or a run's config.json; those of the command line win."""
    dump_config: Annotated[bool, typer.Option("--dump-config")] = False
    """Print the whole configuration as JSON and train nothing."""
