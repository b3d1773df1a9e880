"""A run, put together: data, rewards, loop, and whoever looks at it, around the parts of the place where it runs.

Owns the order of starting and closing. Does not own what the parts do, what the loop gets (``build_loop``), nor what is
different in one process (``local``) and on a cluster (``cluster``): that is ``Place``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from assay.placement.plans import PhaseKind, PlacementPlan
from assay.scoring.scorer import Scorer

from .build_loop import build_loop
from .config import TrainConfig
from .engine_checks import policy_context
from .loop import Loop
from .observers import Observers, build_observers
from .place import Place
from .progress import Tell, ToldResidency
from .readiness import check_judging, check_parts
from .residency import Residency, entering
from .reward_use import Hooks, RewardUse, build_hooks
from .rewards.build import BuiltReward, build_reward
from .rewards.config import RewardConfig
from .run_data import RunData, check_lengths, check_room, fitting
from .sampler import Sampler
from .tokens import load_tokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run that is ready to go."""

    loop: Loop
    observers: Observers


@asynccontextmanager
async def open_run(
    config: TrainConfig, plan: PlacementPlan | None, data: RunData, tell: Tell | None = None
) -> AsyncGenerator[Run]:
    """Everything started; leaving closes it, last first.

    Args:
        data: as read.
        tell: told what the run does.

    Raises:
        InputError, StartError: something cannot be; nothing was trained.
    """
    async with AsyncExitStack() as stack:
        tokenizer = await asyncio.to_thread(
            load_tokenizer, config.hf_checkpoint, trust_remote_code=config.trust_remote_code
        )
        await asyncio.to_thread(check_parts, config, plan)
        context = policy_context(config)
        data = await asyncio.to_thread(fitting, data, tokenizer, limit=config.rollout_max_prompt_len, context=context)
        check_room(config, data, context)
        await check_judging(config, data)
        # Rewards that need no judge of this run start before it: a service that is not there is told at once.
        early = None if config.specs() else await _rewards(config, None, stack)
        place = await stack.enter_async_context(_place(config, plan))
        reward, hooks = early or await _rewards(config, place.judges, stack)
        await place.start_rollout()
        deferred = any(phase.kind is PhaseKind.JUDGE for phase in place.phases)
        rewards = RewardUse(reward=reward, deferred=deferred, hooks=hooks, tell=tell)
        sampler = Sampler(engine=place.engine, tokenizer=tokenizer, rewards=rewards)
        check_lengths(data, place.engine.info.context_len)
        if context is None:
            check_room(config, data, place.engine.info.context_len)
        residency = _residency(place, tell)
        loop = build_loop(config, plan, data.rows, place, sampler, residency)
        enter = entering(residency, place.phases)
        observers = build_observers(config, data, sampler, place.judges, enter, loop.memory.step)
        stack.push_async_callback(observers.close)
        await observers.start()
        stack.push_async_callback(loop.parts.source.close)
        yield Run(loop=loop, observers=observers)


async def _rewards(
    config: TrainConfig, judges: Mapping[str, Scorer] | None, stack: AsyncExitStack
) -> tuple[BuiltReward, Hooks | None]:
    """The reward, started, and the hook."""
    reward = build_reward(config.settings(RewardConfig), backends=judges, flags=dict(config))
    stack.push_async_callback(reward.close)
    hooks = build_hooks(config, reward)
    if hooks is not None:
        stack.push_async_callback(hooks.close)
    await reward.start()
    return reward, hooks


def _place(config: TrainConfig, plan: PlacementPlan | None) -> AbstractAsyncContextManager[Place]:
    if config.ray:
        from .cluster.place import on_ray

        return on_ray(config, plan)
    from .local.place import in_this_process

    return in_this_process(config, plan)


def _residency(place: Place, tell: Tell | None) -> Residency:
    if tell is None:
        return Residency(place.residents, awake=place.awake)
    return ToldResidency(place.residents, awake=place.awake, tell=tell)
