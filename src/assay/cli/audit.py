"""``assay audit``: the biases of a judge on one page. The flags; ``audit_run`` does the work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from pydantic import BaseModel, Field

from assay.bench.audit.plan import AuditPlan

from .asking import ASKING_PANELS, AskingFlags

AUDIT_PANELS: dict[type[BaseModel], str] = {**ASKING_PANELS, AuditPlan: "What is asked"}
"""Headings of the help."""


class AuditFlags(AskingFlags, AuditPlan):
    """Audit a judge: order, length, style, self-preference, attack strings, repeatability, agreement; a judge card."""

    file: Annotated[str | None, typer.Argument()] = None
    """Labelled pairs or answers in any form that assay judge takes, or the PandaLM test set; the bundled questions
    without it."""
    out: Annotated[Path, typer.Option("--out", "-o")] = Path("audit")
    """Folder of the results and the card (card.md, card.json, card.html); an unfinished audit is gone on with."""
    seed: int = Field(default=0, ge=0)
    """Another seed takes other items and draws anew."""
