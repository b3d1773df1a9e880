"""A run, put together: data, rewards, loop, and whoever looks at it, around the parts of the place where it runs.

Owns which part gets which setting, and the order of starting and closing. Does not own what the parts do, nor what is
different in one process (``local``) and on a cluster (``cluster``): that is ``Provided``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from assay.core.errors import InputError
from assay.engines.base import Engine
from assay.placement.plans import Mode, Plan
from assay.training import folders

from .algorithm import AlgorithmConfig
from .config import TrainConfig
from .cursor import Cursor
from .evaluation import EvalConfig, Evaluation, eval_groups, load_sets
from .local.scoring import DeferredScoring
from .loop import Loop, LoopConfig, Parts
from .memory import Memory
from .ports import Source
from .prompts import DataConfig, Row, load_prompts
from .provided import Provided
from .record import RecordConfig, SampleRecord
from .residency import Residency
from .rewards.budget import FailureBudget
from .rewards.build import BuiltReward, build_reward
from .rewards.config import RewardConfig
from .rollout.ahead import RolloutAhead
from .rollout.answer import Answering
from .rollout.config import RolloutConfig
from .rollout.groups import Groups
from .rollout.now import RolloutNow
from .sample import Prompt
from .tokens import PolicyTokenizer, load_tokenizer
from .tracking.config import TrackingConfig
from .tracking.trackers import RunInfo
from .tracking.tracking import Tracking, build_tracking


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run that is ready to go."""

    loop: Loop
    evaluation: Evaluation
    tracking: Tracking
    record: SampleRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rolling:
    """What rolls out, for training and for evaluation."""

    engine: Engine
    tokenizer: PolicyTokenizer
    reward: BuiltReward
    inline: BuiltReward | None


@asynccontextmanager
async def assembled(config: TrainConfig, plan: Plan | None) -> AsyncGenerator[Run]:
    """Everything started; leaving closes it, last first.

    Raises:
        InputError, StartError: something cannot be; nothing was trained.
    """
    rows = load_prompts(config.prompt_data or "", config.settings(DataConfig))
    async with AsyncExitStack() as stack:
        tokenizer = await asyncio.to_thread(
            load_tokenizer, config.hf_checkpoint, trust_remote_code=config.trust_remote_code
        )
        provided = await stack.enter_async_context(_provided(config, plan))
        reward = build_reward(config.settings(RewardConfig), backends=provided.judges)
        stack.push_async_callback(reward.close)
        await reward.start()
        reward.check([row.drawn(place) for place, row in enumerate(rows)])
        await provided.start_rollout()
        rows = fitting(rows, tokenizer, config, provided.engine.info.context_len)
        inline = None if plan is not None and not plan.inline_reward else reward
        rolling = _Rolling(engine=provided.engine, tokenizer=tokenizer, reward=reward, inline=inline)
        run = _assembled(config, plan, rows, provided, rolling)
        stack.push_async_callback(run.tracking.close)
        stack.push_async_callback(run.loop.parts.source.close)
        yield run


def fitting(rows: Sequence[Row], tokenizer: PolicyTokenizer, config: TrainConfig, context_len: int | None) -> list[Row]:
    """The rows whose prompts fit into the policy's context, or within the limit that was said.

    Raises:
        InputError: a prompt is longer than the policy's context leaves room for, and no limit was said.
    """
    limit, kept = config.rollout_max_prompt_len, list[Row]()
    for place, row in enumerate(rows):
        length = len(tokenizer.render(row.prompt))
        if limit is not None and length > limit:
            continue
        if context_len is not None and length + 1 > context_len:
            raise InputError(
                f"prompt {place + 1} of {config.prompt_data!r} has {length} tokens, and the policy's context holds "
                f"{context_len}: leave such prompts out with --rollout-max-prompt-len"
            )
        kept.append(row)
    if not kept:
        raise InputError(f"no prompt of {config.prompt_data!r} has at most {limit} tokens (--rollout-max-prompt-len)")
    return kept


def _provided(config: TrainConfig, plan: Plan | None) -> AbstractAsyncContextManager[Provided]:
    if config.ray:
        from .cluster.provide import on_ray

        return on_ray(config, plan)
    from .local.build import in_this_process

    return in_this_process(config, plan)


def _assembled(
    config: TrainConfig,
    plan: Plan | None,
    rows: Sequence[Row],
    provided: Provided,
    rolling: _Rolling,
) -> Run:
    rollout = config.settings(RolloutConfig)
    memory = Memory(budget=FailureBudget(max_rate=config.max_judge_failure_rate), max_dead_steps=config.max_dead_steps)
    cursor = Cursor(rows=len(rows), seed=config.rollout_seed, shuffle=config.rollout_shuffle)
    if config.load is not None:
        memory.restore(provided.extra)
        cursor.restore(memory.source)
        # Before the records of what is made again go: a checkpoint without its records must not be gone on from.
        folders.go_back(config.checkpoints, Path(config.load))
    answering = Answering(rolling.engine, rolling.tokenizer, rollout)
    groups = Groups(answering, rollout, lambda prompt: rolling.tokenizer.render(prompt.prompt), rolling.inline)
    scoring = None
    if rolling.inline is None:
        scoring = DeferredScoring(Groups(answering, rollout, lambda _: (), rolling.reward))
    evaluation = _evaluation(config, rolling)
    tracking = build_tracking(config.settings(TrackingConfig), _info(config, memory.step))
    record = SampleRecord(config.run_dir, config.settings(RecordConfig))
    for one in (record, evaluation):
        one.resume(memory.step)
    parts = Parts(
        phases=provided.phases,
        source=_source(config, plan, groups, cursor, rows),
        policy=provided.policy,
        publisher=provided.publisher,
        residency=Residency(provided.residents, awake=provided.awake),
        scoring=scoring,
        observers=[evaluation, record, tracking],
    )
    loop = Loop(
        parts,
        LoopConfig(
            num_rollout=config.num_rollout,
            assemble=config.settings(AlgorithmConfig).assembling(config.rollout_max_response_len),
            judge_failure_as=config.judge_failure_as,
            save_interval=config.save_interval,
            saves=True,
        ),
        memory,
    )
    return Run(loop=loop, evaluation=evaluation, tracking=tracking, record=record)


def _source(config: TrainConfig, plan: Plan | None, groups: Groups, cursor: Cursor, rows: Sequence[Row]) -> Source:
    def prompt(ordinal: int) -> Prompt:
        return rows[cursor.row(ordinal)].drawn(ordinal)

    rollout, failure_as = config.settings(RolloutConfig), config.judge_failure_as
    if plan is not None and plan.mode is Mode.FULLY_ASYNC:
        staleness = plan.max_staleness
        return RolloutAhead(groups, cursor, prompt, rollout, max_staleness=staleness, failure_as=failure_as)
    return RolloutNow(groups, cursor, prompt, rollout, failure_as=failure_as)


def _evaluation(config: TrainConfig, rolling: _Rolling) -> Evaluation:
    own = config.settings(EvalConfig)
    groups = eval_groups(rolling.engine, rolling.tokenizer, own, config.settings(RolloutConfig), rolling.inline)
    sets = load_sets(own, config.settings(DataConfig))
    return Evaluation(sets, own, groups, steps=config.num_rollout, run=config.run_dir)


def _info(config: TrainConfig, step: int) -> RunInfo:
    name = config.tracker_run or ""
    return RunInfo(folder=config.run_dir, project=config.tracker_project, name=name, first_step=step)
