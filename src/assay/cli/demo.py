"""``assay demo``, which ``make run`` runs: the main job on the bundled questions, through a real service."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from assay.core.config import Config


class DemoFlags(Config):
    """Judge the bundled questions through a judge service, print tables, write an HTML report."""

    out: Path = Path("runs/demo")
    """Folder for results, log and report."""
    limit: int | None = Field(default=None, ge=1)
    """Judge only the first so many questions."""
