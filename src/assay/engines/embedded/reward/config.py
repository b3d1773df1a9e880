"""Settings of the embedded reward engine. Importable without torch."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from ..config import Placement


class EmbeddedRewardConfig(Placement):
    """A transformers model for sequence classification with one logit, in this process."""

    kind: Literal["embedded"] = "embedded"
    model: str = Field(min_length=1)
    """A hub name, or a folder with config.json and safetensors; its head has one logit (``num_labels`` 1)."""
    max_context_len: int = Field(default=16384, ge=16)
    """Most tokens of a prompt; the model's own limit caps it. A longer one is refused, never cut."""
    max_batch: int | None = Field(default=None, ge=1)
    """Most prompts that are computed together; 1 makes a logit independent of what else runs, to the last bit. None: 16
    on CUDA and 1 on the CPU, where a long prompt keeps all threads busy and its padded neighbours only cost."""
    max_batch_tokens: int = Field(default=32768, ge=1)
    """Most tokens that are computed together, padding included; a single prompt may have more."""
    max_queue: int = Field(default=1024, ge=0)
    """Most prompts that wait; one more is refused as overloaded."""
    chat_template_kwargs: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Variables of the model's chat template."""
