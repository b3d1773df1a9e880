"""What the engine can be told to do while nothing runs: give memory back, take it again, take other weights."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from assay.core.errors import InputError, StartError
from assay.engines.base import Tag

from ..model_files import stamp, weight_version
from .batch import Batch
from .config import EmbeddedConfig
from .finding import find_model
from .forward import Runner
from .loading import Loaded, copy_weights, load_model, nbytes, replace_weights
from .lora import Lora
from .probe import adopt
from .shipped import find_adapter
from .worker import Action


def give_back(tags: frozenset[Tag]) -> Action:
    """Free keys and values, weights, or both. Weights on CUDA move to main memory; those on the CPU are dropped, and
    read again from their files, unless they came as tensors."""

    def action(loaded: Loaded, batch: Batch) -> int:
        freed = batch.release() if "kv_cache" in tags else 0
        if "weights" in tags and loaded.runner is not None:
            freed += nbytes(loaded.runner.model) if loaded.device.type == "cuda" or loaded.on_disk else 0
            # Weights that no file holds are kept: there is nowhere to read them again from.
            keep = loaded.device.type == "cuda" or not loaded.on_disk
            loaded.parked = loaded.runner.model.to("cpu") if keep else None
            loaded.runner = None
        if loaded.device.type == "cuda":
            torch.cuda.empty_cache()
        return freed

    return action


def take_again(config: EmbeddedConfig, tags: frozenset[Tag]) -> Action:
    """Bring weights back, from main memory or from their files. Keys and values come back as they are needed."""

    def action(loaded: Loaded, batch: Batch) -> int:
        del batch
        if "weights" not in tags or loaded.runner is not None:
            return 0
        if loaded.parked is not None:
            loaded.runner = Runner(loaded.parked.to(loaded.device), loaded.shape)
            loaded.parked = None
        else:
            _check_unchanged(loaded)
            model = load_model(config, loaded.path, loaded.device, loaded.dtype, _same_adapter(config, loaded))
            loaded.runner = adopt(model, loaded.name)
        return nbytes(loaded.runner.model)

    return action


def new_weights(config: EmbeddedConfig, source: str, version: str) -> Action:
    """Replace the weights by those in ``source``; what was computed with the old ones is dropped."""

    def action(loaded: Loaded, batch: Batch) -> int:
        _refuse_adapted(loaded)
        path = find_model(source, with_code=config.trust_remote_code)
        fresh = load_model(config, path, torch.device("cpu"), loaded.dtype)
        holder = loaded.runner.model if loaded.runner is not None else loaded.parked
        if holder is None:
            raise InputError("the weights are given back; wake the engine before it takes new ones")
        replace_weights(holder, fresh, source)
        loaded.path, loaded.stamp = path, stamp(path)
        loaded.disk_version, loaded.version, loaded.on_disk = weight_version(path), version, True
        batch.release()
        return nbytes(holder)

    return action


def given_tensors(tensors: Iterable[tuple[str, Any]], version: str) -> Action:
    """Copy weights into the model in use; what was computed with the old ones is dropped."""

    def action(loaded: Loaded, batch: Batch) -> int:
        _refuse_adapted(loaded)
        holder = loaded.runner.model if loaded.runner is not None else loaded.parked
        if holder is None:
            raise InputError("the weights are given back; wake the engine before it takes new ones")
        taken = copy_weights(holder, tensors, version)
        loaded.version, loaded.on_disk = version, False
        batch.release()
        return taken

    return action


def _check_unchanged(loaded: Loaded) -> None:
    """A judge must wake up as the one that fell asleep."""
    path = Path(loaded.path)
    if stamp(path) != loaded.stamp and weight_version(path) != loaded.disk_version:
        raise StartError(
            f"the weights in {str(path)!r} changed while {loaded.name!r} was asleep; restart the engine to use them"
        )


def _same_adapter(config: EmbeddedConfig, loaded: Loaded) -> Lora | None:
    """The adapter, read again."""
    found = find_adapter(config.adapter)
    if found is not None and loaded.lora is not None and found.digest != loaded.lora.digest:
        raise StartError(
            f"the adapter in {str(found.path)!r} changed while {loaded.name!r} was asleep; restart the engine to use it"
        )
    return found


def _refuse_adapted(loaded: Loaded) -> None:
    """Other weights would be those of a model without the adapter, under the name of one with it."""
    if loaded.lora is not None:
        raise InputError(
            f"{loaded.name!r} has an adapter in its weights, so it takes no others; start it with adapter 'none'"
        )
