"""What the options and the checkpoint of an SGLang engine say about weights that are sent to it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.core.errors import InputError
from assay.engines.sglang.model import read_model
from assay.engines.sglang.receiving import check_outline

_SPLIT = ("pp_size", "dp_size", "nnodes")


def splits(options: Mapping[str, Any]) -> tuple[str, ...]:
    """What splits an SGLang engine of these options beside tensor parallelism, in words."""
    return tuple(f"{name}={size}" for name in _SPLIT if isinstance(size := options.get(name), int) and size > 1)


def stored_otherwise(folder: str, shapes: Mapping[str, tuple[int, ...]]) -> str | None:
    """Why the weights of the trainer are not, one by one, those of the checkpoint in the folder; None: they are."""
    try:
        check_outline(read_model(Path(folder)), shapes)
    except InputError as error:
        return str(error)
    return None


def engine_dtype(options: Mapping[str, Any]) -> str | None:
    """What an SGLang engine computes in, by torch's name; None: as the checkpoint says."""
    said = str((options.get("arguments") or {}).get("dtype", "auto"))
    return None if said == "auto" else said
