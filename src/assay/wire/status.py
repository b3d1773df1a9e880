"""``/health``, ``/metrics``, ``/offload`` and ``/onload``: what an instance says of itself, and its sleep."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from .body import Body, JsonObject, Reply

Status = Literal["healthy", "unhealthy"]


class InstanceHealth(Reply):
    """One instance."""

    status: Status
    state: str | None = None
    """Said when there is more to say than the status: ``starting``, ``asleep``, ``draining``, ..."""

    error: str | None = None
    adapter: str | None = None
    """Name and digest of the LoRA adapter that the model judges with, where there is one."""


class HealthReply(InstanceHealth):
    """The service: healthy only if every instance is. Asleep on purpose is healthy."""

    service: Literal["genrm"]
    instances: dict[str, InstanceHealth] | None = None
    """One entry per named instance; absent where there is the default one alone."""

    metas: dict[str, InstanceHealth] | None = None
    """The meta RMs by name, where there are any."""

    rules: InstanceHealth | None = None
    """The rule engine, where it is unhealthy."""

    recorder: str | None = None
    """Why the flight recorder stopped recording, where it did."""


class InstanceMetrics(Reply):
    """Static facts of an instance and its live counters (others may be beside them)."""

    model_config = ConfigDict(extra="allow", frozen=True, use_attribute_docstrings=True)

    model_path: str
    num_gpus: int
    num_engines: int


class MetricsReply(Reply):
    """One instance's metrics in the open, or those of all named instances by their key."""

    model_config = ConfigDict(extra="allow", frozen=True, use_attribute_docstrings=True)

    service: Literal["genrm"]
    model_path: str | None = None
    num_gpus: int | None = None
    num_engines: int | None = None
    instances: dict[str, InstanceMetrics] | None = None
    judges: dict[str, str] | None = None
    """Name and identity of every judge that ``/score`` takes; absent where a service does not say."""

    metas: dict[str, JsonObject] | None = None
    """What the meta RMs scored, by name, where there are any."""


class OffloadBody(Body):
    """Which instance, and what of it."""

    route_key: str | None = None
    tags: list[Literal["weights", "kv_cache"]] = Field(default=["weights", "kv_cache"], min_length=1)


class OffloadReply(Reply):
    """The state after the change."""

    route_key: str
    state: str
    """``ready``, or ``asleep`` while any of its tags is."""

    asleep: list[str]
    """The tags that are not in memory now."""

    bytes: int
    """Bytes of memory freed (by ``/offload``) or taken (by ``/onload``)."""
