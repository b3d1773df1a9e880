"""The server's own figures, read out of ``/v1/loads``. Pure; what a version does not report is left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from assay.core.types import Json
from assay.engines.base import Tag

_GIB = 1 << 30
_SUMS = {
    "num_running_reqs": "running",
    "num_waiting_reqs": "waiting",
    "num_used_tokens": "used_tokens",
    "max_total_num_tokens": "token_capacity",
    "gen_throughput": "tokens_per_s",
}
_MEANS = {"cache_hit_rate": "cache_hit_rate", "token_usage": "token_usage"}


def tag_bytes(told: Any) -> dict[Tag, int]:
    """Bytes that weights and KV cache take on each card; of several data-parallel ranks the most."""
    memories = [load.get("memory") for load in _loads(told)]
    found: dict[Tag, int] = {}
    names: dict[Tag, str] = {"weights": "weight_gb", "kv_cache": "kv_cache_gb"}
    for tag, name in names.items():
        sizes = [_number(memory.get(name)) for memory in memories if isinstance(memory, dict)]
        if known := [size for size in sizes if size is not None]:
            found[tag] = int(max(known) * _GIB)
    return found


def figures(told: Any) -> dict[str, Json]:
    """Requests, tokens and cache hits, over all data-parallel ranks."""
    loads = _loads(told)
    found: dict[str, Json] = {}
    for name, ours in _SUMS.items():
        if known := [value for load in loads if (value := _number(load.get(name))) is not None]:
            found[ours] = sum(known)
    for name, ours in _MEANS.items():
        if known := [value for load in loads if (value := _number(load.get(name))) is not None]:
            found[ours] = sum(known) / len(known)
    return found


def _loads(told: Any) -> list[Mapping[str, Any]]:
    loads = told.get("loads") if isinstance(told, dict) else None
    return [load for load in cast("list[Any]", loads) if isinstance(load, dict)] if isinstance(loads, list) else []


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
