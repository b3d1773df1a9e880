"""Finds an engine for each request, and another one when that fails: admission, routing, retries, second copies.

A request goes elsewhere only when the failure is the engine's, and nothing of the answer was handed out. While no
engine takes requests and one is on its way, requests wait for it, each until its own deadline.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.types import Completion, FailureKind, Request
from assay.engines.base import Delta

from .admission import TokenBudget
from .flight import quietly
from .hedging import Hedging
from .member import Member
from .report import Waiter
from .shared import Shared
from .tokens import ReplyLength, prefix_keys, prompt_tokens, work
from .watch import Watch

log = logging.getLogger(__name__)

_ELSEWHERE = (FailureKind.ENGINE_ERROR, FailureKind.ASLEEP, FailureKind.OVERLOADED)
_ASLEEP_RETRY_S = 2.0


@dataclass(slots=True, kw_only=True, eq=False)
class Ticket:
    """A request inside the pool."""

    request: Request
    keys: tuple[int, ...]
    prompt: int
    reply: int
    since: float
    replica: int | None = None
    failed: list[int] = field(default_factory=list[int])
    """Replicas that failed it, in order."""
    named: bool = False
    """It has been in the log as slow."""

    @property
    def tokens(self) -> int:
        return self.prompt + self.reply


class Dispatcher:
    """The requests of a pool."""

    def __init__(self, members: Sequence[Member], watches: Sequence[Watch], shared: Shared) -> None:
        config = shared.config
        self.budget = TokenBudget(config.token_budget)
        self.hedging = Hedging(config.hedge_quantile, config.hedge_share)
        self.closed = False
        self._members = members
        self._watches = watches
        self._shared = shared
        self._replies = ReplyLength()
        self._tickets: dict[Ticket, None] = {}

    async def generate(self, request: Request, deadline: Deadline) -> tuple[Completion, ...]:
        """See ``Engine.generate``."""
        with self._ticket(request) as ticket:
            while True:
                member = await self._place(ticket, deadline)
                begin = time.monotonic()
                try:
                    answer = await self._ask(ticket, member, deadline)
                except GenerationError as error:
                    if not await self._elsewhere(ticket, member, error):
                        raise
                else:
                    self.hedging.note(time.monotonic() - begin)
                    return answer

    async def stream(self, request: Request, deadline: Deadline) -> AsyncGenerator[Delta, None]:
        """See ``StreamingEngine.stream``. Once a delta was handed out, a failure is final."""
        with self._ticket(request) as ticket:
            while True:
                member = await self._place(ticket, deadline)
                handed_out = False
                try:
                    async with aclosing(self._deltas(ticket, member, deadline)) as deltas:
                        async for delta in deltas:
                            handed_out = True
                            yield delta
                except GenerationError as error:
                    if handed_out or not await self._elsewhere(ticket, member, error):
                        raise
                else:
                    return

    def waiting(self) -> tuple[Waiter, ...]:
        """Everybody inside the pool, who waits longest first."""
        now = time.monotonic()
        return tuple(
            Waiter(
                request_id=ticket.request.id,
                replica=ticket.replica,
                waited_s=now - ticket.since,
                tokens=ticket.tokens,
                attempts=len(ticket.failed),
            )
            for ticket in self._tickets
        )

    @property
    def inside(self) -> int:
        return len(self._tickets)

    @property
    def longest_wait_s(self) -> float:
        oldest = next(iter(self._tickets), None)
        return 0.0 if oldest is None else time.monotonic() - oldest.since

    def name_the_slow(self) -> None:
        """A line in the log for each request that has become slow since the last call."""
        now = time.monotonic()
        for ticket in self._tickets:
            if now - ticket.since < self._shared.config.slow_s:
                return
            if not ticket.named:
                ticket.named = True
                where = "a replica" if ticket.replica is None else f"replica {ticket.replica}"
                waited = now - ticket.since
                log.warning(
                    "request %r (%d tokens) waits for %s: %.0f s", ticket.request.id, ticket.tokens, where, waited
                )

    @contextmanager
    def _ticket(self, request: Request) -> Generator[Ticket]:
        ticket = Ticket(
            request=request,
            keys=prefix_keys(request.prompt) if len(self._members) > 1 else (),
            prompt=prompt_tokens(request.prompt),
            reply=self._replies.expect(request),
            since=time.monotonic(),
        )
        self.budget.admit(ticket.tokens, len(self._members), ticket.since)
        self._tickets[ticket] = None
        try:
            yield ticket
        finally:
            del self._tickets[ticket]
            self.budget.leave(ticket.tokens, time.monotonic())

    async def _place(self, ticket: Ticket, deadline: Deadline) -> Member:
        """The engine that the request goes to; waits for one that is on its way. Raises GenerationError."""
        ticket.replica = None
        while True:
            ready = [] if self.closed else [member for member in self._members if member.life.admits]
            if ready:
                owed = {member.index: member.owed for member in self._preferred(ready, ticket)}
                return self._members[self._shared.router.choose(ticket.keys, owed)]
            self._refuse()
            try:
                async with asyncio.timeout(deadline.timeout):
                    await self._shared.changes.next()
            except TimeoutError:
                detail = f"no replica took requests before the deadline: {self._states()}"
                raise GenerationError(FailureKind.TIMEOUT, detail) from None

    def _preferred(self, ready: list[Member], ticket: Ticket) -> list[Member]:
        """Those that have not failed this request and are not silent, as far as there are any."""
        fresh = [member for member in ready if member.index not in ticket.failed] or ready
        return [member for member in fresh if not member.silent] or fresh

    def _refuse(self) -> None:
        """Raise unless an engine is on its way."""
        if self.closed:
            raise GenerationError(FailureKind.ENGINE_ERROR, "the pool is closed")
        lives = [member.life for member in self._members]
        if any(life.coming and not member.failed_starts for life, member in zip(lives, self._members, strict=True)):
            return
        if any(life.lent for life in lives):
            detail = f"the engine is asleep: {self._states()}"
            raise GenerationError(FailureKind.ASLEEP, detail, retry_after=_ASLEEP_RETRY_S)
        raise GenerationError(FailureKind.ENGINE_ERROR, f"no replica takes requests: {self._states()}")

    def _states(self) -> str:
        return ", ".join(member.describe() for member in self._members)

    async def _ask(self, ticket: Ticket, member: Member, deadline: Deadline) -> tuple[Completion, ...]:
        """The answer of this engine, or of a second one when this one takes long."""
        patience = self.hedging.patience
        if patience is None or len(self._members) == 1:
            return await self._fly(ticket, member, deadline)
        tasks = [quietly(self._fly(ticket, member, deadline))]
        try:
            done, _ = await asyncio.wait(tasks, timeout=patience)
            second = None if done else self._second(member)
            if second is not None and self.hedging.take():
                tasks.append(quietly(self._fly(ticket, second, deadline)))
            winner = await _first_answer(tasks)
            self.hedging.won += winner is not tasks[0]
            return winner.result()
        finally:
            for task in tasks:
                task.cancel()

    def _second(self, first: Member) -> Member | None:
        others = [m for m in self._members if m.life.admits and not m.silent and m is not first]
        return min(others, key=lambda member: member.owed) if others else None

    async def _fly(self, ticket: Ticket, member: Member, deadline: Deadline) -> tuple[Completion, ...]:
        with self._failures_of(member), member.flight(ticket.request, deadline, self._send(ticket, member)) as flight:
            answer = await flight.answer()
            if any(completion.finish_reason == "abort" for completion in answer):
                raise _aborted()
        self._answered(member)
        self._replies.learn(answer)
        return answer

    async def _deltas(self, ticket: Ticket, member: Member, deadline: Deadline) -> AsyncGenerator[Delta, None]:
        with self._failures_of(member), member.flight(ticket.request, deadline, self._send(ticket, member)) as flight:
            async with aclosing(flight.deltas(member.heard)) as deltas:
                async for delta in deltas:
                    if delta.finish_reason == "abort":
                        raise _aborted()
                    yield delta
        self._answered(member)

    def _send(self, ticket: Ticket, member: Member) -> float:
        """Note that the engine gets the request; the work that it then owes."""
        router = self._shared.router
        cached = router.cached_tokens(ticket.keys, member.index)
        router.sent(ticket.keys, member.index)
        ticket.replica = member.index
        return work(ticket.prompt, cached, ticket.reply)

    def _answered(self, member: Member) -> None:
        member.heard()
        member.engine_answer()

    @contextmanager
    def _failures_of(self, member: Member) -> Generator[None]:
        """An engine error casts doubt on the engine: it is looked at, and many in a row end it, whatever it says."""
        engine, sent_at = member.engine, time.monotonic()
        try:
            yield
        except GenerationError as error:
            if error.kind is FailureKind.ENGINE_ERROR and member.engine is engine and member.life.admits:
                self._doubt(member, sent_at, error)
            raise

    def _doubt(self, member: Member, sent_at: float, error: GenerationError) -> None:
        errors = member.engine_error(sent_at)
        if errors >= self._shared.config.sick_after:
            member.died(f"{errors} engine errors in a row, the last: {error.detail}")
        else:
            self._watches[member.index].check()

    async def _elsewhere(self, ticket: Ticket, member: Member, error: GenerationError) -> bool:
        """Whether to try again; returns when the trying may begin."""
        ticket.failed.append(member.index)
        if self.closed or error.kind not in _ELSEWHERE or len(ticket.failed) >= self._shared.config.attempts:
            return False
        others = any(m.life.admits and m.index not in ticket.failed for m in self._members)
        if error.kind is FailureKind.OVERLOADED and not others:
            return False
        if member.life.admits and not others:
            await asyncio.wait({self._watches[member.index].check()})
        self._shared.counters.retries += 1
        return True


async def _first_answer(tasks: list[asyncio.Task[tuple[Completion, ...]]]) -> asyncio.Task[tuple[Completion, ...]]:
    """The first task that has an answer; when none has, the first of all, which has the error."""
    pending = set(tasks)
    while pending:
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task in done and not task.cancelled() and task.exception() is None:
                return task
    return tasks[0]


def _aborted() -> GenerationError:
    return GenerationError(FailureKind.ENGINE_ERROR, "the engine aborted before the answer was whole")
