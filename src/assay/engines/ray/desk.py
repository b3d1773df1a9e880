"""Where an engine lives: takes letters from many lines, has the engine answer them, sends the answers back.

Owns the doors, and which task answers what. It knows nothing of Ray: an actor starts it and tells where it listens.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any, Protocol, TypeVar, runtime_checkable

from assay.core.deadline import Deadline
from assay.core.errors import AssayError, GenerationError
from assay.core.types import FailureKind
from assay.engines.base import Engine, EngineHealth, Offloadable, Tag, Updatable
from assay.engines.hosted.memory import give_back, held_bytes
from assay.engines.pool.report import PoolReport, Reporting
from assay.engines.pool.traits import Reloadable, Supervised, Weighed
from assay.engines.streaming import deltas_of

from .box import Box
from .frames import Frames
from .letters import LOOPBACK, Answer, Ask, Door, Gone, Heard, Hello, Leave, News, Order, OrderName, Piece, Refusal
from .packing import Packed, pack, unpack

log = logging.getLogger(__name__)

T = TypeVar("T")

_HEARD_S = 1.0
"""How long a change waits for every line to have heard of it."""
_BACKLOG = 512


@runtime_checkable
class Lending(Protocol):
    """An engine that knows what of it is asleep."""

    @property
    def asleep(self) -> frozenset[Tag]: ...


class Desk:
    """One engine and everybody who uses it; belongs to one event loop.

    Args:
        build: makes the engine, not started; called again when it is to be read anew.
        own_memory: the engine's memory is this process's own.
    """

    def __init__(self, build: Callable[[], Engine], *, own_memory: bool = False) -> None:
        self.engine = build()
        self._build = build
        self._own_memory = own_memory
        self._boxes: set[Box] = set()
        self._visitors: set[Frames] = set()
        self._password = secrets.token_hex(32)
        self._opening = asyncio.Lock()
        self._doors: dict[str, tuple[asyncio.Server, Door]] = {}
        self._news_number = 0
        self._starting: asyncio.Task[None] | None = None
        self._started = False
        self._sentinel: asyncio.Task[None] | None = None
        self._orders: dict[OrderName, Callable[..., Awaitable[Any]]] = {
            "start": self.start,
            "health": self._health,
            "sleep": self._sleep,
            "wake": self._wake,
            "update_weights": self._update,
            "reload": self._reload,
            "memory": self._memory,
            "report": self._report,
            "close": self.close,
        }

    async def door(self, address: str = LOOPBACK) -> Door:
        """Where this desk listens: for its own node, or by its ``address`` for other nodes."""
        async with self._opening:
            if address not in self._doors:
                loop = asyncio.get_running_loop()
                server = await loop.create_server(self._visitor, address, 0, backlog=_BACKLOG)
                port: int = server.sockets[0].getsockname()[1]
                self._doors[address] = server, Door(host=address, port=port, password=self._password)
            return self._doors[address][1]

    async def start(self) -> None:
        """Start the engine, once: whoever asks later gets the outcome of the first time."""
        if self._starting is None:
            self._starting = asyncio.ensure_future(self._begin())
        await asyncio.shield(self._starting)

    async def change(self, work: Callable[[Engine], Awaitable[T]]) -> T:
        """Do something to the engine; every line has heard how it is then before this returns."""
        done = await work(self.engine)
        await self._tell()
        return done

    async def close(self) -> None:
        """Close the engine. Closing twice is fine."""
        for task in (self._starting, self._sentinel):
            if task is not None:
                task.cancel()
        await self.engine.close()

    async def shut(self) -> None:
        """Close the engine and the doors."""
        await self.close()
        for server, _ in self._doors.values():
            server.close()
        self._doors = {}
        for visitor in list(self._visitors):
            visitor.end("the desk is shut")
        await asyncio.sleep(0)

    def _visitor(self) -> Frames:
        """The protocol of a new connection; it has a box once it has said the password."""
        box: Box | None = None

        def arrived(packed: Packed) -> None:
            nonlocal box
            letter = unpack(packed)
            if box is not None:
                self._handle(box, letter)
            elif isinstance(letter, Hello) and hmac.compare_digest(letter.password, self._password):
                box = Box(lambda sent: frames.send(pack(sent)))
                self._boxes.add(box)
                box.tell(self._news())
            else:
                frames.end("the password is wrong")

        def ended(_: str) -> None:
            self._visitors.discard(frames)
            if box is not None:
                self._boxes.discard(box)
                box.close()

        frames = Frames(arrived, ended)
        self._visitors.add(frames)
        return frames

    def _handle(self, box: Box, letter: object) -> None:
        match letter:
            case Ask(number):
                box.work(number, self._generate(box, letter))
            case Order(number):
                # A control call that stopped halfway would leave nobody knowing how far it came.
                box.work(number, self._obey(box, letter), to_the_end=True)
            case Leave(number):
                box.abort(number)
            case Heard(number):
                box.heard(number)
            case _:
                raise ValueError(f"not for a desk: {letter!r}")

    async def _generate(self, box: Box, ask: Ask) -> None:
        deadline = Deadline.never() if ask.left is None else Deadline.after(ask.left)
        try:
            if ask.streamed:
                async with aclosing(deltas_of(self.engine, ask.request, deadline)) as deltas:
                    async for delta in deltas:
                        box.put(Piece(ask.number, delta))
                box.put(Answer(ask.number, None))
            else:
                box.put(Answer(ask.number, await self.engine.generate(ask.request, deadline)))
        except AssayError as error:
            box.put(Refusal(ask.number, error))

    async def _obey(self, box: Box, order: Order) -> None:
        try:
            box.put(Answer(order.number, await self._orders[order.name](*order.arguments)))
        except AssayError as error:
            box.put(Refusal(order.number, error))

    async def _begin(self) -> None:
        await self.engine.start()
        self._started = True
        self._watch_over()
        await self._tell()

    async def _health(self) -> EngineHealth:
        return await self.engine.health()

    async def _sleep(self, tags: Sequence[Tag]) -> int:
        if not isinstance(self.engine, Offloadable):
            raise self._cannot("give its memory back")
        freed = await self.engine.sleep(frozenset(tags))
        if self._own_memory:
            give_back()
        await self._tell()
        return freed

    async def _wake(self, tags: Sequence[Tag]) -> int:
        if not isinstance(self.engine, Offloadable):
            raise self._cannot("take memory again")
        taken = await self.engine.wake(frozenset(tags))
        await self._tell()
        return taken

    async def _update(self, source: str, version: str) -> None:
        if not isinstance(self.engine, Updatable):
            raise self._cannot("take other weights")
        await self.engine.update_weights(source, version)
        await self._tell()

    async def _reload(self) -> None:
        """The engine reads its weights again; one that cannot is built anew, from its files."""
        if isinstance(self.engine, Reloadable):
            await self.engine.reload()
        else:
            await self.engine.close()
            self.engine = self._build()
            await self.engine.start()
            self._watch_over()
        await self._tell()

    async def _memory(self) -> int | None:
        if isinstance(self.engine, Weighed):
            return await self.engine.held_bytes()
        return held_bytes() if self._own_memory else None

    async def _report(self) -> PoolReport:
        if not isinstance(self.engine, Reporting):
            raise self._cannot("report what happens in a pool")
        return await self.engine.report()

    def _news(self) -> News:
        self._news_number += 1
        asleep = self.engine.asleep if isinstance(self.engine, Lending) else frozenset[Tag]()
        return News(self._news_number, self.engine.info, asleep, self._started)

    async def _tell(self) -> None:
        """Let every line know how things are now, and wait until they do: what they say next must fit it."""
        hearing = [box.tell(self._news()) for box in self._boxes]
        if hearing:
            await asyncio.wait(hearing, timeout=_HEARD_S)

    def _watch_over(self) -> None:
        if self._sentinel is not None:
            self._sentinel.cancel()
        if isinstance(self.engine, Supervised):
            self._sentinel = asyncio.ensure_future(self._mourn(self.engine))

    async def _mourn(self, engine: Supervised) -> None:
        reason = await engine.lost()
        for box in self._boxes:
            box.put(Gone(reason))

    def _cannot(self, what: str) -> GenerationError:
        return GenerationError(FailureKind.BAD_REQUEST, f"the engine of {self.engine.info.model!r} cannot {what}")
