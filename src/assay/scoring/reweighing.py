"""Recorded votes before another meta RM: their texts get its logits; the judge is not asked.

Owns the fan-out. Does not own what is kept (``voting.decide``) nor the prompt (``judges.meta``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from assay.core.deadline import Deadline
from assay.core.types import Failure, Verdict, Vote

from .meta import MetaScorer
from .replay import Recording


async def weigh_again(
    recorded: Sequence[Recording], meta: MetaScorer, *, concurrency: int, deadline_s: float
) -> list[Recording]:
    """The recordings with the logits of ``meta``, which is started and closed here, for every vote with a verdict.

    Raises:
        InputError, StartError: the meta RM cannot be had.
    """
    places = asyncio.Semaphore(concurrency)

    async def weighed(recording: Recording, vote: Vote) -> Vote:
        if not isinstance(vote.outcome, Verdict):
            return replace(vote, meta=None, meta_failure=None)
        async with places:
            score = await meta.score(recording.item, vote, Deadline.after(deadline_s))
        if isinstance(score, Failure):
            return replace(vote, meta=None, meta_failure=score)
        return replace(vote, meta=score, meta_failure=None)

    await meta.start()
    try:
        votes = await asyncio.gather(*(weighed(each, vote) for each in recorded for vote in each.votes))
    finally:
        await meta.close()
    found = iter(votes)
    return [replace(each, votes=tuple(next(found) for _ in each.votes)) for each in recorded]
