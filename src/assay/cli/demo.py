"""``assay demo``, which ``make run`` runs: judging and training with a judge as the reward, through a real service."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from assay.core.config import Config


class DemoFlags(Config):
    """Judge the bundled questions through a judge service, train a small policy with its rewards, write a report."""

    out: Path = Path("runs/demo")
    """Folder for results, log and report."""
    limit: int | None = Field(default=None, ge=1)
    """Judge only the first so many questions."""
    steps: int | None = Field(default=None, ge=0)
    """Training steps of the small policy, 0 leaves training out; unless said 60 with the rule and 45 with the model."""
    judge: Literal["math", "verifier"] | None = None
    """Who rewards the answers of training: the rule, or the judge model; unless said the model where the package has an
    adapter that makes it a verifier, else the rule."""
    seed: int = Field(default=0, ge=0)
    """Another seed trains another policy."""
