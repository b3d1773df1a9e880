"""A run, put together: data, rewards, loop, and whoever looks at it, around the parts of the place where it runs.

Owns which part gets which setting, and the order of starting and closing. Does not own what the parts do, nor what is
different in one process (``local``) and on a cluster (``cluster``): that is ``Provided``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from assay.placement.plans import Mode, PhaseKind, Plan
from assay.scoring.scorer import Scorer
from assay.training import folders
from assay.training.saving import SavingConfig

from .algorithm import AlgorithmConfig
from .config import TrainConfig
from .cursor import Cursor
from .given import Given, check_lengths, fitting
from .local.checks import policy_context
from .loop import Loop, LoopConfig, Parts
from .memory import Memory
from .observing import Observing, build_observing
from .ports import Source
from .progress import Tell, ToldResidency
from .prompts import Row
from .provided import Provided
from .ready import check_judging, check_parts
from .residency import Residency, entering
from .rewards.budget import FailureBudget
from .rewards.build import BuiltReward, build_reward
from .rewards.config import RewardConfig
from .rolling import Rolling
from .rollout.ahead import RolloutAhead
from .rollout.config import RolloutConfig
from .rollout.groups import Groups
from .rollout.now import RolloutNow
from .rollout.processed import ProcessedSource
from .sample import Prompt
from .scored import Hooks, Scored, build_hooks
from .tokens import load_tokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run that is ready to go."""

    loop: Loop
    observing: Observing


@asynccontextmanager
async def assembled(
    config: TrainConfig, plan: Plan | None, given: Given, tell: Tell | None = None
) -> AsyncGenerator[Run]:
    """Everything started; leaving closes it, last first.

    Args:
        given: the data, as read.
        tell: told what the run does.

    Raises:
        InputError, StartError: something cannot be; nothing was trained.
    """
    async with AsyncExitStack() as stack:
        tokenizer = await asyncio.to_thread(
            load_tokenizer, config.hf_checkpoint, trust_remote_code=config.trust_remote_code
        )
        await asyncio.to_thread(check_parts, config, plan)
        given = await asyncio.to_thread(
            fitting, given, tokenizer, limit=config.rollout_max_prompt_len, context=policy_context(config)
        )
        await check_judging(config, given)
        # Rewards that need no judge of this run start before it: a service that is not there is told at once.
        early = None if config.specs() else await _rewards(config, None, stack)
        provided = await stack.enter_async_context(_provided(config, plan))
        reward, hooks = early or await _rewards(config, provided.judges, stack)
        await provided.start_rollout()
        deferred = any(phase.kind is PhaseKind.JUDGE for phase in provided.phases)
        scored = Scored(reward=reward, deferred=deferred, hooks=hooks, tell=tell)
        rolling = Rolling(engine=provided.engine, tokenizer=tokenizer, scored=scored)
        check_lengths(given, provided.engine.info.context_len)
        residency = _residency(provided, tell)
        loop = _loop(config, plan, given.rows, provided, rolling, residency)
        enter = entering(residency, provided.phases)
        observing = build_observing(config, given, rolling, provided.judges, enter, loop.memory.step)
        stack.push_async_callback(observing.close)
        await observing.start()
        stack.push_async_callback(loop.parts.source.close)
        yield Run(loop=loop, observing=observing)


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


def _provided(config: TrainConfig, plan: Plan | None) -> AbstractAsyncContextManager[Provided]:
    if config.ray:
        from .cluster.provide import on_ray

        return on_ray(config, plan)
    from .local.build import in_this_process

    return in_this_process(config, plan)


def _residency(provided: Provided, tell: Tell | None) -> Residency:
    if tell is None:
        return Residency(provided.residents, awake=provided.awake)
    return ToldResidency(provided.residents, awake=provided.awake, tell=tell)


def _loop(
    config: TrainConfig,
    plan: Plan | None,
    rows: Sequence[Row],
    provided: Provided,
    rolling: Rolling,
    residency: Residency,
) -> Loop:
    rollout = config.settings(RolloutConfig)
    memory = Memory(budget=FailureBudget(max_rate=config.max_judge_failure_rate), max_dead_steps=config.max_dead_steps)
    cursor = Cursor(rows=len(rows), seed=config.rollout_seed, shuffle=config.rollout_shuffle)
    if config.load is not None:
        memory.restore(provided.extra)
        cursor.restore(memory.source)
        # Before the records of what is made again go: a checkpoint without its records must not be gone on from.
        folders.go_back(config.checkpoints, Path(config.load))
    answering = rolling.answering(rollout)
    groups = Groups(answering, rollout, rolling.tokens, rolling.scored.inline)
    source, hook = _source(config, plan, groups, cursor, rows), rolling.scored.processed
    parts = Parts(
        phases=provided.phases,
        source=source if hook is None else ProcessedSource(source, hook),
        trainer=provided.trainer,
        publisher=provided.publisher,
        residency=residency,
        scoring=rolling.scored.batch(answering, rollout),
    )
    settings = LoopConfig(
        num_rollout=config.num_rollout,
        batching=config.settings(AlgorithmConfig).batching(config.rollout_max_response_len),
        judge_failure_as=config.judge_failure_as,
        saving=config.settings(SavingConfig),
        saves=True,
    )
    return Loop(parts, settings, memory)


def _source(config: TrainConfig, plan: Plan | None, groups: Groups, cursor: Cursor, rows: Sequence[Row]) -> Source:
    def prompt(ordinal: int) -> Prompt:
        return rows[cursor.row(ordinal)].drawn(ordinal)

    rollout, failure_as = config.settings(RolloutConfig), config.judge_failure_as
    if plan is not None and plan.mode is Mode.FULLY_ASYNC:
        staleness = plan.max_staleness
        return RolloutAhead(groups, cursor, prompt, rollout, max_staleness=staleness, failure_as=failure_as)
    return RolloutNow(groups, cursor, prompt, rollout, failure_as=failure_as)
