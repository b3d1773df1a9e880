"""All modes, end to end, on a Ray cluster of eight simulated GPUs: real actors, processes, placement groups, FSDP2.

Engines span several GPUs each, so that there are fewer processes; the trainer has a rank on every GPU that it claims.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from assay.engines.ray.joining import connected
from assay.placement.plans import Mode, PlacementPlan
from assay.rl.cluster.build import ClusterParts
from assay.rl.step import StepResult

from .stage import STEPS, Models, Outcome, alone, flags, on_cluster, plan_of, save_models

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SPLIT = {"actor": (1, 8), "rollout": (1, 4), "genrm": (1, 4)}
SHARED = {"actor": (1, 8), "rollout": (1, 8), "genrm": (1, 8)}
APART = {"actor": (1, 2), "rollout": (1, 3), "reference": (1, 1), "actor_fwd": (1, 1), "genrm": (1, 1)}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    return save_models(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def expected(models: Models) -> Outcome:
    """The same run in one process, with one rank and one engine of each kind."""
    return alone(models)


@pytest.fixture(scope="module")
def cluster() -> Generator[None]:
    with connected(None, num_gpus=8, bundles=16, object_store_bytes=100 << 20):
        yield


def assert_the_same(run: Outcome, expected: Outcome) -> None:
    """So the losses of any two modes differ by less than 1e-5."""
    assert len(run.losses) == STEPS
    assert run.losses == pytest.approx(expected.losses, abs=4e-6)
    for ours, theirs in zip(run.steps, expected.steps, strict=True):
        assert [s.tokens for g in ours.groups for s in g.samples] == [
            s.tokens for g in theirs.groups for s in g.samples
        ]
        assert ours.metrics["reward/mean"] == pytest.approx(theirs.metrics["reward/mean"], abs=1e-5)


def tokens(result: StepResult) -> list[tuple[int, ...]]:
    return [sample.tokens for group in result.groups for sample in group.samples]


def assert_as_planned(run: Outcome, plan: PlacementPlan) -> None:
    """Whoever a phase names is awake in it, and nobody else has anything on the cards."""
    assert [phase.kind for phase, _ in run.presence] == [phase.kind for phase in plan.phases] * STEPS
    for phase, found in run.presence:
        for role, presence in found.items():
            # A trainer's weights are read where they sleep.
            allowed = {"asleep", "weights"} if role == "actor" else {"weights"}
            if role in phase.awake:
                assert presence == "awake", (phase, role)
            elif role in phase.weights_only:
                assert presence in allowed, (phase, role)
            else:
                assert presence == "asleep", (phase, role)


def test_split(cluster: None, models: Models, expected: Outcome, tmp_path: Path) -> None:
    """Eight ranks; on four of the GPUs two engines of two GPUs, on the others a judge of four."""
    said = flags(models, "split", {"quality": 4}, resource=SPLIT, rollout_num_gpus_per_engine=2)
    plan = plan_of(said)
    assert plan.mode == Mode.SPLIT
    run = on_cluster(said, models, tmp_path)
    assert_the_same(run, expected)
    assert_as_planned(run, plan)


def test_co_resident(cluster: None, models: Models, expected: Outcome, tmp_path: Path) -> None:
    """Three actors ask for shares of one GPU: a rank, an engine and a judge."""
    said = flags(models, "co-resident", {"quality": 8}, resource=SHARED, rollout_num_gpus_per_engine=4)
    plan = plan_of(said)
    assert plan.mode == Mode.CO_RESIDENT
    assert {claim.ray_share for claim in plan.claims.values()} == {0.33}
    run = on_cluster(said, models, tmp_path)
    assert_the_same(run, expected)
    assert_as_planned(run, plan)


def test_defer_swap(cluster: None, models: Models, expected: Outcome, tmp_path: Path) -> None:
    said = flags(models, "defer-swap", {"quality": 8}, resource=SHARED, rollout_num_gpus_per_engine=4)
    plan = plan_of(said)
    assert plan.mode == Mode.DEFER_SWAP
    run = on_cluster(said, models, tmp_path)
    assert_the_same(run, expected)
    assert_as_planned(run, plan)
    for _, found in run.presence:
        assert "asleep" in (found["rollout"], found["quality"])


def test_two_judges_behind_a_service(cluster: None, models: Models, tmp_path: Path) -> None:
    said = flags(models, "split", {"quality": 2, "safety": 2}, resource=SPLIT, rollout_num_gpus_per_engine=4)
    plan = plan_of(said)
    places = [plan.claims[name].gpus for name in ("rollout", "quality", "safety")]
    assert places == [(0, 1, 2, 3), (4, 5), (6, 7)]
    run = on_cluster(said, models, tmp_path, service=True)
    assert_the_same(run, alone(models, ["quality", "safety"]))
    assert_as_planned(run, plan)


def test_fully_asynchronous_and_an_engine_that_is_killed(cluster: None, models: Models, tmp_path: Path) -> None:
    """``reference`` and ``actor_fwd`` have actors of their own; weights go through Ray's object store."""
    said = flags(models, "fully-async", {"quality": 1}, resource=APART)
    plan = plan_of(said)
    assert plan.mode == Mode.FULLY_ASYNC
    assert [len(claim.gpus) for claim in plan.claims.values()] == [2, 3, 1, 1, 1]

    async def meddle(parts: ClusterParts, outcome: Outcome) -> None:
        await until(lambda: bool(outcome.steps))
        victim = parts.rollout.members[1]
        pid = await victim.engine.pid()
        os.kill(pid, signal.SIGKILL)
        await until(lambda: parts.rollout.counters.rebuilds > 0 and victim.life.admits)
        outcome.told["pids"] = (pid, await victim.engine.pid())

    async def at_the_end(parts: ClusterParts, outcome: Outcome) -> None:
        outcome.told["versions"] = {member.engine.info.weight_version for member in parts.rollout.members}
        outcome.told["trained"] = parts.trainer.weight_version

    run = on_cluster(said, models, tmp_path, meddle=meddle, at_the_end=at_the_end)
    assert len(run.steps) == STEPS
    assert all(result.metrics["rollout/failed"] == 0 for result in run.steps)
    assert all(result.metrics["rollout/max_staleness"] <= plan.max_staleness for result in run.steps)
    assert run.steps[1].metrics["train/kl"] > 0
    trained = [group.prompt.ordinal for result in run.steps for group in result.groups]
    assert len(trained) == len(set(trained))
    assert {presence for _, found in run.presence for presence in found.values()} == {"awake"}
    assert run.told["pids"][0] != run.told["pids"][1]
    assert run.told["versions"] == {run.told["trained"]}


async def until(condition: Callable[[], bool], seconds: float = 300.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  other processes have no events
            await asyncio.sleep(0.05)
