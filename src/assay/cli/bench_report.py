"""``assay bench report`` and ``assay bench compare``: the flags; ``bench_report_run`` does the work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from pydantic import Field

from assay.core.config import Config

FORMATS = "md,json,png,html"


class BenchReportFlags(Config):
    """Report benchmark runs, one or several side by side: the official score first, and what stands beside it."""

    runs: Annotated[tuple[Path, ...], typer.Argument()] = ()
    """Folders of assay bench run (its --out)."""
    out: Annotated[Path | None, typer.Option("--out", "-o")] = None
    """Folder of the report; that of the run without it, or bench-report for several."""
    format: str = FORMATS
    """Which files to write: md, json, png, html, with commas between them."""
    parameters: tuple[str, ...] = ()
    """RUN=TOTAL or RUN=TOTAL/ACTIVE: the size of a run's model in billions, for score against size; repeatable."""


class BenchCompareFlags(Config):
    """Compare two benchmark runs over the cases that both have: differences, intervals, paired tests."""

    before: Annotated[Path, typer.Argument()]
    """Folder of the one run."""
    after: Annotated[Path, typer.Argument()]
    """Folder of the other one."""
    series: str | None = None
    """Compare this series of both (greedy, voting@8); the one that each score is of unless said."""
    out: Annotated[Path | None, typer.Option("--out", "-o")] = None
    """Folder of comparison.md, .json, .png and .html; without it only the table is printed."""
    format: str = FORMATS
    """Which files to write: md, json, png, html, with commas between them."""
    bootstrap: int = Field(default=1000, ge=0)
    """Resamples of the common cases; 0 for none."""
    seed: int = Field(default=0, ge=0)
    """Of the resamples."""
