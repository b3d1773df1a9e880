"""A model with an adapter merged into its weights, as a folder of its own: what SGLang and vLLM serve."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import torch

from assay.core.errors import InputError
from assay.engines.embedded.bars import no_bars
from assay.engines.embedded.config import EmbeddedConfig
from assay.engines.embedded.finding import find_model
from assay.engines.embedded.loading import load_model
from assay.engines.embedded.lora import Lora
from assay.engines.embedded.shipped import find_adapter

from . import folders
from .export import copy_tokenizer, empty_model

Dtype = Literal["stored", "float32", "bfloat16", "float16"]
"""``stored``: the type that the model's own files have."""


def write_merged(model: str, adapter: str, folder: Path, dtype: Dtype = "stored") -> Lora:
    """Write the model with its adapter, in the layout of transformers, tokenizer and all; the adapter that is in it.

    The sum is made in float32, as the embedded engine makes it, and rounded once.

    Raises:
        InputError: there is no such model or adapter, they do not belong together, or the folder is there already.
        OutputError: it could not be written; then there is no folder.
    """
    lora = find_adapter(adapter)
    if lora is None:
        raise InputError(f"adapter {adapter!r} leaves the model as it is: there is nothing to merge")
    if folder.exists():
        raise InputError(f"{str(folder)!r} is there already; name a folder that is not")
    path = find_model(model)
    lm = load_model(EmbeddedConfig(model=model), path, torch.device("cpu"), torch.float32, lora)
    kind = _stored(path) if dtype == "stored" else dtype
    partial = folders.beside(folder)
    try:
        _write(lm, path, partial, getattr(torch, kind))
        folders.replace(partial, folder)
    except (OSError, RuntimeError) as error:
        raise folders.not_written(partial, error) from error
    return lora


def _write(lm: Any, source: Path, target: Path, dtype: torch.dtype) -> None:
    tensors = {name: weight.detach().to(dtype) for name, weight in lm.named_parameters()}
    with no_bars():
        empty_model(lm, dtype).save_pretrained(target, state_dict=tensors, max_shard_size="4GB")
    copy_tokenizer(source, target)


def _stored(path: Path) -> str:
    """The type in ``config.json``; float32 where it says none."""
    said = json.loads((path / "config.json").read_text("utf-8"))
    kind = str(said.get("dtype") or said.get("torch_dtype") or "float32")
    if kind not in ("float32", "bfloat16", "float16"):
        raise InputError(f"{str(path)!r} is stored as {kind!r}; say --dtype bfloat16 or float32")
    return kind
