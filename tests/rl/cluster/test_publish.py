"""Weights from ranks on a real Ray to SGLang's stand-in in actors: what arrives, bit by bit, and who dies meanwhile."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from assay.core.deadline import Deadline
from assay.core.errors import AssayError, InputError, StartError
from assay.core.types import Request, SamplingParams, TokenPrompt
from assay.engines.pool.config import PoolConfig
from assay.engines.ray.joining import connected
from assay.placement import PlacementFlags
from assay.rl.cluster import build
from assay.rl.cluster.build import ClusterParts, ClusterSettings, cluster_parts
from assay.rl.cluster.engines import Recipe
from assay.rl.cluster.rank import State
from assay.rl.cluster.rank_sends import SendOrders
from assay.rl.cluster.trainer import Limits
from assay.rl.residency import EVERYTHING
from assay.rl.weights.way import Asked
from assay.training.batch import TrainBatch, TrainSequence

from .stage import ALGORITHM, ENGINE, Models, flags, plan_of, save_models, trainer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

TESTS = Path(__file__).parents[2]
BATCH = TrainBatch(
    sequences=tuple(
        TrainSequence(prompt_ids=(5, 6), response_ids=ids, loss_mask=(True,) * 3, advantage=sign)
        for ids, sign in (((7, 8, 9), 1.0), ((9, 7, 5), -1.0)) * 3
    )
)
PLACES: dict[str, tuple[str, str, dict[str, tuple[int, int]], int]] = {
    # Mode, way, GPUs of the roles, GPUs of an engine.
    "on the card of each rank": ("co-resident", "tensor", {"actor": (1, 2), "rollout": (1, 2), "genrm": (1, 2)}, 1),
    "over the cards of two ranks": ("co-resident", "tensor", {"actor": (1, 2), "rollout": (1, 2), "genrm": (1, 2)}, 2),
    "on other cards": ("fully-async", "nccl", {"actor": (1, 2), "rollout": (1, 1), "genrm": (1, 1)}, 1),
}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    found = save_models(tmp_path_factory.mktemp("models"))
    config = found.policy / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "marker": 0}))
    return found


@pytest.fixture(scope="module")
def cluster() -> Generator[None]:
    with connected(None, num_gpus=4, bundles=8, object_store_bytes=100 << 20):
        yield


@pytest.fixture
def cards(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulated GPUs count as real ones, which they are not where it is decided how weights travel."""

    def on_cards(state: State) -> bool:
        return not state.cards

    monkeypatch.setattr(build, "_on_cards", on_cards)


def said_of(models: Models, place: str) -> PlacementFlags:
    mode, _, resource, width = PLACES[place]
    judge = resource["genrm"][1]
    return flags(models, mode, {"quality": judge}, resource=resource, rollout_num_gpus_per_engine=width)


def settings(models: Models, folder: Path, said: PlacementFlags, **env: str) -> ClusterSettings:
    card = {"total": 20 << 30, "neighbour": 0, "held": {}}
    (folder / "card.json").write_text(json.dumps(card))
    standin = TESTS / "engines" / "sglang" / "standin"
    variables = {"PYTHONPATH": str(standin), "DOUBLE_DIR": str(folder), "DOUBLE_TAKES": str(TESTS / "rl" / "local")}
    options: dict[str, Any] = {
        "model": str(models.policy),
        "python": sys.executable,
        "env": {**variables, **env},
        "start_timeout_s": 60,
        "stop_s": 1,
        "arguments": {"dtype": "bfloat16"},
    }
    return ClusterSettings(
        trainer=trainer(models),
        published=folder / "published",
        algorithm=ALGORITHM,
        rollout=Recipe(kind="sglang", options=options, pool=PoolConfig(canary=None, rebuild_pause_s=0.01)),
        judge=Recipe(options=ENGINE),
        judges=said.specs(),
        sending=SendOrders(bucket_bytes=4096, limit_s=20),
        rank_threads=1,
    )


@asynccontextmanager
async def started(
    models: Models, folder: Path, place: str, told: list[str] | None = None, **env: str
) -> AsyncGenerator[ClusterParts]:
    said = said_of(models, place)
    own = settings(models, folder, said, **env)
    async with cluster_parts(own, plan_of(said), say=(told if told is not None else []).append) as parts:
        await parts.start_engines(["rollout"])
        yield parts


async def trained(parts: ClusterParts) -> str:
    """Other weights; their version."""
    await parts.trainer.wake(EVERYTHING)
    await parts.trainer.step(BATCH)
    await parts.trainer.sleep(EVERYTHING)
    return parts.trainer.weight_version


async def published(parts: ClusterParts, folder: Path) -> dict[str, torch.Tensor]:
    """The trainer's weights by a folder, as engines compute with them."""
    await parts.trainer.export(folder / "exported")
    return {n: value.bfloat16() for n, value in load_file(folder / "exported" / "model.safetensors").items()}


def left(folder: Path, version: str) -> Sequence[dict[str, torch.Tensor]]:
    """What each rank of each engine had when it had all of a version."""
    return [load_file(path) for path in sorted(folder.glob(f"{version}.*.safetensors"))]


def assert_told(told: Sequence[str], begin: str) -> None:
    assert any(line.startswith(begin) for line in told), told


def assert_equal(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name].dtype == torch.bfloat16
        assert torch.equal(found[name], value), name


async def answered(parts: ClusterParts) -> str:
    request = Request(id="r", prompt=TokenPrompt(token_ids=(50, 51)), sampling=SamplingParams(max_new_tokens=2))
    return (await parts.rollout.generate(request, Deadline.after(20)))[0].weight_version


