"""``assay bench check-table``: the flags; ``bench_table_run`` does the work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.core.config import Config


class CheckTableFlags(Config):
    """Recompute a published table: does the printed mean of each row follow from its subsets?"""

    file: Annotated[Path, typer.Argument()]
    """JSON, CSV or TSV; a row is a name, its subsets and their printed mean (overall, average, mean)."""
    as_json: Annotated[bool, typer.Option("--json")] = False
    """Print the flagged rows as a JSON list, and nothing else."""
