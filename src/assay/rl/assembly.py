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

from assay.core.errors import InputError
from assay.placement.plans import Mode, PhaseKind, Plan
from assay.scoring.scorer import Scorer
from assay.training import folders
from assay.training.saving import SavingConfig

from .algorithm import AlgorithmConfig
from .config import TrainConfig
from .cursor import Cursor
from .loop import Loop, LoopConfig, Parts
from .memory import Memory
from .observing import Observing, build_observing
from .ports import Source
from .progress import Tell, ToldResidency
from .prompts import DataConfig, Row, load_prompts
from .provided import Provided
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
async def assembled(config: TrainConfig, plan: Plan | None, tell: Tell | None = None) -> AsyncGenerator[Run]:
    """Everything started; leaving closes it, last first.

    Args:
        tell: told what the run does.

    Raises:
        InputError, StartError: something cannot be; nothing was trained.
    """
    rows = load_prompts(config.prompt_data or "", config.settings(DataConfig))
    async with AsyncExitStack() as stack:
        tokenizer = await asyncio.to_thread(
            load_tokenizer, config.hf_checkpoint, trust_remote_code=config.trust_remote_code
        )
        # Rewards that need no judge of this run come first: what is wrong with them is told before a model is loaded.
        early = None if config.specs() else await _rewards(config, rows, None, stack)
        provided = await stack.enter_async_context(_provided(config, plan))
        reward, hooks = early or await _rewards(config, rows, provided.judges, stack)
        await provided.start_rollout()
        deferred = any(phase.kind is PhaseKind.JUDGE for phase in provided.phases)
        scored = Scored(reward=reward, deferred=deferred, hooks=hooks, tell=tell)
        rolling = Rolling(engine=provided.engine, tokenizer=tokenizer, scored=scored)
        rows = fitting(rows, rolling, config)
        residency = _residency(provided, tell)
        loop = _loop(config, plan, rows, provided, rolling, residency)
        enter = entering(residency, provided.phases)
        observing = build_observing(config, rows, rolling, provided.judges, enter, loop.memory.step)
        stack.push_async_callback(observing.close)
        await observing.start()
        stack.push_async_callback(loop.parts.source.close)
        yield Run(loop=loop, observing=observing)


def fitting(rows: Sequence[Row], rolling: Rolling, config: TrainConfig) -> list[Row]:
    """The rows whose prompts fit into the policy's context, or within the limit that was said.

    Raises:
        InputError: a prompt is longer than the policy's context leaves room for, and no limit was said.
    """
    limit, kept = config.rollout_max_prompt_len, list[Row]()
    for place, row in enumerate(rows):
        prompt = row.drawn(place)
        if limit is not None and len(rolling.tokens(prompt)) > limit:
            continue
        fix = "leave such prompts out with --rollout-max-prompt-len"
        rolling.check(prompt, f"prompt {place + 1} of {config.prompt_data!r}", fix)
        kept.append(row)
    if not kept:
        raise InputError(f"no prompt of {config.prompt_data!r} has at most {limit} tokens (--rollout-max-prompt-len)")
    return kept


async def _rewards(
    config: TrainConfig, rows: Sequence[Row], judges: Mapping[str, Scorer] | None, stack: AsyncExitStack
) -> tuple[BuiltReward, Hooks | None]:
    """The reward, started, and the hook; every prompt has what is needed to judge answers to it."""
    reward = build_reward(config.settings(RewardConfig), backends=judges, flags=dict(config))
    stack.push_async_callback(reward.close)
    hooks = build_hooks(config, reward)
    if hooks is not None:
        stack.push_async_callback(hooks.close)
    reward.check([row.drawn(place) for place, row in enumerate(rows)])
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
        policy=provided.policy,
        publisher=provided.publisher,
        residency=residency,
        scoring=rolling.scored.batch(answering, rollout),
    )
    settings = LoopConfig(
        num_rollout=config.num_rollout,
        assemble=config.settings(AlgorithmConfig).assembling(config.rollout_max_response_len),
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
