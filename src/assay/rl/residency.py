"""Who is on the cards in each phase of a step: the moves from one phase to the next, and the shell that makes them.

The moves are a pure function of who is awake now and who should be (``placement.Phase``). Sleepers go first, then, when
all of them have, the others wake: two that do not fit together are never awake together. A role that the loop has no
handle on (a judge that somebody else runs) is left alone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from assay.core.errors import AssayError
from assay.engines.base import Tag
from assay.placement.plans import Phase, PhaseKind

Presence = Literal["awake", "weights", "asleep"]
"""``weights``: only the weights are on the card, not the KV cache."""

Enter = Callable[[Literal["generate", "judge"]], Awaitable[None]]
"""Has those awake who are needed: the rollout engines, or the judges."""

WEIGHTS: frozenset[Tag] = frozenset({"weights"})
KV_CACHE: frozenset[Tag] = frozenset({"kv_cache"})
EVERYTHING = WEIGHTS | KV_CACHE


class Resident(Protocol):
    """Something that lives on the cards. Both return the bytes freed (taken), and raise AssayError if it did not work.

    Whoever implements it checks that the memory is really free, and that what woke is what fell asleep.
    """

    async def sleep(self, tags: frozenset[Tag]) -> int: ...
    async def wake(self, tags: frozenset[Tag]) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One change: ``role`` takes back, or gives back, what ``tags`` name."""

    role: str
    kind: Literal["sleep", "wake"]
    tags: frozenset[Tag]


def moves(now: Mapping[str, Presence], phase: Phase) -> tuple[tuple[Move, ...], tuple[Move, ...]]:
    """The moves that lead into ``phase``: first those to sleep, then those to wake, each in the order of ``now``."""
    asleep, awake = [], []
    for role, presence in now.items():
        held, wanted = _tags(presence), _tags(_wanted(role, phase))
        if held - wanted:
            asleep.append(Move(role=role, kind="sleep", tags=held - wanted))
        if wanted - held:
            awake.append(Move(role=role, kind="wake", tags=wanted - held))
    return tuple(asleep), tuple(awake)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A move that was made."""

    move: Move
    bytes: int
    seconds: float


def entering(residency: Residency, phases: Sequence[Phase]) -> Enter | None:
    """For those who generate and judge between two steps; None where rollout and judges are awake together then."""
    found = {phase.kind: phase for phase in phases}
    if PhaseKind.JUDGE not in found:
        return None

    async def enter(name: Literal["generate", "judge"]) -> None:
        await residency.enter(found[PhaseKind(name)])

    return enter


class Residency:
    """Makes the moves. ``now`` is what is true, also after a move that failed."""

    def __init__(self, residents: Mapping[str, Resident], *, awake: Sequence[str] = ()) -> None:
        self._residents = dict(residents)
        self.now: dict[str, Presence] = {role: "awake" if role in awake else "asleep" for role in residents}

    async def enter(self, phase: Phase) -> tuple[Moved, ...]:
        """Make the moves that lead into a phase.

        Raises:
            AssayError: a role did not fall asleep or did not wake; the message names role and phase.
        """
        asleep, awake = moves(self.now, phase)
        made = [moved for group in (asleep, awake) for moved in await self._all(group, phase)]
        return tuple(made)

    async def _all(self, group: Sequence[Move], phase: Phase) -> list[Moved]:
        results = await asyncio.gather(*(self._make(move) for move in group), return_exceptions=True)
        for move, result in zip(group, results, strict=True):
            if isinstance(result, AssayError):
                raise AssayError(f"{move.role} could not {move.kind} before phase {phase.kind!s}: {result}") from result
            if isinstance(result, BaseException):
                raise result
        return [result for result in results if isinstance(result, Moved)]

    async def _make(self, move: Move) -> Moved:
        resident, begin = self._residents[move.role], time.perf_counter()
        change = resident.sleep if move.kind == "sleep" else resident.wake
        moved = await change(move.tags)
        held = _tags(self.now[move.role])
        self.now[move.role] = _presence(held - move.tags if move.kind == "sleep" else held | move.tags)
        return Moved(move=move, bytes=moved, seconds=time.perf_counter() - begin)


def _wanted(role: str, phase: Phase) -> Presence:
    if role in phase.awake:
        return "awake"
    return "weights" if role in phase.weights_only else "asleep"


def _tags(presence: Presence) -> frozenset[Tag]:
    return {"awake": EVERYTHING, "weights": WEIGHTS, "asleep": frozenset[Tag]()}[presence]


def _presence(tags: frozenset[Tag]) -> Presence:
    if "weights" not in tags:
        return "asleep"
    return "awake" if "kv_cache" in tags else "weights"
