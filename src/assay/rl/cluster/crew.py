"""Actors that do the same thing at the same time, and wait for one another inside of it.

Where one of them fails, the others would wait for ever for what it owed them: so the first failure ends them all, and
what is raised is the reason of the one that failed, not the complaints of those that were left alone. Owns that. Knows
nothing of Ray, nor of what the actors do.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from assay.core.errors import AssayError
from assay.engines.ray.letters import Lost

log = logging.getLogger(__name__)

_GRACE_S = 2.0
"""Seconds after the first failure in which the one that it came from may still say so itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What an actor answers: a value, or the error for which there is none. (Ray wraps errors that are raised.)"""

    value: Any = None
    error: AssayError | None = None


def answered(work: Callable[[], Any]) -> Told:
    """What an actor answers that has done this."""
    try:
        return Told(value=work())
    except AssayError as error:
        return Told(error=error)


class Dead(Lost):
    """The actor is gone. A plain ``Lost``: it failed in a way that nobody foresaw, perhaps since another is gone."""


class Hand(Protocol):
    """One actor of a crew."""

    @property
    def name(self) -> str: ...

    def call(self, method: str, *arguments: Any) -> Awaitable[Told]:
        """Any call of it. Raises Lost, of which Dead is one."""
        ...

    def beside(self, method: str, *arguments: Any) -> Awaitable[Any]:
        """A call that does not wait for the one that is under way, and changes nothing of it. Raises Lost."""
        ...

    def kill(self) -> None:
        """End it at once, whatever it does."""
        ...


class Crew:
    """One call at a time, in the same order on all. After a failure all are dead, and every later call says why."""

    def __init__(self, hands: Sequence[Hand]) -> None:
        self.hands = tuple(hands)
        self.failure: AssayError | None = None
        self._turn = asyncio.Lock()

    async def all(self, method: str, *arguments: Any, timeout_s: float) -> list[Any]:
        """The same call on all; their values, in order.

        Raises:
            AssayError: one failed, died, or was not done in time. All of them have been ended.
        """
        return await self.each(method, [arguments] * len(self.hands), timeout_s=timeout_s)

    async def each(self, method: str, arguments: Sequence[Sequence[Any]], *, timeout_s: float) -> list[Any]:
        """A call on each, with arguments of its own. As ``all``. It goes on to its end if nobody waits any more."""
        return await asyncio.shield(self._whole(method, arguments, timeout_s))

    def end(self, why: AssayError) -> None:
        """End all at once; fine when they have ended."""
        if self.failure is None:
            self.failure = why
            for hand in self.hands:
                hand.kill()

    def close(self) -> None:
        """End all: nobody needs them any more."""
        self.end(AssayError("the actors were ended with the run"))

    async def _whole(self, method: str, arguments: Sequence[Sequence[Any]], timeout_s: float) -> list[Any]:
        async with self._turn:
            if self.failure is not None:
                raise self.failure
            calls = [
                asyncio.ensure_future(_told(hand, method, own)) for hand, own in zip(self.hands, arguments, strict=True)
            ]
            try:
                failure = await self._watched(method, calls, timeout_s)
            finally:
                for call in calls:
                    call.cancel()
            if failure is not None:
                self.end(failure)
                raise failure
            return [call.result().value for call in calls]

    async def _watched(self, method: str, calls: Sequence[asyncio.Future[Told]], timeout_s: float) -> AssayError | None:
        """Wait until all are done; why that did not come to be."""
        loop = asyncio.get_running_loop()
        until, pending = loop.time() + timeout_s, set(calls)
        while pending:
            done, pending = await asyncio.wait(
                pending, timeout=max(0.0, until - loop.time()), return_when=asyncio.FIRST_COMPLETED
            )
            if any(call.result().error is not None for call in done):
                if pending:
                    await asyncio.wait(pending, timeout=_GRACE_S)
                return self._blamed(method, calls)
            if not done:
                return self._late(method, calls, timeout_s)
        return None

    def _blamed(self, method: str, calls: Sequence[asyncio.Future[Told]]) -> AssayError:
        """The most telling of the failures: what an actor said itself, before actors that broke or are gone."""
        failed = [
            (hand, call.result().error)
            for hand, call in zip(self.hands, calls, strict=True)
            if call.done() and call.result().error is not None
        ]
        for hand, error in failed:
            log.error("%s failed in %s: %s", hand.name, method, error)
        said = [error for _, error in failed if error is not None and not isinstance(error, Lost)]
        if said:
            return said[0]
        hand, error = next(((h, e) for h, e in failed if isinstance(e, Dead)), failed[0])
        detail = error.detail if isinstance(error, Lost) else str(error)
        return AssayError(f"{hand.name} failed in {method!r}, and the run with it: {detail}")

    def _late(self, method: str, calls: Sequence[asyncio.Future[Told]], timeout_s: float) -> AssayError:
        silent = [hand.name for hand, call in zip(self.hands, calls, strict=True) if not call.done()]
        return AssayError(
            f"{', '.join(silent)} did not come back from {method!r} within {timeout_s:g} s "
            f"({len(calls) - len(silent)} of {len(calls)} did): one hangs, or --train-timeout-s is too short"
        )


async def _told(hand: Hand, method: str, arguments: Sequence[Any]) -> Told:
    try:
        return await hand.call(method, *arguments)
    except AssayError as error:
        return Told(error=error)
