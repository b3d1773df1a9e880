"""``assay demo``, which ``make run`` runs: the main job on the bundled questions, through a real service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option(help="Folder for results, log and report.")] = Path("runs/demo"),
    limit: Annotated[int | None, typer.Option(min=1, help="Judge only the first so many questions.")] = None,
) -> None:
    """Judge the bundled questions through a judge service, print tables, write an HTML report."""
    from .demo_run import run_demo

    run_demo(out, limit)
