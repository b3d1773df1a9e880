"""From an instance of the GenRM flags to the engine that serves it: how many replicas, on which GPUs, in which process.

Every setting of the instance is either obeyed or refused by name; none is dropped. Pure, but for building at the end.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from assay.core.errors import InputError
from assay.wire.genrm import InstanceSpec

from .base import Engine
from .catalog import build_engine, engine_config
from .embedded.config import NO_ADAPTER
from .embedded.shipped import judging_adapter
from .hosted.config import HostedConfig
from .pool.config import PoolConfig
from .visible import VARIABLE, gpu_names

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
    # Under a host the GPUs are the cluster's, which names them where the engine runs; others than SGLang ask for none.
    names = gpu_names if host is None and kind == "sglang" else tuple[int, ...]
    engine_config(kind, _replica(kind, merged, names(range(first_gpu, first_gpu + per_engine))))

    def build(replica: int) -> Engine:
        first = first_gpu + replica * per_engine
        own = _replica(kind, merged, names(range(first, first + per_engine)))
        if kind == "sglang":
            own = {"backups_on_host": size, **own}
        if host is not None:
            return host(replica, {**own, "kind": kind})
        if kind == "sglang" or (size == 1 and not processes):
            return build_engine(engine_config(kind, own))
        return _hosted(kind, own, range(first, first + per_engine))

    from .pool.engine import PoolEngine

    return PoolEngine(pool.model_copy(update={"size": size}), build)


def instance_adapter(spec: InstanceSpec, kind: Kind, options: Mapping[str, Any]) -> str:
    """The adapter that an instance judges with, for all of its judges; ``none`` where its engine takes none.

    Args:
        options: of the engine, for every instance; those of the instance's own ``engine_config`` win.
    """
    if kind != "embedded":
        return NO_ADAPTER
    said = {**options, **spec.engine.passed_through}.get("adapter")
    return judging_adapter(spec.model_path, said, judges=None)


def check_instance(spec: InstanceSpec, kind: Kind, options: Mapping[str, Any]) -> None:
    """Refuse what ``instance_engine`` would refuse, without building anything. Raises InputError."""
    gpus = range(spec.num_gpus_per_engine) if kind == "sglang" else ()
    engine_config(kind, _replica(kind, _options(spec, kind, options), gpus))


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
        merged["adapter"] = instance_adapter(spec, kind, options)
    elif "max_context_len" in asked.model_fields_set:
        merged["context_len"] = asked.max_context_len
    return merged


def _replica(kind: Kind, options: dict[str, Any], gpus: Sequence[int | str]) -> dict[str, Any]:
    """The options of one replica."""
    return {"gpu_ids": tuple(gpus), "num_gpus": len(gpus), **options} if kind == "sglang" else options


def _hosted(kind: Kind, options: dict[str, Any], gpus: Sequence[int]) -> Engine:
    from .hosted.engine import HostedEngine

    # Nothing visible means: on the CPU.
    cards = ",".join(map(str, gpu_names(gpus))) if os.environ.get(VARIABLE) != "" else ""
    return HostedEngine(HostedConfig(engine={**options, "kind": kind}, environment={VARIABLE: cards}))


def _where(spec: InstanceSpec) -> str:
    return f"instance {spec.route_key!r}"
