"""The pool: N engines of one model as one engine, behind the same protocols.

It sleeps, wakes and takes new weights as a whole; each member goes through its own ``lifecycle``, the canary included.
A member that dies is rebuilt while the others serve. Owns the order of these changes; routing is in ``dispatch``.

Health: healthy while at least one replica takes requests, or while the pool sleeps or changes on purpose. A replica
that is dead, silent or in quarantine is named in ``error`` meanwhile (state ``degraded``): callers may rely on the
pool, and whoever looks after it has something to do.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError, StartError
from assay.core.types import Completion, FailureKind, Json, Request
from assay.engines.base import Delta, Engine, EngineHealth, EngineInfo, Offloadable, Tag, Updatable
from assay.engines.feed import Unsynced
from assay.engines.lifecycle import ALL_TAGS, Sign, SleepAsked, State, WakeAsked

from .config import PoolConfig
from .dispatch import Dispatcher
from .member import Member
from .proof import Proof
from .report import PoolReport, Waiter
from .routing import Router
from .shared import Counters, Factory, Shared
from .watch import Watch

log = logging.getLogger(__name__)

_WAITERS = 20
"""Most waiters in a report."""

_ON_PURPOSE = (State.DRAINING, State.ASLEEP, State.WAKING)


class PoolEngine:
    """Engine, StreamingEngine, Offloadable and Updatable; refuses what its members cannot do. One event loop."""

    def __init__(self, config: PoolConfig, factory: Factory) -> None:
        router = Router(affinity=config.affinity, entries=config.affinity_entries, seed=config.seed)
        self._shared = Shared(factory=factory, config=config, router=router, proof=Proof(config.canary))
        self.members = tuple(Member(index, self._shared) for index in range(config.size))
        self._watches = [Watch(member, config) for member in self.members]
        self._dispatch = Dispatcher(self.members, self._watches, self._shared)
        self._changing = asyncio.Lock()
        self._slow: asyncio.Task[None] | None = None
        self._info: tuple[int, EngineInfo] | None = None

    @property
    def info(self) -> EngineInfo:
        """What the members have in common; GPUs and engines are summed, over those that are being rebuilt too."""
        count = self._shared.changes.count
        if self._info is None or self._info[0] != count:
            self._info = count, self._joined_info()
        return self._info[1]

    @property
    def counters(self) -> Counters:
        return self._shared.counters

    async def report(self) -> PoolReport:
        """See ``Reporting``; never waits."""
        return PoolReport(counters=self.counters.snapshot(), waiting=self.waiting()[:_WAITERS])

    async def start(self) -> None:
        """Start all members at once; those that fail are tried again in the background while others serve.

        Raises:
            AssayError: none started; the error of the first.
        """
        for member, watch in zip(self.members, self._watches, strict=True):
            member.begin()
            watch.start()
        self._slow = asyncio.ensure_future(self._name_the_slow())
        try:
            await self._shared.changes.until(lambda: all(member.settled for member in self.members))
        except BaseException:
            await self.close()
            raise
        if not any(member.life.admits for member in self.members):
            error = next((m.start_error for m in self.members if m.start_error is not None), None)
            states = self._described()
            await self.close()
            raise error or StartError(f"no replica could be started: {states}")

    async def generate(self, request: Request, deadline: Deadline) -> tuple[Completion, ...]:
        """See ``Engine.generate``."""
        return await self._dispatch.generate(request, deadline)

    async def stream(self, request: Request, deadline: Deadline) -> AsyncGenerator[Delta, None]:
        """See ``StreamingEngine.stream``."""
        async with aclosing(self._dispatch.stream(request, deadline)) as deltas:
            async for delta in deltas:
                yield delta

    def waiting(self) -> tuple[Waiter, ...]:
        """Who waits for what since when; who waits longest comes first."""
        return self._dispatch.waiting()

    async def health(self) -> EngineHealth:
        """Read off what the watches know; never waits. At most 2 s old with the default settings."""
        states = [member.life.state for member in self.members]
        serving = [member for member in self.members if member.life.admits and not member.silent]
        lent = any(member.life.lent for member in self.members)
        odd = [m for m in self.members if m.silent or m.life.state not in (State.READY, *_ON_PURPOSE)]
        if serving:
            healthy, state = True, "ready" if len(serving) == len(self.members) else "degraded"
        elif lent and all(state in (*_ON_PURPOSE, State.DEAD) for state in states):
            healthy, state = True, "draining" if State.DRAINING in states else "asleep"
        else:
            healthy, state = not odd, (odd or self.members)[0].condition
        error = ", ".join(member.describe() for member in odd) or None
        return EngineHealth(healthy=healthy, state=state, error=error, detail=self._detail())

    async def sleep(self, tags: frozenset[Tag] = ALL_TAGS) -> int:
        """Stop admission, drain every member (or abort what still runs after ``drain_s``), give the memory back.

        Returns the bytes freed. A member that did not give its memory back has been ended instead, which frees it too.
        """
        self._need(isinstance(self.members[0].engine, Offloadable), "give their memory back")
        async with self._changing:
            begin = time.monotonic()
            asked = await self._feed_all(SleepAsked, tags)
            await asyncio.gather(*(member.gone() for member in self.members))
            freed = self._moved(asked)
            self.counters.sleeps, self.counters.sleep_s = self.counters.sleeps + 1, time.monotonic() - begin
            self.counters.slept_bytes = freed
            return freed

    async def wake(self, tags: frozenset[Tag] = ALL_TAGS) -> int:
        """Take the memory again, weights first, then prove by the canary that the judge is the same. The bytes taken.

        Raises:
            GenerationError: nothing sleeps any more, and no member serves; the message has every member's reason.
        """
        self._need(isinstance(self.members[0].engine, Offloadable), "take memory again")
        async with self._changing:
            begin = time.monotonic()
            asked = await self._feed_all(WakeAsked, tags)
            if not any(member.life.lent for member in self.members):
                await self._serving()
            self.counters.wakes, self.counters.wake_s = self.counters.wakes + 1, time.monotonic() - begin
            self.counters.woken_bytes = self._moved(asked)
            return self.counters.woken_bytes

    async def update_weights(self, source: str, version: str) -> None:
        """Drain all members, give them other weights, and record the canary anew. Requests wait meanwhile.

        Raises the first member's error; then the old weights go on everywhere. A later member that fails where the
        first succeeded is rebuilt with the new weights, and so is one that took only a part of them; if no other
        serves, it is waited for.
        """
        self._need(isinstance(self.members[0].engine, Updatable), "take other weights")
        async with self._changing:
            await self._settled()
            chosen = [member for member in self.members if _takes_weights(member)]
            for member in chosen:
                member.feed(Sign.UPDATE_ASKED)
            await self._settled()
            try:
                await self._replace(chosen, source, version)
            finally:
                for member in chosen:
                    if member.life.step == "replace":
                        member.feed(Sign.SETTLED)
                await self._settled()

    async def close(self) -> None:
        """Stop and free everything; what still runs is aborted. Closing twice is fine."""
        self._dispatch.closed = True
        if self._slow is not None:
            self._slow.cancel()
        await asyncio.gather(*(watch.close() for watch in self._watches))
        await asyncio.gather(*(member.close() for member in self.members))
        self._shared.changes.tell()

    async def _feed_all(self, event: type[SleepAsked | WakeAsked], tags: frozenset[Tag]) -> list[Member]:
        """Ask every member that this is news to, and wait until all are done with it; those asked."""
        await self._settled()
        asked: list[Member] = []
        for member in self.members:
            lent = member.life.lent
            news = tags - lent if event is SleepAsked else tags & lent
            if news:
                member.moved_bytes = 0
                member.feed(event(news))
                asked.append(member)
        await self._settled()
        return asked

    async def _settled(self) -> None:
        """A member that is being rebuilt is not waited for."""
        await self._shared.changes.until(lambda: all(m.settled or m.life.state is State.STARTING for m in self.members))

    async def _serving(self) -> None:
        """Wait until a member serves, as long as one is on its way. Raises GenerationError."""

        def known() -> bool:
            ready = any(member.life.admits for member in self.members)
            return ready or not any(m.life.coming and not m.failed_starts for m in self.members)

        await self._shared.changes.until(known)
        if not any(member.life.admits for member in self.members):
            raise GenerationError(FailureKind.ENGINE_ERROR, f"no replica serves: {self._described()}")

    async def _replace(self, chosen: list[Member], source: str, version: str) -> None:
        held = [member for member in chosen if member.life.step == "replace"]
        if not held:
            detail = f"no replica can take weights now: {self._described()}"
            raise GenerationError(FailureKind.ASLEEP, detail, retry_after=1.0)
        failed: dict[int, BaseException] = {}
        for member in held:
            try:
                await _update(member.engine, source, version)
            except Unsynced as error:
                # The old weights are gone in this one: it can only go on with the new.
                failed[member.index] = error
            else:
                break
        self._shared.weights = (source, version)
        self._shared.proof.expect(version)
        rest = held[len(failed) + 1 :]
        outcomes = await asyncio.gather(
            *(_update(member.engine, source, version) for member in rest), return_exceptions=True
        )
        failed |= {m.index: error for m, error in zip(rest, outcomes, strict=True) if error is not None}
        for member in self.members:
            if member.index in failed:
                member.died(f"it did not take the weights {version!r}: {failed[member.index]}")
            elif member not in held and member.life.state is State.STARTING:
                member.died(f"it was starting with other weights than {version!r}")
        if len(failed) == len(held):
            await self._serving()

    def _need(self, can: bool, what: str) -> None:
        if not can:
            detail = f"the engines of {self.info.model!r} cannot {what}"
            raise GenerationError(FailureKind.BAD_REQUEST, detail)

    def _moved(self, asked: list[Member]) -> int:
        return sum(member.moved_bytes for member in asked)

    def _described(self) -> str:
        return ", ".join(member.describe() for member in self.members)

    def _joined_info(self) -> EngineInfo:
        infos = [member.engine.info for member in self.members]
        lead = next((m.engine.info for m in self.members if m.life.admits), infos[0])
        limits = [info.context_len for info in infos if info.context_len is not None]
        return EngineInfo(
            model=lead.model,
            weight_version=lead.weight_version if self._shared.proof.version is None else self._shared.proof.version,
            capabilities=lead.capabilities,
            context_len=min(limits, default=None),
            batch_invariant=lead.batch_invariant,
            num_gpus=sum(info.num_gpus for info in infos),
            num_engines=len(infos),
            adapter=lead.adapter,
            parameters=lead.parameters,
        )

    def _detail(self) -> dict[str, Json]:
        hedging, drift = self._dispatch.hedging, self._shared.proof.last
        return {
            **self.counters.snapshot(),
            "hedged": hedging.sent,
            "hedges_won": hedging.won,
            "requests_inside": self._dispatch.inside,
            "owed_tokens": self._dispatch.budget.owed,
            "longest_wait_s": round(self._dispatch.longest_wait_s, 3),
            "canary_max_nats": None if drift is None else drift.max_nats,
            "replicas": [
                {
                    "state": member.condition,
                    "reason": member.life.reason,
                    "in_flight": len(member.flights),
                    "owed_work": round(member.owed),
                }
                for member in self.members
            ],
        }

    async def _name_the_slow(self) -> None:
        while True:
            await asyncio.sleep(self._shared.config.health_every_s)
            self._dispatch.name_the_slow()


def _takes_weights(member: Member) -> bool:
    life = member.life
    return life.admits or (life.state is State.ASLEEP and "weights" not in life.released)


async def _update(engine: Engine, source: str, version: str) -> None:
    if not isinstance(engine, Updatable):
        raise GenerationError(FailureKind.BAD_REQUEST, f"{engine.info.model!r} cannot take other weights")
    await engine.update_weights(source, version)
