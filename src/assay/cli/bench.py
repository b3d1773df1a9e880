"""``assay bench``: benchmarks of reward models. Its verbs; each has its flags in a file, and its work in another."""

from __future__ import annotations

import typer

from .bench_list import BenchItemsFlags, BenchListFlags
from .bench_report import BenchCompareFlags, BenchReportFlags
from .bench_run import RUN_PANELS, BenchRunFlags
from .bench_table import CheckTableFlags
from .bench_triage import TriageFlags
from .declare import verb
from .help import HelpfulCommand

bench = typer.Typer(
    name="bench",
    help="Measure a judge on benchmarks of reward models; check published tables.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
bench.command("run", cls=HelpfulCommand)(verb(BenchRunFlags, "bench_run_run:bench_run", RUN_PANELS))
bench.command("list", cls=HelpfulCommand)(verb(BenchListFlags, "bench_list_run:bench_list"))
bench.command("items", cls=HelpfulCommand)(verb(BenchItemsFlags, "bench_list_run:bench_items"))
bench.command("report", cls=HelpfulCommand)(verb(BenchReportFlags, "bench_report_run:bench_report"))
bench.command("compare", cls=HelpfulCommand)(verb(BenchCompareFlags, "bench_report_run:bench_compare"))
bench.command("check-table", cls=HelpfulCommand)(verb(CheckTableFlags, "bench_table_run:check_table"))
bench.command("triage", cls=HelpfulCommand)(verb(TriageFlags, "bench_triage_run:triage"))
