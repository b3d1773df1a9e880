"""``assay view``: a training run as a page, a picture and a table. The flags."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.core.config import Config


class ViewFlags(Config):
    """Show a training run, while it goes or afterwards: a table here, curves and answers as a page, curves as a PNG."""

    run: Annotated[Path, typer.Argument()]
    """The folder of the run."""
    out: Path | None = None
    """Where the page goes, the picture beside it; without it the folder of the run."""
    open: bool = False
    """Open the page in the browser."""
