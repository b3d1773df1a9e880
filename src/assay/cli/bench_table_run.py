"""``assay bench check-table``, the work."""

from __future__ import annotations

import json

from rich.console import Console

from assay.bench.published import check_published
from assay.bench.published_file import read_published
from assay.report.published import flagged_rows, print_check

from .bench_table import CheckTableFlags


def check_table(flags: CheckTableFlags) -> None:
    """Recompute a published table."""
    found = check_published(read_published(flags.file))
    if flags.as_json:
        print(json.dumps(flagged_rows(found), indent=2, ensure_ascii=False))
    else:
        print_check(Console(highlight=False), found)
