"""Ranks on a real Ray: what becomes of a run when one of them fails, and of a plan that has no room."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest
import ray
from ray.util.placement_group import placement_group, remove_placement_group

from assay.core.errors import AssayError, InputError, StartError
from assay.engines.ray.joining import connected
from assay.placement import PlacementPlan, parse_cluster, place
from assay.rl.cluster.build import ClusterSettings, cluster_parts
from assay.rl.cluster.engines import Recipe
from assay.training.batch import TrainBatch, TrainSequence
from assay.training.config import TrainerConfig

from .stage import ALGORITHM, ENGINE, Models, flags, plan_of, save_models, trainer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    return save_models(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def cluster() -> Generator[None]:
    with connected(None, num_gpus=4, bundles=8, object_store_bytes=100 << 20):
        yield


def small(models: Models, folder: Path, **changes: object) -> tuple[ClusterSettings, PlacementPlan]:
    """Two ranks; the engines are never started."""
    said = flags(models, "split", {"quality": 1}, resource={"actor": (1, 2), "rollout": (1, 1), "genrm": (1, 1)})
    config = trainer(models).model_copy(update=changes)
    settings = ClusterSettings(
        trainer=TrainerConfig.model_validate(config.model_dump()),
        published=folder,
        algorithm=ALGORITHM,
        rollout=Recipe(options={**ENGINE, "model": str(models.policy)}),
        judge=Recipe(options=ENGINE),
        judges=said.specs(),
        rank_threads=1,
    )
    return settings, plan_of(said)


def batch() -> TrainBatch:
    one = TrainSequence(prompt_ids=(5, 6), response_ids=(7, 8, 9), loss_mask=(True,) * 3, advantage=1.0)
    return TrainBatch(sequences=(one, replace(one, response_ids=(9, 7, 5), advantage=-1.0)) * 3)


def test_a_checkpoint_is_gone_on_with_and_a_dead_rank_ends_the_run(
    cluster: None, models: Models, tmp_path: Path
) -> None:
    async def trained() -> tuple[float, float]:
        settings, plan = small(models, tmp_path / "published", save=str(tmp_path / "saved"))
        async with cluster_parts(settings, plan) as parts:
            trainer = parts.trainer
            await trainer.wake(frozenset({"kv_cache", "weights"}))
            first = (await trainer.step(batch())).loss
            kl = await trainer.kl(batch().sequences)
            assert [len(own) for own in kl] == [3] * 6
            await trainer.save({"step": 1})
            second = (await trainer.step(batch())).loss
            pids = await trainer.crew.all("pid", timeout_s=60)
            os.kill(pids[1], signal.SIGKILL)
            begin = time.monotonic()
            with pytest.raises(AssayError, match=r"rank 1 of 'actor' failed in 'step'.*its process has ended"):
                await trainer.step(batch())
            # Not after the limit of an hour that ranks have to wait for each other.
            assert time.monotonic() - begin < 60
            with pytest.raises(AssayError, match="rank 1 of 'actor'"):
                await trainer.save(None)
        return first, second

    async def resumed() -> float:
        settings, plan = small(models, tmp_path / "published", load=str(tmp_path / "saved"))
        async with cluster_parts(settings, plan) as parts:
            assert parts.state.extra == {"step": 1}
            assert parts.trainer.weight_version == parts.state.weight_version
            await parts.trainer.wake(frozenset({"kv_cache", "weights"}))
            return (await parts.trainer.step(batch())).loss

    first, second = asyncio.run(trained())
    assert second != first
    assert asyncio.run(resumed()) == second


def test_what_a_rank_says_itself_is_what_the_run_ends_with(cluster: None, models: Models, tmp_path: Path) -> None:
    async def run() -> None:
        settings, plan = small(models, tmp_path, hf_checkpoint=str(tmp_path / "nowhere"))
        async with cluster_parts(settings, plan):
            pass

    with pytest.raises(InputError, match="nowhere"):
        asyncio.run(run())


def test_a_plan_for_a_larger_cluster_is_refused_at_once(cluster: None, models: Models, tmp_path: Path) -> None:
    async def run() -> None:
        settings, _ = small(models, tmp_path)
        said = flags(models, "split", {"quality": 1}, resource={"actor": (1, 6), "rollout": (1, 5), "genrm": (1, 1)})
        async with cluster_parts(settings, place(said, parse_cluster("1x8xH200"))):
            pass

    with pytest.raises(StartError, match=r"GPU 4 \(actor, rollout\) has no place .* 4 GPUs"):
        asyncio.run(run())


def test_the_bundle_that_something_else_occupies_is_named(cluster: None, models: Models, tmp_path: Path) -> None:
    said: list[str] = []

    async def run() -> None:
        settings, plan = small(models, tmp_path)
        async with cluster_parts(replace(settings, placement_timeout_s=1.0), plan, say=said.append):
            pass

    other = placement_group([{"GPU": 1, "CPU": 1}] * 3)
    try:
        ray.get(other.ready())
        with pytest.raises(StartError, match=r"no room within 1 s: GPU 1 \(actor, quality\) has no place"):
            asyncio.run(run())
    finally:
        remove_placement_group(other)
