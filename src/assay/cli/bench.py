"""``assay bench``: benchmarks of reward models. The flags."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.core.config import Config

from .declare import verb


class CheckTableFlags(Config):
    """Recompute a published table: does the printed mean of each row follow from its subsets?"""

    file: Annotated[Path, typer.Argument()]
    """JSON, CSV or TSV; a row is a name, its subsets and their printed mean (overall, average, mean)."""
    as_json: Annotated[bool, typer.Option("--json")] = False
    """Print the flagged rows as a JSON list, and nothing else."""


bench = typer.Typer(
    name="bench",
    help="Measure a judge on benchmarks of reward models; check published tables.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
bench.command("check-table")(verb(CheckTableFlags, "benching:check_table"))
