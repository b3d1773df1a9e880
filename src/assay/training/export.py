"""Weights for engines: under the names of the transformers model, adapter merged, whole on every rank that asks.

An engine in this process takes ``named_tensors``; one elsewhere loads the folder that ``export`` writes.
"""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from assay.core.errors import InputError, OutputError
from assay.engines.embedded.bars import no_bars

from . import folders
from .adapter import delta, lora_layers, peft_name, write_adapter
from .policy import Policy
from .ranks import Ranks, whole

_TOKENIZER_FILES = (
    "tokenizer*", "special_tokens_map.json", "added_tokens.json", "vocab*", "merges.txt", "*.jinja", "*.model", "*.py",
)  # fmt: skip
_BASE, _LORA = ".base_layer", ".lora_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """A weight, whole, and where it has an adapter the change that this makes to it. ``on`` gives what is served."""

    name: str
    weight: Tensor
    change: Tensor | None

    def on(self, device: torch.device | None, dtype: torch.dtype) -> Tensor:
        """See ``named_tensors``. Other ranks have no part in it."""
        value = self.weight if device is None else self.weight.to(device)
        if self.change is not None:
            # In the adapter's type: the sum rounds once.
            value = value.to(self.change.dtype) + self.change.to(value.device)
        return value.to(dtype)


def gathered(policy: Policy) -> Iterator[Gathered]:
    """Every weight, tied ones once. One is whole at a time; with several ranks, all must iterate."""
    lm = policy.lm
    layers = dict(lora_layers(lm)) if any(_LORA in name for name, _ in lm.named_parameters()) else {}
    for name, weight in lm.named_parameters():
        if _LORA in name:
            continue
        value, change = whole(weight), None
        owner, _, leaf = name.rpartition(".")
        if leaf == "weight" and owner.endswith(_BASE):
            change = delta(layers[owner.removesuffix(_BASE)], whole)
        yield Gathered(name=name.replace(_BASE, ""), weight=value, change=change)


def named_tensors(
    policy: Policy, *, dtype: torch.dtype | None = None, device: torch.device | None = None
) -> Iterator[tuple[str, Tensor]]:
    """Name and value of every weight, tied ones once. One is whole at a time; with several ranks, all must iterate.

    ``dtype``: None is that of the computation, which is what an engine serves. ``device``: None leaves each where it
    is, which may be main memory; else it goes there first, for torch would otherwise convert on the CPU. The values
    must not be written to.
    """
    for each in gathered(policy):
        yield each.name, each.on(device, dtype or policy.compute)


def outline(policy: Policy) -> dict[str, tuple[int, ...]]:
    """Name and shape of every weight that ``named_tensors`` gives, in its order; nothing is gathered."""
    return {
        name.replace(_BASE, ""): tuple(weight.shape)
        for name, weight in policy.lm.named_parameters()
        if _LORA not in name
    }


def export(policy: Policy, folder: Path, ranks: Ranks, *, dtype: torch.dtype | None = None) -> None:
    """Write config, safetensors and tokenizer as transformers does; the folder is replaced whole. Every rank calls it.

    Raises:
        OutputError: it could not be written; a folder that was there is untouched.
    """
    tensors = _on_first(named_tensors(policy, dtype=dtype), ranks)
    _replaced(folder, ranks, lambda path: _write(policy, path, tensors, dtype or policy.compute))


def export_adapter(policy: Policy, folder: Path, ranks: Ranks, *, base: str, dtype: torch.dtype | None = None) -> None:
    """Write the adapter alone, in the layout of peft (``adapter_config.json``, safetensors). Every rank calls it.

    Args:
        base: the model that it belongs to, as the configuration names it.
        dtype: None keeps the type that it is trained in.

    Raises:
        InputError: there is no adapter. OutputError: as ``export``.
    """
    layers = dict(lora_layers(policy.lm)) if any(_LORA in name for name in policy.trained) else {}
    if not layers:
        raise InputError("there is no adapter to export: all weights are trained; set lora_rank, or export the model")
    tensors = _on_first(_adapter_tensors(policy, dtype), ranks)
    _replaced(folder, ranks, lambda path: write_adapter(path, tensors, layers, base))


def _adapter_tensors(policy: Policy, dtype: torch.dtype | None) -> Iterator[tuple[str, Tensor]]:
    """All that is trained: the adapter, and a head beside it."""
    for name, weight in policy.lm.named_parameters():
        if weight.requires_grad:
            value = whole(weight)
            yield peft_name(name), value.to(value.dtype if dtype is None else dtype)


def _on_first(named: Iterator[tuple[str, Tensor]], ranks: Ranks) -> dict[str, Tensor]:
    """The weights in main memory, on the first rank; the others only take part in gathering them."""
    tensors: dict[str, Tensor] = {}
    for name, value in named:
        if ranks.first:
            tensors[name] = value.to("cpu", copy=True) if value.is_cuda else value
    return tensors


def _replaced(folder: Path, ranks: Ranks, write: Callable[[Path], None]) -> None:
    """Have the first rank write a folder, which then takes the place of ``folder``; its error is everybody's."""
    failed: OutputError | None = None
    if ranks.first:
        try:
            path = folders.beside(folder)
        except OSError as error:
            failed = OutputError(f"cannot export to {str(folder)!r}: {error}")
        else:
            try:
                write(path)
                folders.replace(path, folder)
            except (OSError, RuntimeError) as error:
                failed = folders.not_written(path, error)
    failed = ranks.gather(failed)[0]
    if failed is not None:
        raise failed


def _write(policy: Policy, path: Path, tensors: dict[str, Tensor], dtype: torch.dtype) -> None:
    shell = empty_model(policy.lm, dtype)
    with no_bars():
        shell.save_pretrained(path, state_dict=tensors, max_shard_size="4GB")
    if policy.tokenizer is not None:
        policy.tokenizer.save_pretrained(path)
        return
    if policy.source is not None:
        copy_tokenizer(policy.source, path)


def copy_tokenizer(source: Path, target: Path) -> None:
    """Copy what belongs to the tokenizer from one model's folder to another. Raises OSError."""
    for pattern in _TOKENIZER_FILES:
        for file in source.glob(pattern):
            shutil.copyfile(file, target / file.name)


def empty_model(lm: Any, dtype: torch.dtype) -> Any:
    """The model without weights, adapter or attention of our own: what knows how to write itself."""
    config = copy.deepcopy(lm.config)
    config.dtype = dtype
    config.use_cache = True
    with torch.device("meta"):
        # Its own type, for that is what save_pretrained writes into config.json, and servers load by.
        shell = type(lm)(config).to(dtype)
    if lm.can_generate():
        shell.generation_config = copy.deepcopy(lm.generation_config)
    return shell
