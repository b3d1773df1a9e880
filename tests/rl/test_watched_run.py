"""The whole: the loop with everybody who looks at it, killed at random moments and gone on with."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from assay.core.types import Json
from assay.placement.plans import Phase, PhaseKind
from assay.rl.cursor import Cursor
from assay.rl.evaluation import EvalConfig, EvalSet, Evaluation, eval_groups
from assay.rl.loop import Loop, LoopConfig, LoopParts
from assay.rl.memory import Memory
from assay.rl.monitor.config import MonitorConfig
from assay.rl.monitor.monitor import Monitor
from assay.rl.ports import Published
from assay.rl.prompts import Row
from assay.rl.record import SampleRecord, sample_files
from assay.rl.residency import Residency
from assay.rl.rollout.answer import Answering
from assay.rl.rollout.config import RolloutConfig
from assay.rl.rollout.groups import Groups
from assay.rl.rollout.now import RolloutNow
from assay.rl.sample import Prompt
from assay.rl.tracking import build_tracking
from assay.tracking.config import TrackingConfig
from assay.tracking.lines import BASELINE, read_lines
from assay.tracking.trackers import RunInfo
from assay.training.batch import PerToken, StepMetrics, TrainBatch, TrainSequence, UpdateMetrics
from assay.training.saving import SavingConfig

from .watching import Equal, Letters, Parrot

STEPS = 6


class Killed(BaseException):
    """What kill -9 is to a process, as far as one process can tell."""


class Fuse:
    """Kills at the n-th place where it is asked."""

    def __init__(self, left: int | None = None) -> None:
        self.left = left
        self.passed = 0

    def __call__(self) -> None:
        self.passed += 1
        if self.left is not None and self.passed > self.left:
            raise Killed


class CountingPolicy:
    """Its only weight is the number of steps that it was trained; a checkpoint is a file of it."""

    def __init__(self, folder: Path, fuse: Fuse) -> None:
        self.folder = folder
        self.weight = 0
        self.fuse = fuse

    @property
    def weight_version(self) -> str:
        return f"v{self.weight}"

    async def step(self, batch: TrainBatch) -> StepMetrics:
        self.fuse()
        self.weight += 1
        told = UpdateMetrics(
            loss=float(len(batch.sequences)),
            grad_norm=1.0,
            lr=1e-6,
            samples=len(batch.sequences),
            loss_tokens=3,
            packed_tokens=9,
            micro_batches=1,
            applied=True,
        )
        return StepMetrics(step=self.weight, weight_version=self.weight_version, updates=(told,), seconds={})

    async def kl(self, sequences: Sequence[TrainSequence]) -> list[PerToken]:
        raise NotImplementedError

    async def save(self, extra: Json) -> Path:
        self.fuse()
        path = self.folder / "checkpoint.json"
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps({"weight": self.weight, "extra": extra}))
        partial.replace(path)
        self.fuse()
        return path

    async def close(self) -> None: ...


class Publishes:
    def __init__(self, policy: CountingPolicy) -> None:
        self.policy = policy

    async def publish(self) -> Published:
        self.policy.fuse()
        return Published(version=self.policy.weight_version, bytes=0, seconds=0.0)


def _say(policy: CountingPolicy, seed: int) -> str:
    """Right, and short, more often, the more the policy was trained; from the seed alone otherwise."""
    return "4" if random.Random(seed).random() < policy.weight / STEPS else "5" * (1 + seed % 3)


class Seeded(Parrot):
    """Answers by the seed of the request and by the policy's weight, so that a step made again is the same step."""

    def __init__(self, policy: CountingPolicy) -> None:
        super().__init__(lambda prompt, time: "")
        self.policy = policy

    async def generate(self, request: Any, deadline: Any) -> Any:
        self.say = lambda prompt, time: _say(self.policy, request.sampling.seed)
        return await super().generate(request, deadline)


