"""The one loop. A mode is a list of phases (``placement``): split, co-resident, defer-swap and fully async are data.

Who waits for what, in a step:

| phase | consumes | waits for | unblocked by |
|---|---|---|---|
| generate | prompts, weights of the last sync | the batch of the source | the last sample and its inline reward |
| judge | the batch without rewards (defer-swap) | every judgment | the judges' last answer |
| train | judged groups | the update on all ranks | the trainer |
| sync | the trainer's weights | the rollout engines | the publisher |

In the colocate modes the source makes the batch when it is asked; in the fully asynchronous one rollouts fill a buffer
all the time, bounded by ``staleness``.

A checkpoint is saved last of all, when every observer has written down what it found: it is what makes a step done. A
kill at any moment leaves records of at most the steps after the last checkpoint, which a resumed run takes away and
makes again, and never a checkpoint whose records are missing. Owns: the order of things, and what a step leaves behind.
Does not own: any of the things.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from assay.core.errors import TrainingStopped
from assay.core.types import Json
from assay.placement.plans import Phase, PhaseKind
from assay.training.measures import of_update
from assay.training.saving import Saves, SavingConfig

from .batching import Batched, BatchingConfig, to_batch, to_sequence, trainable
from .measures import of_batch, of_moves
from .memory import Memory
from .ports import Publisher, RolloutBatch, Scoring, Source, Trainer
from .residency import Residency
from .rewards.failures import JudgeFailureAs, settle
from .sample import Group
from .step import Observer, StepResult


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopConfig:
    """How many steps, and the decisions between rollout and training."""

    num_rollout: int
    batching: BatchingConfig = field(default_factory=BatchingConfig)
    judge_failure_as: JudgeFailureAs = "mask"
    saving: SavingConfig = field(default_factory=SavingConfig)
    """When checkpoints are saved beside the end."""
    saves: bool = False
    """Whether there is a place to save to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopParts:
    """What the loop drives; ``local`` and ``cluster`` build them."""

    phases: Sequence[Phase]
    source: Source
    trainer: Trainer
    publisher: Publisher
    residency: Residency
    scoring: Scoring | None = None
    """For modes whose rewards come after the rollout."""
    observers: Sequence[Observer] = ()


@dataclass(slots=True)
class _Step:
    """One step while it is made."""

    number: int
    batch: RolloutBatch = field(default_factory=lambda: RolloutBatch(groups=()))
    batched: Batched | None = None
    metrics: dict[str, float] = field(default_factory=dict[str, float])

    @contextmanager
    def timed(self, name: str) -> Generator[None]:
        begin = time.perf_counter()
        try:
            yield
        finally:
            key = f"time/{name}"
            self.metrics[key] = self.metrics.get(key, 0.0) + time.perf_counter() - begin


