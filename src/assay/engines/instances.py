"""From an instance of the GenRM flags to the engine that serves it: how many replicas, on which GPUs, in which process.

Every setting of the instance is either obeyed or refused by name; none is dropped. Pure, but for building at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from assay.core.errors import InputError
from assay.wire.genrm import InstanceSpec

from .base import Engine
from .catalog import build_engine, engine_config
from .hosted.config import HostedConfig
from .pool.config import PoolConfig

Kind = Literal["embedded", "openai", "sglang", "fake"]

Host = Callable[[int, dict[str, Any]], Engine]
"""Runs one replica somewhere else than here: its number, and its options in the catalog (``kind`` among them)."""

_PARALLEL = ("dp_size", "pp_size", "ep_size")


def instance_engine(
    spec: InstanceSpec,
    kind: Kind,
    options: Mapping[str, Any],
    *,
    first_gpu: int,
    processes: bool,
    pool: PoolConfig,
    host: Host | None = None,
) -> Engine:
    """The engine of an instance, not started.

    Args:
        options: of the engine, for every instance; those of the instance's own ``engine_config`` win.
        first_gpu: index of the first GPU that this instance may use.
        processes: run each embedded or fake engine in a process of its own, so that one that dies is rebuilt.
        pool: how the replicas are watched; its size is replaced by that of the instance.
        host: runs the replicas of a pool; None runs them here, ``processes`` says how.

    Raises:
        InputError: a setting that this kind of engine cannot honour.
    """
    merged = _options(spec, kind, options)
    if kind == "openai":
        # Its server is somebody else's: there is nothing here to watch, to put to sleep or to build again.
        return build_engine(engine_config(kind, merged))
    per_engine = spec.num_gpus_per_engine
    size = replicas(spec)
    engine_config(kind, _replica(kind, merged, 0, per_engine, first_gpu))

    def build(replica: int) -> Engine:
        own = _replica(kind, merged, replica, per_engine, first_gpu)
        if kind == "sglang":
            own = {"backups_on_host": size, **own}
        if host is not None:
            return host(replica, {**own, "kind": kind})
        if kind == "sglang" or (size == 1 and not processes):
            return build_engine(engine_config(kind, own))
        return _hosted(kind, own, first_gpu + replica * per_engine, per_engine)

    from .pool.engine import PoolEngine

    return PoolEngine(pool.model_copy(update={"size": size}), build)


def replicas(spec: InstanceSpec) -> int:
    """How many engines an instance has."""
    return max(1, spec.num_gpus // spec.num_gpus_per_engine)


def _options(spec: InstanceSpec, kind: Kind, options: Mapping[str, Any]) -> dict[str, Any]:
    """The engine's options out of the instance's settings."""
    asked = spec.engine
    merged = {**options, **asked.passed_through, "model": spec.model_path}
    if kind == "fake":
        # A fake never signs as the model that it stands for.
        merged["model"] = f"fake {spec.model_path}"
    parallel = {name: asked.model_dump()[name] for name in _PARALLEL}
    if kind == "sglang":
        merged |= {**parallel, "max_context_len": asked.max_context_len}
        if asked.mem_fraction_static is not None:
            merged["mem_fraction_static"] = asked.mem_fraction_static
        return merged
    for name, size in parallel.items():
        if size != 1:
            raise InputError(f"{_where(spec)}: {name}={size} needs --engine sglang; the engine {kind!r} spans no GPUs")
    if asked.mem_fraction_static is not None:
        raise InputError(
            f"{_where(spec)}: mem_fraction_static={asked.mem_fraction_static} needs --engine sglang; "
            f"the engine {kind!r} takes memory as it needs it"
        )
    if kind == "embedded":
        merged["max_context_len"] = asked.max_context_len
    elif "max_context_len" in asked.model_fields_set:
        merged["context_len"] = asked.max_context_len
    return merged


def _replica(kind: Kind, options: dict[str, Any], replica: int, per_engine: int, first_gpu: int) -> dict[str, Any]:
    """The options of one replica."""
    if kind != "sglang":
        return options
    start = first_gpu + replica * per_engine
    return {"gpu_ids": tuple(range(start, start + per_engine)), "num_gpus": per_engine, **options}


def _hosted(kind: Kind, options: dict[str, Any], gpu: int, per_engine: int) -> Engine:
    from .hosted.engine import HostedEngine

    cards = ",".join(str(index) for index in range(gpu, gpu + per_engine))
    return HostedEngine(HostedConfig(engine={**options, "kind": kind}, environment={"CUDA_VISIBLE_DEVICES": cards}))


def _where(spec: InstanceSpec) -> str:
    return f"instance {spec.route_key!r}"
