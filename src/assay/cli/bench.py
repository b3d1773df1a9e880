"""``assay bench``: benchmarks of reward models. The flags."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from pydantic import Field

from assay.core.config import Config

from .bench_report import BenchCompareFlags, BenchReportFlags
from .bench_run import RUN_PANELS, BenchItemsFlags, BenchListFlags, BenchRunFlags
from .declare import verb
from .help import HelpfulCommand


class CheckTableFlags(Config):
    """Recompute a published table: does the printed mean of each row follow from its subsets?"""

    file: Annotated[Path, typer.Argument()]
    """JSON, CSV or TSV; a row is a name, its subsets and their printed mean (overall, average, mean)."""
    as_json: Annotated[bool, typer.Option("--json")] = False
    """Print the flagged rows as a JSON list, and nothing else."""


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


bench = typer.Typer(
    name="bench",
    help="Measure a judge on benchmarks of reward models; check published tables.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
bench.command("run", cls=HelpfulCommand)(verb(BenchRunFlags, "bench_running:bench_run", RUN_PANELS))
bench.command("list", cls=HelpfulCommand)(verb(BenchListFlags, "bench_listing:bench_list"))
bench.command("items", cls=HelpfulCommand)(verb(BenchItemsFlags, "bench_listing:bench_items"))
bench.command("report", cls=HelpfulCommand)(verb(BenchReportFlags, "bench_reporting:bench_report"))
bench.command("compare", cls=HelpfulCommand)(verb(BenchCompareFlags, "bench_reporting:bench_compare"))
bench.command("check-table", cls=HelpfulCommand)(verb(CheckTableFlags, "benching:check_table"))
bench.command("triage", cls=HelpfulCommand)(verb(TriageFlags, "triaging:triage"))