async def _run(folder: Path, fuse: Fuse) -> None:
    """A run, or the rest of one, as the assembly of a run does it."""
    policy, memory = CountingPolicy(folder, fuse), Memory(max_dead_steps=0)
    rollout = RolloutConfig(rollout_batch_size=2, n_samples_per_prompt=4, rollout_max_response_len=4)
    engine, cursor = Seeded(policy), Cursor(rows=5)
    if (folder / "checkpoint.json").exists():
        saved = json.loads((folder / "checkpoint.json").read_text())
        policy.weight = saved["weight"]
        memory.restore(saved["extra"])
        cursor.restore(memory.source)

    def prompt(ordinal: int) -> Prompt:
        return Prompt(ordinal=ordinal, prompt=f"{cursor.row(ordinal)}?", label="4")

    groups = Groups(Answering(engine, Letters(), rollout), rollout, lambda one: Letters().render(one.prompt), Equal())
    held_out = EvalSet(name="held", rows=tuple(Row(prompt=f"held {n}", label="4", metadata={}) for n in range(8)))
    config = EvalConfig(eval_prompt_data=("held=x",), eval_interval=2)
    evaluation = Evaluation(
        [held_out],
        config,
        eval_groups(engine, Letters(), config, rollout, Equal()),
        steps=STEPS,
        run=folder,
    )
    monitor, record = Monitor(MonitorConfig()), SampleRecord(folder)
    tracking = build_tracking(TrackingConfig(tracker="none"), RunInfo(folder=folder, first_step=memory.step))
    monitor.resume(read_lines(tracking.lines.path), memory.step)
    record.resume(memory.step)
    evaluation.resume(memory.step)
    if memory.step == 0 and tracking.lines.last() is None:
        await tracking.write(BASELINE, await evaluation.baseline())

    class Kills:
        async def after(self, result: Any) -> dict[str, float]:
            fuse()
            return {}

        async def close(self) -> None: ...

    observers = [record, Kills(), evaluation, monitor, Kills(), tracking, Kills()]
    phases = [Phase(kind=kind, awake=()) for kind in (PhaseKind.GENERATE, PhaseKind.TRAIN, PhaseKind.SYNC)]
    parts = LoopParts(
        phases=phases,
        source=RolloutNow(groups, cursor, prompt, rollout),
        trainer=policy,
        publisher=Publishes(policy),
        residency=Residency({}),
        observers=observers,
    )
    await Loop(parts, LoopConfig(num_rollout=STEPS, saving=SavingConfig(save_interval=1), saves=True), memory).run()


def _seen(folder: Path) -> list[dict[str, Any]]:
    lines = read_lines(folder / "metrics.jsonl")
    return [{k: v for k, v in line.items() if not k.startswith(("time/", "memory/"))} for line in lines]


def _samples(folder: Path) -> dict[int, list[dict[str, Any]]]:
    return {step: pq.read_table(path).to_pylist() for path, step in sample_files(folder / "samples")}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A run that nobody killed, and how many places to kill it at there are."""
    folder, fuse = tmp_path_factory.mktemp("whole"), Fuse()
    asyncio.run(_run(folder, fuse))
    return folder, fuse.passed


def test_the_run_learns_and_its_record_is_complete(whole: tuple[Path, int]) -> None:
    folder, _ = whole
    lines = _seen(folder)
    assert [line["step"] for line in lines] == [-1, *range(STEPS)]
    assert lines[0]["eval/held/pass@1"] == 0.0
    assert lines[-1]["eval/held/pass@1"] == 1.0
    assert [line["step"] for line in lines if "eval/held/pass@1" in line] == [-1, 1, 3, 5]
    assert {step: len(rows) for step, rows in _samples(folder).items()} == dict.fromkeys(range(STEPS), 8)


def _killed(folder: Path, left: int) -> bool:
    try:
        asyncio.run(_run(folder, Fuse(left)))
    except Killed:
        return True
    return False


def test_killed_at_every_place_it_leaves_the_same_record(whole: tuple[Path, int], tmp_path: Path) -> None:
    """Before and after the record, the line, the checkpoint and the weights of every step."""
    folder, places = whole
    for place in range(places):
        own = tmp_path / str(place)
        assert _killed(own, place)
        asyncio.run(_run(own, Fuse()))
        assert _seen(own) == _seen(folder), place
        assert _samples(own) == _samples(folder), place


@pytest.mark.parametrize("place", range(1, 40))
def test_a_checkpoint_is_never_ahead_of_the_records(whole: tuple[Path, int], tmp_path: Path, place: int) -> None:
    _killed(tmp_path, place)
    if (tmp_path / "checkpoint.json").exists():
        made = json.loads((tmp_path / "checkpoint.json").read_text())["extra"]["step"]
        assert [line["step"] for line in _seen(tmp_path)][: made + 1] == [-1, *range(made)]
        assert list(_samples(tmp_path))[:made] == list(range(made))


@pytest.mark.parametrize("seed", range(8))
def test_killed_at_random_moments_it_leaves_the_same_record(whole: tuple[Path, int], tmp_path: Path, seed: int) -> None:
    folder, places = whole
    draw = random.Random(seed)
    for _ in range(3):
        try:
            asyncio.run(_run(tmp_path, Fuse(draw.randrange(1, places))))
            break
        except Killed:
            continue
    asyncio.run(_run(tmp_path, Fuse()))
    assert _seen(tmp_path) == _seen(folder)
    found, expected = _samples(tmp_path), _samples(folder)
    assert found == expected
