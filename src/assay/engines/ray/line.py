"""The way to a desk: one connection for many requests at once, which knows at once when the desk is gone.

A line that is lost stays lost, and everything under way with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import Any, Protocol, Self, cast

from assay.core.deadline import Deadline
from assay.core.errors import AssayError, GenerationError
from assay.core.types import Completion, FailureKind, Request
from assay.engines.base import Delta

from .frames import Frames
from .letters import (
    Answer,
    Ask,
    Door,
    FromDesk,
    Gone,
    Heard,
    Hello,
    Leave,
    Lost,
    News,
    Order,
    OrderName,
    Piece,
    Refusal,
)
from .packing import Packed, pack, unpack

_CONNECT_S = 10.0


class Way(Protocol):
    """An actor with a desk in it."""

    async def door(self) -> Door:
        """Where the desk can be reached from here. Raises Lost."""
        ...

    async def ended(self) -> str:
        """Wait until the actor has ended; how."""
        ...


class Line:
    """Belongs to the event loop that makes it.

    Args:
        on_news: called with every change of the engine, before the answer to what caused it.
    """

    def __init__(self, on_news: Callable[[News], None]) -> None:
        self._on_news = on_news
        self._frames = Frames(self._arrived, self.lose)
        self._number = 0
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._streams: dict[int, asyncio.Queue[FromDesk]] = {}
        self._welcome: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._sentinel: asyncio.Task[None] | None = None

    @classmethod
    async def to(cls, way: Way, on_news: Callable[[News], None]) -> Self:
        """A line to the desk of an actor, lost as soon as connection or actor is. Raises Lost."""
        line = cls(on_news)
        await line.open(await way.door())
        # A connection to a machine that has vanished looks fine for long.
        line._sentinel = asyncio.ensure_future(line._mourn(way))
        return line

    @property
    def lost(self) -> str | None:
        """Why nothing comes through any more; None while it does."""
        return self._lost.result() if self._lost.done() else None

    async def open(self, door: Door) -> None:
        """Connect, and hear how the engine is. Raises Lost."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_CONNECT_S):
                await loop.create_connection(lambda: self._frames, door.host, door.port)
                self._frames.send(pack(Hello(door.password)))
                await self._welcome
        except (OSError, TimeoutError) as error:
            self.lose(f"no connection to the engine's process: {error or 'no answer'}")
            raise Lost(self.lost or "") from error
        except asyncio.CancelledError:
            self.lose("nobody waited for the connection")
            raise

    async def ended(self) -> str:
        """Wait until the line is lost; why."""
        return await asyncio.shield(self._lost)

    async def ask(self, request: Request, deadline: Deadline) -> tuple[Completion, ...]:
        """See ``Engine.generate``. Leaving aborts the generation. Raises GenerationError, of which Lost is one."""
        loop, number, left = asyncio.get_running_loop(), self._next(), deadline.timeout
        future = self._answers[number] = loop.create_future()
        self._frames.send(pack(Ask(number, request, left, streamed=False)))
        # A timer of our own costs a third of asyncio.timeout, and this is the path that every request takes.
        alarm = None if left is None else loop.call_later(left, self._too_late, number)
        try:
            return await future
        finally:
            if alarm is not None:
                alarm.cancel()
            del self._answers[number]
            if future.cancelled():
                self._leave(number)

    async def stream(self, request: Request, deadline: Deadline) -> AsyncGenerator[Delta, None]:
        """See ``StreamingEngine.stream``."""
        number, letters = self._next(), asyncio.Queue[FromDesk]()
        self._streams[number] = letters
        self._frames.send(pack(Ask(number, request, deadline.timeout, streamed=True)))
        whole = False
        try:
            while not whole:
                async with asyncio.timeout(deadline.timeout):
                    letter = await letters.get()
                match letter:
                    case Piece(_, delta):
                        yield delta
                    case Refusal(_, error):
                        whole = True
                        raise error
                    case Gone(reason):
                        raise Lost(reason)
                    case _:
                        whole = True
        except TimeoutError:
            raise _late() from None
        finally:
            del self._streams[number]
            if not whole:
                self._leave(number)

    async def order(self, name: OrderName, *arguments: Any, deadline: Deadline | None = None) -> Any:
        """A control call. It is carried out to its end even if nobody waits. Raises the engine's own error, or Lost."""
        number = self._next()
        future = self._answers[number] = asyncio.get_running_loop().create_future()
        self._frames.send(pack(Order(number, name, arguments)))
        try:
            async with asyncio.timeout(None if deadline is None else deadline.timeout):
                return await future
        except TimeoutError:
            raise _late() from None
        finally:
            del self._answers[number]

    def order_quietly(self, name: OrderName) -> None:
        """A control call whose outcome nobody waits for. Raises Lost."""
        self._frames.send(pack(Order(self._next(), name, ())))

    def close(self) -> None:
        """Hang up; what was asked for is aborted. Closing twice is fine."""
        self.lose("the line was closed")

    def lose(self, reason: str) -> None:
        """Everything under way is lost for this reason; fine when it is already."""
        if self._lost.done():
            return
        self._lost.set_result(reason)
        self._frames.end(reason)
        if self._sentinel is not None:
            self._sentinel.cancel()
        for future in (*self._answers.values(), self._welcome):
            if not future.done():
                future.set_exception(Lost(reason))
        # Of an opening that nobody awaits any more, the error is no news.
        with suppress(asyncio.CancelledError):
            self._welcome.exception()
        for letters in self._streams.values():
            letters.put_nowait(Gone(reason))

    async def _mourn(self, way: Way) -> None:
        self.lose(await way.ended())

    def _next(self) -> int:
        if self.lost is not None:
            raise Lost(self.lost)
        self._number += 1
        return self._number

    def _too_late(self, number: int) -> None:
        self._leave(number)
        self._settle(number, None, _late())

    def _leave(self, number: int) -> None:
        if self.lost is None:
            self._frames.send(pack(Leave(number)))

    def _arrived(self, packed: Packed) -> None:
        letter = cast(FromDesk, unpack(packed))
        match letter:
            case Gone(reason):
                self.lose(reason)
            case News(number):
                self._on_news(letter)
                self._frames.send(pack(Heard(number)))
                if not self._welcome.done():
                    self._welcome.set_result(None)
            case Piece(number) | Answer(number) | Refusal(number) if number in self._streams:
                self._streams[number].put_nowait(letter)
            case Answer(number, value):
                self._settle(number, value, None)
            case Refusal(number, error):
                self._settle(number, None, error)
            case Piece():
                pass

    def _settle(self, number: int, value: Any, error: AssayError | None) -> None:
        future = self._answers.get(number)
        if future is None or future.done():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)


def _late() -> GenerationError:
    return GenerationError(FailureKind.TIMEOUT, "the engine did not answer before the deadline")
