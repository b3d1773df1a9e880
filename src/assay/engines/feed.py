"""Weights that reach an engine in buckets, out of a trainer's memory instead of a folder. Nothing here knows torch.

A feed sends; a receiver stands for one running engine and takes. Buckets come in one order, are bounded in size, and
the last one carries the version: until then the engine says the old one. Owns the words. Does not own how buckets are
filled (``training.dispatch``), nor when an engine may take them (each engine's own order of things).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from assay.core.errors import GenerationError
from assay.core.types import FailureKind

FEED = "feed:"
"""What a source of weights begins with that are sent in buckets; the version follows."""

GROUP_ENVIRONMENT: Mapping[str, str] = {"NCCL_NVLS_ENABLE": "0", "NCCL_CUMEM_ENABLE": "0"}
"""Of both sides of a process group, before either uses NCCL: multicast over NVLink is not to be had everywhere, and
processes that allocate in different ways cannot map each other's buffers."""


class Unsynced(GenerationError):
    """An engine took some of the new weights, or nobody knows. It serves nothing until it is started and sent all."""

    def __init__(self, detail: str) -> None:
        super().__init__(FailureKind.ENGINE_ERROR, detail)

    def __reduce__(self) -> tuple[Callable[..., Unsynced], tuple[Any, ...]]:
        return type(self), (self.detail,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """Some weights, one after the other in one piece of memory without gaps; all of one type.

    ``dtype``: torch's name for it, e.g. ``bfloat16``. ``size``: bytes. ``payloads``: one per tensor-parallel rank, how
    each finds the memory (base64). ``group``: the process group that the bucket is broadcast in, where there is one.
    """

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    dtype: str
    size: int
    last: bool
    payloads: tuple[str, ...] = ()
    group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A process group of a trainer (rank 0) and the tensor-parallel ranks of one engine (from 1 on)."""

    name: str
    host: str
    port: int
    size: int
    backend: str


class Receiver(Protocol):
    """One engine that is ready to take weights: it is idle, and lets no request in."""

    @property
    def key(self) -> str:
        """Of the running engine; one that was started anew has another."""
        ...

    @property
    def width(self) -> int:
        """Its tensor-parallel ranks."""
        ...

    async def join(self, group: Group) -> None:
        """Meet the trainer in a process group. Raises GenerationError."""
        ...

    async def take(self, bucket: Bucket) -> None:
        """Take the weights of a bucket; returns once they are in. Raises GenerationError."""
        ...


@runtime_checkable
class WeightFeed(Protocol):
    """Where an engine gets all of a trainer's weights from, as often as it asks."""

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Of the weights it sends, by the names that a checkpoint gives them; tied ones once."""
        ...

    async def deliver(self, receiver: Receiver, version: str) -> int:
        """Send all weights; the bytes.

        Raises:
            StartError: the trainer does not have this version (any more), or could not send.
            GenerationError: the receiver did not take them.
        """
        ...
