"""``assay judge --diff BEFORE AFTER``: what changed from one run to another."""

from __future__ import annotations

from pathlib import Path

from assay.core.errors import InputError
from assay.data import read_results
from assay.report.diff import diff
from assay.report.diff_page import write_diff
from assay.report.diff_text import print_diff

from .judge import JudgeFlags
from .overwriting import refuse_overwriting
from .showing import console, say


def diff_runs(flags: JudgeFlags, before: Path) -> None:
    """Compare ``before`` with FILE; show counts, agreement and examples, and write a page with ``--report``."""
    if flags.file is None:
        raise InputError(f"--diff {str(before)!r} needs the run to compare it with: --diff BEFORE AFTER")
    if flags.replay is not None:
        raise InputError("--diff and --replay are two things to do: write the replay with --out, then compare")
    refuse_overwriting((before, flags.file), (("--report", flags.report),))
    found = diff(read_results(before), read_results(flags.file))
    print_diff(console, found, examples=flags.examples)
    if flags.report is not None:
        write_diff(flags.report, found, title=f"{before} → {flags.file}")
        say(f"report: {flags.report}")
