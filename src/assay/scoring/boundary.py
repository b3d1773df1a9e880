"""The one place where an engine's exception becomes a typed failure: of a generation, and of a reward."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Sequence

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.types import ChatPrompt, Completion, Failure, FailureKind, Request
from assay.engines.base import Engine, Reward, RewardEngine

log = logging.getLogger(__name__)


async def generate_all(
    engine: Engine, requests: Sequence[Request], deadline: Deadline
) -> tuple[Completion, ...] | Failure:
    """All completions of all requests, in order; or the failure that stopped them. Cancellation passes through."""
    try:
        async with asyncio.timeout(deadline.timeout):
            if len(requests) == 1:
                return await engine.generate(requests[0], deadline)
            return await _side_by_side(engine, requests, deadline)
    except GenerationError as error:
        return error.failure()
    except TimeoutError:
        return Failure(kind=FailureKind.TIMEOUT, detail="the engine had not answered when the deadline passed")
    except Exception as error:  # a fault inside an engine costs one judgment, not the run
        log.exception("engine %s failed in a way it should not", engine.info.model)
        return Failure(kind=FailureKind.ENGINE_ERROR, detail=f"{type(error).__name__}: {error}")


async def reward_one(engine: RewardEngine, prompt: ChatPrompt, deadline: Deadline) -> Reward | Failure:
    """The reward of one prompt, a finite one; or the failure that stopped it. Cancellation passes through."""
    try:
        async with asyncio.timeout(deadline.timeout):
            reward = await engine.reward(prompt, deadline)
    except GenerationError as error:
        return error.failure()
    except TimeoutError:
        return Failure(kind=FailureKind.TIMEOUT, detail="the reward model had not answered when the deadline passed")
    except Exception as error:  # a fault inside an engine costs one vote its meta score, not the run
        log.exception("reward engine %s failed in a way it should not", engine.info.model)
        return Failure(kind=FailureKind.META_ERROR, detail=f"{type(error).__name__}: {error}")
    if not math.isfinite(reward.logit):
        return Failure(kind=FailureKind.META_ERROR, detail=f"the reward model's logit is {reward.logit}")
    return reward


async def _side_by_side(engine: Engine, requests: Sequence[Request], deadline: Deadline) -> tuple[Completion, ...]:
    """All requests at once; when one fails, the others are aborted, since their texts alone make no verdict."""
    tasks = [asyncio.ensure_future(engine.generate(request, deadline)) for request in requests]
    try:
        groups = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
    return tuple(completion for group in groups for completion in group)