class Loop:
    """Runs steps. ``memory`` is what a resumed run must know beside weights and optimizer."""

    def __init__(self, parts: LoopParts, config: LoopConfig, memory: Memory) -> None:
        self.parts = parts
        self.config = config
        self.memory = memory
        self.observers: tuple[Observer, ...] = tuple(parts.observers)
        self.leaving: Callable[[], bool] = lambda: False
        """Whether somebody asked the run to end: it does after the step that it makes, which is saved."""
        self.stopped: Callable[[StepResult], Awaitable[object]] | None = None
        """Is shown the batch of a step that is not made, because the run stops at it."""
        self._batch: tuple[int, RolloutBatch] | None = None
        self._before: Json = None
        """The state of the source before the step that is made: a step that ends without an update is made again."""
        self._saves = Saves(config.saving)
        self._saving: dict[str, float] = {}
        """Seconds that the last checkpoint took: they are told with the step after it, whose line comes later."""
        self._work: dict[PhaseKind, Callable[[_Step], Awaitable[None]]] = {
            PhaseKind.GENERATE: self._generate,
            PhaseKind.JUDGE: self._judge,
            PhaseKind.TRAIN: self._train,
            PhaseKind.SYNC: self._sync,
        }

    async def run(self) -> None:
        """Make the steps that are left, unless it is to leave; the rollout engines have the policy's weights.

        Raises:
            TrainingStopped: the run must not go on; its state is saved where there is a place for it.
            AssayError: a part failed; the last checkpoint is untouched.
        """
        try:
            while self.memory.step < self.config.num_rollout:
                self._before = self.parts.source.state()
                await self.step()
                if self.leaving():
                    await self._leave()
                    return
        except TrainingStopped:
            self.memory.forgive()
            await self._save()
            if self.stopped is not None and self._batch is not None:
                number, batch = self._batch
                await self.stopped(StepResult(step=number, groups=batch.groups, advantages=(), filtered=batch.filtered))
            raise

    async def step(self) -> StepResult:
        """Make one step: all phases, then whoever looks at it, then, where one is due, the checkpoint."""
        step = _Step(self.memory.step, metrics=self._saving)
        self._saving = {}
        with step.timed("step"):
            for phase in self.parts.phases:
                await self._enter(step, phase)
                work = self._work.get(phase.kind)
                if work is not None:
                    with step.timed(str(phase.kind)):
                        await work(step)
        result = await self._shown(step)
        if self._due(self.memory.step):
            await self._save()
            self._saving = {"time/save": self._saves.seconds}
        return result

    async def _enter(self, step: _Step, phase: Phase) -> None:
        with step.timed("moves"):
            moved = await self.parts.residency.enter(phase)
        step.metrics |= of_moves(moved, step.metrics)

    async def _generate(self, step: _Step) -> None:
        step.batch = await self.parts.source.next(step.number, self.parts.trainer.weight_version)

    async def _judge(self, step: _Step) -> None:
        if self.parts.scoring is None:
            raise ValueError("the plan has a phase for judging, and nothing that judges a whole batch was built")
        groups = await self.parts.scoring.score(step.batch.groups)
        step.batch = RolloutBatch(groups=groups, filtered=step.batch.filtered, stats=step.batch.stats)

    async def _train(self, step: _Step) -> None:
        groups, config = step.batch.groups, self.config
        self._batch = (step.number, step.batch)
        self.memory.judged(groups)
        rewards = [settle(group, config.judge_failure_as) for group in groups]
        kl = await self._kl(groups) if config.batching.kl_coef else None
        step.batched = to_batch(groups, rewards, config.batching, kl)
        step.metrics |= of_batch(step.batch, step.batched)
        self.memory.learned(step.batched.groups)
        if step.batched.batch is not None:
            step.metrics |= of_update(await self.parts.trainer.step(step.batched.batch))
        self.memory.step = step.number + 1
        self._before = self._batch = None

    async def _kl(self, groups: Sequence[Group]) -> list[list[tuple[float, ...]]]:
        """Estimates at the trained tokens of every sample; none for those that have no tokens."""
        samples = [sample for group in groups for sample in group.samples if trainable(sample)]
        found = iter(await self.parts.trainer.kl([to_sequence(sample) for sample in samples]))
        return [[next(found) if trainable(sample) else () for sample in group.samples] for group in groups]

    async def _sync(self, step: _Step) -> None:
        published = await self.parts.publisher.publish()
        step.metrics |= {"time/publish": published.seconds, "memory/published_bytes": float(published.bytes)}

    def _due(self, made: int) -> bool:
        return self.config.saves and (made == self.config.num_rollout or self._saves.due(made))

    async def _leave(self) -> None:
        if self._saves.made != self.memory.step:
            await self._save()

    async def _save(self) -> None:
        if self.config.saves:
            source = self.parts.source.state() if self._before is None else self._before
            with self._saves.saving(self.memory.step):
                await self.parts.trainer.save(self.memory.to_json(source))

    async def _shown(self, step: _Step) -> StepResult:
        result = StepResult(
            step=step.number,
            groups=step.batch.groups,
            advantages=() if step.batched is None else step.batched.groups,
            filtered=step.batch.filtered,
            weight_version=self.parts.trainer.weight_version,
            metrics=step.metrics,
        )
        stop: TrainingStopped | None = None
        for observer in self.observers:
            try:
                step.metrics |= await observer.after(result)
            except TrainingStopped as reason:
                # The step was made: those that write it down still do.
                stop = stop or reason
        if stop is not None:
            raise stop
        return result
