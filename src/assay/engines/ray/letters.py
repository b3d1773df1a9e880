"""What travels between a desk (where an engine lives) and the lines to it (those who use it), both ways."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from assay.core.errors import AssayError, GenerationError
from assay.core.types import Completion, FailureKind, Request
from assay.engines.base import Delta, EngineHealth, EngineInfo, Tag
from assay.engines.pool.report import PoolReport

OrderName = Literal["start", "health", "sleep", "wake", "update_weights", "reload", "memory", "report", "close"]
Value: TypeAlias = "tuple[Completion, ...] | EngineHealth | PoolReport | int | None"


@dataclass(frozen=True, slots=True)
class Hello:
    """The first letter of a line: it has been told the desk's password."""

    password: str


@dataclass(frozen=True, slots=True)
class Ask:
    """A generation is asked for. ``left``: seconds until its deadline; None for none."""

    number: int
    request: Request
    left: float | None
    streamed: bool


@dataclass(frozen=True, slots=True)
class Order:
    """A control call; arguments are JSON."""

    number: int
    name: OrderName
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Leave:
    """Nobody waits for this ``Ask`` any more."""

    number: int


@dataclass(frozen=True, slots=True)
class Heard:
    """News of this number have arrived."""

    number: int


@dataclass(frozen=True, slots=True)
class Answer:
    """The whole answer; of a stream, its end."""

    number: int
    value: Value


@dataclass(frozen=True, slots=True)
class Piece:
    """A stream has grown."""

    number: int
    delta: Delta


@dataclass(frozen=True, slots=True)
class Refusal:
    """There is no answer, and why."""

    number: int
    error: AssayError


@dataclass(frozen=True, slots=True)
class News:
    """How the engine is; the first letter of a desk, and sent again when that has changed."""

    number: int
    info: EngineInfo
    asleep: frozenset[Tag]
    started: bool
    """False while the engine has yet to say what it is."""


@dataclass(frozen=True, slots=True)
class Gone:
    """The engine behind the desk has ended."""

    reason: str


LOOPBACK = "127.0.0.1"

ToDesk: TypeAlias = Hello | Ask | Order | Leave | Heard
FromDesk: TypeAlias = Answer | Piece | Refusal | News | Gone


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """Where a desk listens. Nothing is taken from whoever does not say the password first."""

    host: str
    port: int
    password: str


class Lost(GenerationError):
    """The way to the engine broke while something was under way; nothing is known of how far that came."""

    def __init__(self, reason: str) -> None:
        super().__init__(FailureKind.ENGINE_ERROR, reason)
