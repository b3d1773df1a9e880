"""The loop with real parts: a tiny model is trained, and rolls out with the weights that it was trained into."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from assay.core.deadline import Deadline
from assay.engines.embedded.config import EmbeddedConfig
from assay.engines.embedded.engine import EmbeddedEngine
from assay.placement.plans import Phase, PhaseKind
from assay.rl.algorithm import AlgorithmConfig
from assay.rl.cursor import Cursor
from assay.rl.local.publish import InProcess
from assay.rl.local.trainer import LocalTrainer
from assay.rl.loop import Loop, LoopConfig, LoopParts
from assay.rl.memory import Memory
from assay.rl.residency import Residency
from assay.rl.rollout.ahead import RolloutAhead
from assay.rl.rollout.answer import Answering
from assay.rl.rollout.config import RolloutConfig
from assay.rl.rollout.groups import Groups
from assay.rl.rollout.now import RolloutNow
from assay.rl.sample import Prompt, Reward, Sample
from assay.rl.step import StepResult
from assay.rl.tokens import load_tokenizer
from assay.training.config import TrainerConfig
from assay.training.folders import checkpoints
from assay.training.saving import SavingConfig
from assay.training.trainer import Trainer

from .tiny import save_tiny

PHASES = (
    Phase(kind=PhaseKind.GENERATE, awake=("rollout", "actor")),
    Phase(kind=PhaseKind.TRAIN, awake=("rollout", "actor")),
    Phase(kind=PhaseKind.SYNC, awake=("rollout", "actor")),
)


@dataclass(slots=True)
class Sevens:
    """More sevens earn more."""

    grouped: bool = False
    seen: list[Sample] = field(default_factory=list[Sample])

    async def start(self) -> None: ...

    async def score(self, samples: Sequence[Sample], deadline: Deadline) -> tuple[Reward, ...]:
        self.seen += samples
        return tuple(Reward(value=sample.response.count("7") / 4) for sample in samples)

    async def close(self) -> None: ...


@dataclass(slots=True)
class Seen:
    steps: list[StepResult] = field(default_factory=list[StepResult])

    async def after(self, result: StepResult) -> dict[str, float]:
        self.steps.append(result)
        return {}

    async def close(self) -> None: ...


@dataclass(slots=True)
class Run:
    loop: Loop
    seen: Seen
    policy: LocalTrainer
    engine: EmbeddedEngine


def build(
    folder: Path, *, steps: int, ahead: int | None = None, load: Path | None = None, save: Path | None = None
) -> Run:
    rollout = RolloutConfig(
        num_rollout=steps, rollout_batch_size=4, n_samples_per_prompt=6, rollout_max_response_len=4, rollout_seed=3
    )
    algorithm = AlgorithmConfig()
    trainer = Trainer(
        TrainerConfig(
            hf_checkpoint=str(folder),
            lr=0.02,
            save=None if save is None else str(save),
            load=None if load is None else str(load),
        )
    )
    policy = LocalTrainer(trainer, algorithm.objective(4))
    engine = EmbeddedEngine(EmbeddedConfig(model=str(folder), batch_invariant=True))
    tokenizer = load_tokenizer(str(folder))
    prompts = [f"{a}+{b}=" for a in range(4) for b in range(4)]
    memory = Memory()
    cursor = Cursor(rows=len(prompts), seed=1)
    if load is not None:
        memory.restore(trainer.extra)
        cursor.restore(memory.source)
    groups = Groups(Answering(engine, tokenizer, rollout), rollout, lambda p: tokenizer.render(p.prompt), Sevens())

    def prompt(ordinal: int) -> Prompt:
        return Prompt(ordinal=ordinal, prompt=prompts[cursor.row(ordinal)])

    source = (
        RolloutNow(groups, cursor, prompt, rollout)
        if ahead is None
        else RolloutAhead(groups, cursor, prompt, rollout, max_staleness=ahead)
    )
    seen = Seen()
    parts = LoopParts(
        phases=PHASES,
        source=source,
        trainer=policy,
        publisher=InProcess(policy, [engine]),
        residency=Residency({"rollout": engine, "actor": policy}, awake=("rollout", "actor")),
        observers=[seen],
    )
    config = LoopConfig(
        num_rollout=steps,
        batching=algorithm.batching(4),
        saves=save is not None,
        saving=SavingConfig(save_interval=2 if save else None),
    )
    return Run(Loop(parts, config, memory), seen, policy, engine)


def play(run: Run) -> list[StepResult]:
    async def go() -> None:
        await run.engine.start()
        await run.loop.parts.publisher.publish()
        try:
            await run.loop.run()
        finally:
            await run.loop.parts.source.close()
            await run.engine.close()
            await run.policy.close()

    asyncio.run(go())
    return run.seen.steps


def exact(result: StepResult) -> dict[str, float]:
    return {name: value for name, value in result.metrics.items() if not name.startswith(("time/", "memory/"))}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("tiny"))


def test_the_policy_learns_what_is_rewarded(tiny: Path) -> None:
    steps = play(build(tiny, steps=12))
    rewards = [step.metrics["reward/mean"] for step in steps]
    assert sum(rewards[-3:]) / 3 > sum(rewards[:3]) / 3 + 0.2
    versions = [group.samples[0].weight_versions[0] for step in steps for group in step.groups[:1]]
    assert len(set(versions)) == 12, "every step rolls out with its own weights"
    assert versions == sorted(versions)
    assert versions[1] == steps[0].weight_version
    assert all(len(s.rollout_log_probs) == len(s.response_ids) for g in steps[0].groups for s in g.samples)


def test_rollout_and_trainer_agree_about_log_probs(tiny: Path) -> None:
    run = build(tiny, steps=2)
    from assay.rl.batching import to_sequence

    steps = play(run)
    trainer = Trainer(TrainerConfig(hf_checkpoint=str(tiny)))
    samples = [sample for group in steps[0].groups for sample in group.samples]
    for sample, own in zip(samples, trainer.logprobs([to_sequence(s) for s in samples]), strict=True):
        assert own == pytest.approx(sample.rollout_log_probs, abs=1e-4)


def test_a_run_that_is_asked_to_leave_saves_the_step_that_it_made(tiny: Path, tmp_path: Path) -> None:
    whole = play(build(tiny, steps=4))
    run = build(tiny, steps=4, save=tmp_path)
    run.loop.leaving = lambda: bool(run.seen.steps)
    assert len(play(run)) == 1
    assert [path.name for path in checkpoints(tmp_path)] == ["step-00000001"], "though none is due before the second"
    rest = play(build(tiny, steps=4, save=tmp_path, load=tmp_path))
    assert [exact(step) for step in rest] == [exact(step) for step in whole[1:]]


def test_a_resumed_run_is_the_uninterrupted_one(tiny: Path, tmp_path: Path) -> None:
    whole = play(build(tiny, steps=5))
    play(build(tiny, steps=4, save=tmp_path))
    # The run of 4 saved after steps 2 and 4; the resumed one makes the fifth.
    rest = play(build(tiny, steps=5, load=tmp_path))
    assert [step.step for step in rest] == [4]
    assert exact(rest[0]) == exact(whole[4])
    assert rest[0].weight_version == whole[4].weight_version


@pytest.mark.parametrize("ahead", [0, 2])
def test_rollouts_that_run_ahead_stay_within_their_staleness(tiny: Path, ahead: int) -> None:
    steps = play(build(tiny, steps=8, ahead=ahead))
    known = {step.weight_version: step.step + 1 for step in steps}
    for step in steps:
        for group in step.groups:
            for sample in group.samples:
                oldest = min(known.get(version, 0) for version in sample.weight_versions)
                assert step.step - oldest <= ahead
    ordinals = [group.prompt.ordinal for step in steps for group in step.groups]
    assert len(ordinals) == len(set(ordinals)) == 32
