"""``assay bench triage``: the flags; ``bench_triage_run`` does the work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from pydantic import Field

from assay.core.config import Config


class TriageFlags(Config):
    """Why is a judge wrong? Draw wrong cases of a run for a person to label, then count the labels."""

    file: Annotated[Path, typer.Argument()]
    """A result file of assay judge or assay bench; or the labelled file that was made of one."""
    out: Annotated[Path | None, typer.Option("--out", "-o")] = None
    """File to label, .csv or .jsonl; triage.csv without it. One that is there is never overwritten."""
    each: int = Field(default=10, ge=1)
    """Cases of every stratum."""
    by: str | None = None
    """Metadata that divides the run into strata; subset, benchmark, category or domain unless said."""
    seed: int = Field(default=0, ge=0)
    """Another seed draws other cases."""
    as_json: Annotated[bool, typer.Option("--json")] = False
    """Print the counts of a labelled file as JSON, and nothing else."""
