"""Settings of ``assay sft``. Importable without torch."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from ..fit.config import FitConfig


class SftConfig(FitConfig):
    """Fine-tune a model on given completions."""

    run_dir: Path = Path("runs/sft")
    """Folder of the run: config, metrics, checkpoints, model, adapter, report."""
    apply_chat_template: bool = True
    """Turn a text prompt into one user turn for the model's chat template; off trains on prompt and completion as they
    stand, ended by the end token. Chat lists always go through the template."""
    train_on: Literal["last", "all"] = "last"
    """Of a conversation, the turns of the assistant that are learned: the last one, or all."""

    encode_workers: int = Field(default=1, ge=1)
    """Processes that tokenize the rows."""

    @model_validator(mode="after")
    def _template(self) -> Self:
        if self.train_on == "all" and not self.apply_chat_template:
            raise ValueError("train_on 'all' is about conversations, and apply_chat_template is off: leave one of them")
        return self
