"""Settings of ``assay rm``. Importable without torch."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from assay.engines.head_kind import Head, HeadKind

from ..fit.config import FitConfig


class HeadConfig(FitConfig):
    """Train a reward model with one logit: a score head on a language model."""

    kind: HeadKind
    """bt: Bradley-Terry on chosen and rejected answers; pairrm: both answers in one input, the sign says which is
    better; cloud: Bradley-Terry with a critique behind each answer; meta: whether a judgment is right, on result files
    of assay judge."""
    data: str = Field(min_length=1)
    """File (JSONL, JSON, CSV, Parquet) or hub dataset to train on; for meta, result files with commas between them."""
    run_dir: Path = Path("runs/rm")
    """Folder of the run: config, metrics, checkpoints, model, adapter, report."""
    field: tuple[str, ...] = ()
    """name=path of a field of the data: prompt, candidates, chosen, rejected, gold, id; repeatable."""
    critiques: str = "critiques"
    """cloud: field with the critiques, in the order of the candidates; several with commas between them. A result file
    of a judge that looks at each candidate on its own needs none."""
    margin: Literal["none", "gold"] = "none"
    """bt, cloud: by how much the better answer should lead: not at all, or by the difference of their gold."""
    center: float = Field(default=0.0, ge=0)
    """bt, cloud: weight of a term that keeps the logits of a pair about 0."""
    max_pairs: int = Field(default=8, ge=1)
    """Most pairs that are made of one item with many candidates, drawn by the seed."""
    language: Literal["en", "zh"] = "en"
    """Of the prompt around what is judged (pairrm, cloud, meta)."""

    @model_validator(mode="after")
    def _effective(self) -> Self:
        if self.kind in ("pairrm", "meta") and (self.margin != "none" or self.center):
            raise ValueError(f"margin and center are of bt and cloud: kind {self.kind!r} has one logit an example")
        if self.kind == "meta" and self.field:
            raise ValueError(
                "field maps the columns of preference data: result files, which meta takes, name their own"
            )
        return self

    @property
    def head(self) -> Head:
        """What the folder of the model says of its head."""
        return Head(kind=self.kind, language=self.language)
