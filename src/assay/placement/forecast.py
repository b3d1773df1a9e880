"""What a plan will cost: memory of each card and phase, seconds of a step, which mode does better. Plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRow:
    """Memory of one card (or of one host) in one phase, in bytes by part.

    ``where``: the GPUs, which are alike, or the node. ``phase``: its place among the plan's phases and its kind.
    """

    where: str
    phase: str
    parts: dict[str, int]
    capacity: int | None

    @property
    def total(self) -> int:
        """Bytes of all parts."""
        return sum(self.parts.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Memory everywhere. ``refusals``: what cannot fit. ``kv_tokens``: capacity of one engine's cache, by claim."""

    cards: tuple[MemoryRow, ...]
    hosts: tuple[MemoryRow, ...]
    kv_tokens: dict[str, int]
    refusals: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of a step on some GPUs: from ``start`` to ``end`` seconds, of which they are ``busy`` (a share)."""

    name: str
    claim: str
    gpus: tuple[int, ...]
    start: float
    end: float
    busy: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One step in the steady state. ``seconds``: from one update of the weights to the next.

    ``phases``: seconds by name. ``idle``: share of the step in which a GPU does nothing, by logical index.
    """

    seconds: float
    phases: dict[str, float]
    spans: tuple[Span, ...]
    idle: tuple[float, ...]

    @property
    def mean_idle(self) -> float:
        """Over all GPUs."""
        return sum(self.idle) / len(self.idle) if self.idle else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One way to run the same job. ``refused``: why it cannot be; else it has figures."""

    mode: str
    layout: str
    seconds: float | None = None
    idle: float | None = None
    refused: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The options, the fastest first, and what to take from them."""

    options: tuple[Option, ...]
    verdict: str
