"""``assay view``, the work: read the run's files, print the table, write page and picture."""

from __future__ import annotations

import webbrowser

from rich.console import Console

from assay.report.training import read_training
from assay.report.training_page import PICTURE, write_curves, write_training_page
from assay.report.training_table import print_training

from .view import ViewFlags


def view_run(flags: ViewFlags) -> None:
    """Show a training run."""
    console = Console(highlight=False)
    run = read_training(flags.run)
    page = write_training_page(run, flags.out)
    picture = write_curves(run, None if flags.out is None else flags.out.with_name(PICTURE))
    print_training(console, run)
    if flags.out is not None:
        console.print(f"page     {page}" + (f"\ncurves   {picture}" if picture else ""), soft_wrap=True)
    if flags.open:
        webbrowser.open(page.resolve().as_uri())