@pytest.mark.parametrize("place", PLACES)
def test_every_engine_has_the_trainers_weights_bit_by_bit(
    cluster: None, cards: None, models: Models, tmp_path: Path, place: str
) -> None:
    async def main() -> None:
        told: list[str] = []
        async with started(models, tmp_path, place, told) as parts:
            await parts.publisher.publish()
            version = await trained(parts)
            done = await parts.publisher.publish()
            expected = await published(parts, tmp_path)
            readers = left(tmp_path, version)
            assert len(readers) == len(parts.plan.claims["rollout"].gpus)
            for found in readers:
                assert_equal(found, expected)
            assert done.version == version == parts.rollout.info.weight_version == await answered(parts)
            assert done.bytes == sum(2 * value.numel() for value in expected.values())
        way = PLACES[place][1]
        assert f"weights go to 'rollout' by {way}" in told
        assert_told(told, "rank 0 of 'actor'")
        assert_told(told, "trainer: 2 ranks are ready after")
        assert_told(told, "engine 0 of 'rollout': ready after")

    asyncio.run(main())


@pytest.mark.parametrize("place", ["on the card of each rank", "on other cards"])
def test_an_engine_that_dies_in_the_middle_is_replaced_and_sent_everything(
    cluster: None, cards: None, models: Models, tmp_path: Path, place: str
) -> None:
    async def main() -> None:
        async with started(models, tmp_path, place, DOUBLE_BUCKETS="3") as parts:
            version = parts.trainer.weight_version
            async with asyncio.timeout(120):
                await parts.publisher.publish()
            expected = await published(parts, tmp_path)
            while len(left(tmp_path, version)) < len(parts.rollout.members):  # noqa: ASYNC110
                await asyncio.sleep(0.2)
            for found in left(tmp_path, version):
                assert_equal(found, expected)
            assert await answered(parts) == version
            assert parts.rollout.counters.deaths >= 1
            # The ranks are well, and train.
            again = await trained(parts)
            await parts.publisher.publish()
            assert await answered(parts) == again != version

    asyncio.run(main())


def test_weights_that_the_ranks_no_longer_have_are_not_sent_and_the_old_ones_serve(
    cluster: None, cards: None, models: Models, tmp_path: Path
) -> None:
    async def main() -> None:
        async with started(models, tmp_path, "over the cards of two ranks") as parts:
            await parts.publisher.publish()
            old = parts.trainer.weight_version
            new = await trained(parts)
            with pytest.raises(StartError, match="were asked for"):
                await parts.rollout.update_weights(f"feed:{old}", old)
            assert parts.rollout.info.weight_version == await answered(parts) == old
            await parts.publisher.publish()
            assert await answered(parts) == new

    asyncio.run(main())


def test_a_rank_that_dies_ends_the_sending_with_its_reason_and_the_old_version_serves(
    cluster: None, cards: None, models: Models, tmp_path: Path
) -> None:
    async def main() -> None:
        async with started(models, tmp_path, "on other cards") as parts:
            await parts.publisher.publish()
            old = parts.trainer.weight_version
            await trained(parts)
            pids = await parts.trainer.crew.all("pid", timeout_s=60)
            os.kill(pids[1], signal.SIGKILL)
            async with asyncio.timeout(60):
                with pytest.raises(AssayError, match=r"rank 1 of 'actor' failed in 'send_\w+'.*its process has ended"):
                    await parts.publisher.publish()
            assert parts.rollout.info.weight_version == await answered(parts) == old

    asyncio.run(main())


def test_a_way_that_the_places_forbid_is_refused_before_anything_starts(
    cluster: None, models: Models, tmp_path: Path
) -> None:
    async def main(asked: Asked, device: str) -> None:
        said = said_of(models, "on the card of each rank")
        own = settings(models, tmp_path, said)
        config = own.trainer.model_copy(update={"device": device})
        async with cluster_parts(replace(own, weight_sync=asked, trainer=config), plan_of(said)):
            raise AssertionError("it started")

    with pytest.raises(InputError, match=r"NCCL cannot have two ranks on one card.*tensor, disk"):
        asyncio.run(main("nccl", "auto"))
    with pytest.raises(InputError, match="the trainer runs on the CPU"):
        asyncio.run(main("tensor", "cpu"))


def test_a_stage_of_a_rank_that_lasts_too_long_is_named(cluster: None, models: Models, tmp_path: Path) -> None:
    async def main() -> None:
        said = said_of(models, "on other cards")
        own = replace(settings(models, tmp_path, said), limits=Limits(start_s=0.2))
        async with cluster_parts(own, plan_of(said)):
            raise AssertionError("it started")

    with pytest.raises(StartError, match=r"rank \d of 'actor' has been in stage '[\w ]+' for \d+ s.*start-timeout-s"):
        asyncio.run(main())


def test_an_engine_that_does_not_come_up_is_named_with_the_end_of_its_servers_log(
    cluster: None, cards: None, models: Models, tmp_path: Path
) -> None:
    async def main() -> None:
        said = said_of(models, "on other cards")
        own = settings(models, tmp_path, said, DOUBLE_START="hang")
        own.rollout.options["start_timeout_s"] = 3  # type: ignore[index]
        async with cluster_parts(own, plan_of(said)) as parts:
            await parts.start_engines(["rollout"])

    with pytest.raises(StartError, match=r"(?s)engine 0 of 'rollout'.*stage 'server'.*Load weight begin"):
        asyncio.run(main())
