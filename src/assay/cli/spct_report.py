"""The report at the end of a call of ``assay spct``: of whatever is measured so far."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.report.spct import NAME, write_reports
from assay.spct.pipeline.variants import Variant
from assay.spct.results import results

from .showing import say


def report_run(run_dir: Path, lines: Sequence[Variant]) -> None:
    """Write it, where a model is measured."""
    found = results(lines)
    if found is None:
        return
    write_reports(run_dir, found)
    say(f"report: {run_dir / f'{NAME}.md'}, and .html, .png, .json beside it")
