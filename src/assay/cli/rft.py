"""``assay rft``: rejection-sampled data to fine-tune a judge on. The flags; ``rft_run`` does the work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic import BaseModel, Field

from assay.core.config import Config
from assay.spct.plan import RftPlan

from .asking import ASKING_PANELS, AskingFlags
from .declare import JsonObject


class GeneralFlags(Config):
    """General instructions to mix in, so that the model stays what it was elsewhere."""

    general: str | None = None
    """File of general instructions to mix in at --ratio: with answers, or prompts that the model answers."""
    general_model: str | None = None
    """Model that answers them, where it is not --model: the base model that is to be trained."""
    general_sampling: JsonObject = Field(default_factory=lambda: {"temperature": 0.7})
    """JSON: how they are answered; what it does not say is as in --sampling."""


RFT_PANELS: dict[type[BaseModel], str] = {
    **ASKING_PANELS,
    RftPlan: "What is kept",
    GeneralFlags: "General instructions",
}
"""Headings of the help."""


class RftFlags(AskingFlags, GeneralFlags, RftPlan):
    """Sample a judge on ITEMS with gold, keep the samples that are right, and write rows for assay sft."""

    items: Annotated[tuple[str, ...], typer.Argument()] = ()
    """Files or hub datasets with gold, or published preference sets by name (helpsteer2, name=FILE)."""
    out: Annotated[Path, typer.Option("--out", "-o")] = Path("rft")
    """Folder: recorded samples, sft.jsonl, report.json, report.md; an unfinished build is gone on with."""
    prompts_only: Annotated[bool, typer.Option("--prompts-only")] = False
    """Ask nobody: write only the prompts for RL (rl.jsonl), for assay train --rm-type grm-outcome."""
    easy_from: Path | None = None
    """Folder of an earlier assay rft whose samples say which items are too easy for RL; the own one unless said."""
    recorded: Path | None = None
    """Folder of an earlier assay rft with this judge, model and seed: its votes are taken over, and only what it lacks
    is asked."""
    format: Literal["jsonl", "parquet"] = "jsonl"
    """Of the rows: sft.jsonl or sft.parquet."""
    limit: int | None = Field(default=None, ge=1)
    """Only the first so many items of each source."""
    reask: int = Field(default=0, ge=0)
    """How often a text without a verdict is asked again; 0 leaves it what it is, a rejected sample."""
    seed: int = Field(default=0, ge=0)
    """Another seed draws other samples, orders and general rows."""
