"""A run in this process, put together: data, trainer, engines, judges, rewards, loop, and whoever looks at it.

Owns which part gets which setting, and the order of starting and closing. Does not own what the parts do.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.core.errors import InputError
from assay.engines.base import Engine, Offloadable, TensorUpdatable, Updatable
from assay.placement.plans import Mode, Phase, PhaseKind, Plan
from assay.scoring.scorer import Scorer

from ..algorithm import AlgorithmConfig
from ..config import TrainConfig
from ..cursor import Cursor
from ..evaluation import EvalConfig, Evaluation, eval_groups, load_sets
from ..loop import Loop, LoopConfig, Parts
from ..memory import Memory
from ..ports import Publisher, Source
from ..prompts import DataConfig, Row, load_prompts
from ..record import RecordConfig, SampleRecord
from ..residency import Residency, Resident
from ..rewards.budget import FailureBudget
from ..rewards.build import BuiltReward, build_reward
from ..rewards.config import RewardConfig
from ..rollout.ahead import RolloutAhead
from ..rollout.answer import Answering
from ..rollout.config import RolloutConfig
from ..rollout.groups import Groups
from ..rollout.now import RolloutNow
from ..sample import Prompt
from ..tokens import PolicyTokenizer, load_tokenizer
from ..tracking.config import TrackingConfig
from ..tracking.trackers import RunInfo
from ..tracking.tracking import Tracking, build_tracking
from .engines import JudgeOnDuty, judge_service, rollout_engine
from .policy import LocalPolicy
from .publish import InProcess, ThroughDisk
from .scoring import DeferredScoring

if TYPE_CHECKING:
    from assay.training.trainer import Trainer

IN_PROCESS = (
    Phase(kind=PhaseKind.GENERATE, awake=("rollout", "actor"), about="rollout; each sample is judged as it ends"),
    Phase(kind=PhaseKind.TRAIN, awake=("rollout", "actor"), about="training"),
    Phase(kind=PhaseKind.SYNC, awake=("rollout", "actor"), about="weights of the actor to the rollout"),
)
"""A step where nothing competes for memory: one process on a CPU, or on a card with room for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalRun:
    """A run that is ready to go."""

    loop: Loop
    evaluation: Evaluation
    tracking: Tracking
    record: SampleRecord
    trainer: Trainer


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rolling:
    """What rolls out, for training and for evaluation."""

    engine: Engine
    tokenizer: PolicyTokenizer
    reward: BuiltReward
    inline: BuiltReward | None


@asynccontextmanager
async def local_run(config: TrainConfig, plan: Plan | None) -> AsyncGenerator[LocalRun]:
    """Everything started; leaving closes it, last first.

    Raises:
        InputError, StartError: something cannot be; nothing was trained.
    """
    rows = load_prompts(config.prompt_data or "", config.settings(DataConfig))
    async with AsyncExitStack() as stack:
        trainer = await asyncio.to_thread(_trainer, config)
        policy = LocalPolicy(trainer, config.settings(AlgorithmConfig).objective(config.rollout_max_response_len))
        stack.push_async_callback(policy.close)
        tokenizer = await asyncio.to_thread(
            load_tokenizer, config.hf_checkpoint, trust_remote_code=config.trust_remote_code
        )
        scorers, judges = await _judges(config, stack)
        reward = build_reward(config.settings(RewardConfig), backends=scorers)
        stack.push_async_callback(reward.close)
        await reward.start()
        reward.check([row.drawn(place) for place, row in enumerate(rows)])
        engine = rollout_engine(config, plan)
        stack.push_async_callback(engine.close)
        await engine.start()
        rows = fitting(rows, tokenizer, config, engine.info.context_len)
        inline = None if plan is not None and not plan.inline_reward else reward
        rolling = _Rolling(engine=engine, tokenizer=tokenizer, reward=reward, inline=inline)
        run = _assembled(config, plan, rows, policy, rolling, judges)
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


def _trainer(config: TrainConfig) -> Trainer:
    from assay.training.trainer import Trainer

    return Trainer(config.trainer())


async def _judges(
    config: TrainConfig, stack: AsyncExitStack
) -> tuple[Mapping[str, Scorer] | None, Mapping[str, JudgeOnDuty]]:
    """The judges that the flags declare; none: rewards come from elsewhere."""
    if not config.specs():
        return None, {}
    return await stack.enter_async_context(judge_service(config))


def _assembled(
    config: TrainConfig,
    plan: Plan | None,
    rows: Sequence[Row],
    policy: LocalPolicy,
    rolling: _Rolling,
    judges: Mapping[str, JudgeOnDuty],
) -> LocalRun:
    rollout = config.settings(RolloutConfig)
    memory = Memory(budget=FailureBudget(max_rate=config.max_judge_failure_rate), max_dead_steps=config.max_dead_steps)
    cursor = Cursor(rows=len(rows), seed=config.rollout_seed, shuffle=config.rollout_shuffle)
    if config.load is not None:
        memory.restore(policy.trainer.extra)
        cursor.restore(memory.source)
    answering = Answering(rolling.engine, rolling.tokenizer, rollout)
    groups = Groups(answering, rollout, lambda prompt: rolling.tokenizer.render(prompt.prompt), rolling.inline)
    scoring = None
    if rolling.inline is None:
        scoring = DeferredScoring(Groups(answering, rollout, lambda _: (), rolling.reward))
    evaluation = _evaluation(config, rolling)
    tracking = build_tracking(config.settings(TrackingConfig), _info(config))
    record = SampleRecord(config.run_dir, config.settings(RecordConfig))
    phases, residency = _residency(plan, policy, rolling.engine, judges)
    parts = Parts(
        phases=phases,
        source=_source(config, plan, groups, cursor, rows),
        policy=policy,
        publisher=_publisher(policy, rolling.engine, config.run_dir),
        residency=residency,
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
    return LocalRun(loop=loop, evaluation=evaluation, tracking=tracking, record=record, trainer=policy.trainer)


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


def _residency(
    plan: Plan | None, policy: LocalPolicy, engine: Engine, judges: Mapping[str, JudgeOnDuty]
) -> tuple[Sequence[Phase], Residency]:
    """Who moves in which phase. Without a plan, and where no engine can sleep, nobody does."""
    residents: dict[str, Resident] = {"actor": policy}
    if isinstance(engine, Offloadable):
        residents["rollout"] = engine
    residents |= judges
    if plan is None:
        phases: Sequence[Phase] = tuple(_with(phase, judges) for phase in IN_PROCESS)
        return phases, Residency(residents, awake=tuple(residents))
    return plan.phases, Residency(residents, awake=tuple(residents))


def _with(phase: Phase, judges: Mapping[str, JudgeOnDuty]) -> Phase:
    return Phase(kind=phase.kind, awake=(*phase.awake, *judges), about=phase.about)


def _publisher(policy: LocalPolicy, engine: Engine, run: Path) -> Publisher:
    if isinstance(engine, TensorUpdatable):
        return InProcess(policy, [engine])
    if isinstance(engine, Updatable):
        return ThroughDisk(policy, [engine], run / "published")
    raise InputError(f"the rollout engine {engine.info.model!r} cannot take new weights, so it cannot be trained with")


def _info(config: TrainConfig) -> RunInfo:
    return RunInfo(folder=config.run_dir, project=config.tracker_project, name=config.tracker_run or "")
