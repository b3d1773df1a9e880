"""``assay judge``: judge a file, keep every judgment, show what came of it. The flags; ``judge_run`` does the work.

With ``--replay`` recorded judgments are decided anew (``replaying``); ``--diff`` compares two runs (``diffing``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic import BaseModel, Field, model_validator

from assay.core.config import Config
from assay.wire.voting import VotingFields

from .asking import ASKING_PANELS, AskingFlags
from .declare import JsonObject


class VotingFlags(VotingFields):
    """How to vote."""

    meta: str | None = None
    """Meta RM that chooses the votes that count: a model with one logit; with --engine service, its name there."""
    meta_options: JsonObject = Field(default_factory=dict)
    """JSON: more options of the meta RM, e.g. {"kind": "vllm", "base_url": "http://host:8000"}; without a kind it is
    embedded."""

    @model_validator(mode="after")
    def _votable(self) -> VotingFlags:
        """Whether they go together is said when they are used: a replay takes some of them from its recording."""
        return self


class ReplayFlags(Config):
    """Recorded runs instead of new ones."""

    replay: Path | None = None
    """Decide the judgments of this result file anew, under another parser or other options of voting; no judge is
    asked. --meta none leaves a recorded meta RM out."""
    k_sweep: Annotated[bool, typer.Option("--k-sweep")] = False
    """With --replay: a table of k = 1, 2, ... up to the votes there are."""
    bootstrap: int | None = Field(default=None, ge=2)
    """With --replay: resample the votes so many times; mean and interval."""
    diff: Path | None = None
    """Show what changed from this result file to FILE: assay judge --diff before.parquet after.parquet."""
    examples: int = Field(default=5, ge=0)
    """With --diff: how many changes to show in full."""


class CostFlags(Config):
    """What to reckon cost with."""

    price: JsonObject | None = None
    """JSON: money per million tokens, e.g. {"prompt": 0.5, "cached": 0.1, "completion": 1.5}."""
    active_parameters: int | None = Field(default=None, ge=1)
    """Active parameters of the judge model, where its engine does not know them."""


PANELS: dict[type[BaseModel], str] = {
    **ASKING_PANELS,
    VotingFlags: "Voting",
    VotingFields: "Voting",
    ReplayFlags: "Recorded runs",
    CostFlags: "Cost",
}
"""Headings of the help."""


class JudgeFlags(VotingFlags, ReplayFlags, CostFlags, AskingFlags):
    """Judge the candidates in FILE: progress, resume after a kill, a table at the end."""

    file: Annotated[str | None, typer.Argument()] = None
    """JSONL, JSON, CSV or Parquet, or a hub dataset (hub:owner/name:split)."""
    out: Annotated[Path | None, typer.Option("--out", "-o")] = None
    """Result file (Parquet), judged.parquet unless said; an unfinished one is gone on with."""
    need_gold: Annotated[bool, typer.Option("--need-gold")] = False
    """Refuse items without a gold label."""
    limit: int | None = Field(default=None, ge=1)
    """Judge only the first so many items."""
    export: Literal["best", "pairs"] | None = None
    """Also write best-of-n or chosen/rejected rows."""
    export_to: Path | None = None
    """Where the export goes; <out>.<export>.jsonl without it."""
    report: Path | None = None
    """Also write an HTML report."""
