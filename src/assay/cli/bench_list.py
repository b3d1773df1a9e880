"""``assay bench list`` and ``assay bench items``: the flags; ``bench_list_run`` does the work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from pydantic import Field

from assay.core.config import Config

from .bench_run import DataFlags


class BenchListFlags(Config):
    """List the benchmarks: where they come from, what is counted, under which licence."""

    name: Annotated[str | None, typer.Argument()] = None
    """Only this one, with all that is known about it."""
    as_json: Annotated[bool, typer.Option("--json")] = False
    """Print a JSON list, and nothing else."""


class BenchItemsFlags(DataFlags):
    """Write the questions of a benchmark to a file, to be answered by something else, for assay bench run --table."""

    name: Annotated[str, typer.Argument()]
    """The benchmark (assay bench list)."""
    out: Annotated[Path | None, typer.Option("--out", "-o")] = None
    """JSON lines with id, prompt or messages, candidates and gold; NAME.items.jsonl without it."""
    limit: int | None = Field(default=None, ge=1)
    """Only the first so many cases of each subset."""
