"""``assay bench report`` and ``assay bench compare``, the work."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.core.errors import InputError
from assay.report.bench.comparison import compare_runs
from assay.report.bench.comparison_text import print_comparison
from assay.report.bench.plots import Size
from assay.report.bench.run import Run, read_runs
from assay.report.bench.summary import print_runs
from assay.report.bench.written import FORMATS, Format, write_comparison, write_reports

from .bench_report import BenchCompareFlags, BenchReportFlags
from .showing import console, say

SEVERAL = Path("bench-report")
"""Where the report of several runs goes."""


def bench_report(flags: BenchReportFlags) -> None:
    """Print the scores and write the report."""
    if not flags.runs:
        raise InputError("name at least one folder of assay bench run")
    formats = _formats(flags.format)
    runs = read_runs(flags.runs)
    known = _sizes(flags.parameters, runs)
    print_runs(console, runs)
    _wrote(write_reports(flags.out or (flags.runs[0] if len(runs) == 1 else SEVERAL), runs, known, formats))


def bench_compare(flags: BenchCompareFlags) -> None:
    """Print the differences, and write them where that is asked for."""
    formats = _formats(flags.format)
    before, after = read_runs((flags.before, flags.after))
    found = compare_runs(before, after, series=flags.series, draws=flags.bootstrap, seed=flags.seed)
    print_comparison(console, found)
    if flags.out is not None:
        _wrote(write_comparison(flags.out, found, formats))


def _wrote(files: Sequence[Path]) -> None:
    say(f"wrote {', '.join(map(str, files))}")


def _formats(text: str) -> tuple[Format, ...]:
    said = [part.strip() for part in text.split(",") if part.strip()]
    wrong = [part for part in said if part not in FORMATS]
    if wrong or not said:
        raise InputError(f"--format {text!r}: there are {', '.join(FORMATS)}, with commas between them")
    return tuple(one for one in FORMATS if one in said)


def _sizes(said: Sequence[str], runs: Sequence[Run]) -> dict[str, Size]:
    """What the runs know of themselves, and over it what the user says."""
    found = {run.name: Size(active=run.active_parameters) for run in runs if run.active_parameters is not None}
    for text in said:
        name, _, size = text.rpartition("=")
        if name not in {run.name for run in runs}:
            raise InputError(f"--parameters {text!r}: write RUN=TOTAL or RUN=TOTAL/ACTIVE, RUN one of {_names(runs)}")
        total, slash, active = size.partition("/")
        found[name] = Size(total=_billions(text, total), active=_billions(text, active if slash else total))
    return found


def _billions(text: str, number: str) -> float:
    try:
        value = float(number)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise InputError(f"--parameters {text!r}: {number!r} is no number of billions above 0")
    return value


def _names(runs: Sequence[Run]) -> str:
    return ", ".join(run.name for run in runs)
