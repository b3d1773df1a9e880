"""Drawing the votes of one judgment: all at once, or in a small window while a stopping rule looks on.

Votes are looked at in their own order, whoever comes back first, so that where drawing stops follows from the texts
and not from the timing (but for a budget of seconds). Those in flight that cannot matter any more are aborted.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from assay.core.types import Vote
from assay.voting.plan import Budget, VotePlan

Ask = Callable[[int], Coroutine[Any, Any, Vote]]
"""Draws the vote with this index."""

Enough = Callable[[Sequence[Vote], float], bool]
"""Whether these votes, the first ones in order, and these seconds are enough."""


async def draw_votes(ask: Ask, plan: VotePlan, enough: Enough) -> tuple[Vote, ...]:
    """The first votes in order: all ``plan.k`` of them, or as many as the stopping rule needs; at least one."""
    if plan.stop is None:
        return tuple(await asyncio.gather(*(ask(vote) for vote in range(plan.k))))
    begin = time.perf_counter()
    done: list[Vote] = []
    flying: deque[asyncio.Task[Vote]] = deque()
    try:
        for vote in range(plan.k):
            flying.append(asyncio.create_task(ask(vote)))
            if len(flying) < plan.wave and vote + 1 < plan.k:
                continue
            if await _next(flying, done, plan, begin) or enough(done, time.perf_counter() - begin):
                return tuple(done)
        while flying:
            if await _next(flying, done, plan, begin) or enough(done, time.perf_counter() - begin):
                break
        return tuple(done)
    finally:
        for task in flying:
            task.cancel()
        await asyncio.gather(*flying, return_exceptions=True)


async def _next(flying: deque[asyncio.Task[Vote]], done: list[Vote], plan: VotePlan, begin: float) -> bool:
    """Wait for the next vote in order; True when a budget of seconds ran out first (never before the first vote)."""
    limit = plan.stop.seconds if isinstance(plan.stop, Budget) else None
    if limit is not None and done:
        await asyncio.wait([flying[0]], timeout=max(0.0, limit - (time.perf_counter() - begin)))
        if not flying[0].done():
            return True
    task = flying[0]
    done.append(await task)
    flying.popleft()
    return False
