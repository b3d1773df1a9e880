"""Weights out of a trainer, by handle and by broadcast, into a process that decodes them as SGLang does: bit by bit."""

from __future__ import annotations

import asyncio
import multiprocessing
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import pytest
import torch
from safetensors.torch import load_file

from assay.core.errors import GenerationError, StartError
from assay.engines.feed import Bucket, WeightFeed
from assay.engines.sglang.receiving import HttpReceiver
from assay.engines.sglang.server import Server
from assay.rl.algorithm import AlgorithmConfig
from assay.rl.local.sender import LocalSender
from assay.rl.local.trainer import LocalTrainer
from assay.rl.weights.feed import FedWay, TrainerFeed
from assay.training.broadcasting import SendingGroup
from assay.training.config import TrainerConfig
from assay.training.dispatch import Dispatch
from assay.training.trainer import Trainer

from ..tiny import save_tiny
from .taking_server import serve

WAYS: tuple[FedWay, ...] = ("tensor", "nccl")
SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture(scope="module")
def trainer(tmp_path_factory: pytest.TempPathFactory) -> Trainer:
    folder = save_tiny(tmp_path_factory.mktemp("model"), layers=2)
    torch.set_num_threads(1)
    return Trainer(TrainerConfig(hf_checkpoint=str(folder), device="cpu", lora_rank=2))


@asynccontextmanager
async def feeding(trainer: Trainer, way: FedWay, **options: Any) -> AsyncGenerator[TrainerFeed]:
    given: dict[str, Any] = {"dtype": "bfloat16", "bucket_bytes": 4096, "limit_s": 20.0, **options}
    policy = LocalTrainer(trainer, AlgorithmConfig().objective(8))
    sender = LocalSender(policy, Dispatch(trainer, **given))
    try:
        yield TrainerFeed(sender, way)
    finally:
        await sender.close()
        await policy.close()


class Taking:
    """A process of ``taking_server``."""

    def __init__(self, key: str = "one", dies_at: int | None = None, refuses_at: int | None = None) -> None:
        ours, theirs = SPAWN.Pipe()
        self.process = SPAWN.Process(target=serve, args=(theirs, 0, dies_at, refuses_at), daemon=True)
        self.process.start()
        assert ours.poll(60)
        self.server = Server(ours.recv(), control_timeout_s=30)
        self.key = key

    def receiver(self, version: str) -> HttpReceiver:
        return HttpReceiver(self.server, key=self.key, width=1, version=version)

    async def info(self) -> dict[str, Any]:
        return (await self.server.get("/model_info", 10)).data()

    async def weights(self, folder: Path) -> dict[str, torch.Tensor]:
        assert (await self.server.control("/dump", {"path": str(folder / "dump.safetensors")})).status == 200
        return load_file(folder / "dump.safetensors")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.server.close()
        self.process.kill()
        self.process.join()


def exported(trainer: Trainer, folder: Path) -> dict[str, torch.Tensor]:
    """What the folder has that the same weights would be loaded from."""
    trainer.export(folder / "exported", dtype=torch.bfloat16)
    return load_file(folder / "exported" / "model.safetensors")


def disturb(trainer: Trainer) -> str:
    """Other weights, the adapter's among them; their version."""
    with torch.no_grad():
        for weight in trainer.policy.trained.values():
            weight.add_(torch.randn_like(weight) * 0.3)
    trainer.updates += 1
    return trainer.weight_version


@pytest.mark.parametrize("way", WAYS)
def test_what_arrives_is_what_a_checkpoint_of_the_same_weights_holds(
    trainer: Trainer, way: FedWay, tmp_path: Path
) -> None:
    async def main() -> None:
        async with Taking() as taking, feeding(trainer, way) as feed:
            for turn in (1, 2):
                version = disturb(trainer)
                size = await feed.deliver(taking.receiver(version), version)
                told = await taking.info()
                assert (told["weight_version"], told["flushes"]) == (version, turn)
                assert told["buckets"] > 2 * turn
                expected = exported(trainer, tmp_path)
                found = await taking.weights(tmp_path)
                assert found.keys() == expected.keys() == feed.shapes.keys()
                for name, value in expected.items():
                    assert found[name].dtype == torch.bfloat16
                    assert torch.equal(found[name], value), name
                assert size == sum(2 * value.numel() for value in expected.values()) == feed.sent

    asyncio.run(main())


@pytest.mark.parametrize("way", WAYS)
def test_an_engine_that_dies_in_the_middle_is_left_and_its_successor_gets_everything(
    trainer: Trainer, way: FedWay, tmp_path: Path
) -> None:
    async def main() -> None:
        version = disturb(trainer)
        async with Taking("one", dies_at=3) as first, Taking("two") as second, feeding(trainer, way) as feed:
            receiver = first.receiver(version)
            async with asyncio.timeout(15):
                # Whoever sees it first says so: the call, or the broadcast.
                with pytest.raises((GenerationError, StartError), match=r"the connection to SGLang broke|failed"):
                    await feed.deliver(receiver, version)
            assert receiver.begun
            await feed.deliver(second.receiver(version), version)
            assert (await second.info())["weight_version"] == version
            found = await second.weights(tmp_path)
            for name, value in exported(trainer, tmp_path).items():
                assert torch.equal(found[name], value), name

    asyncio.run(main())


@pytest.mark.parametrize("way", WAYS)
def test_a_refused_bucket_keeps_the_old_version(trainer: Trainer, way: FedWay) -> None:
    async def main() -> None:
        version = disturb(trainer)
        # gloo, other than NCCL, ends a broadcast only with its time.
        async with Taking(refuses_at=2) as taking, feeding(trainer, way, limit_s=2.0) as feed:
            async with asyncio.timeout(15):
                with pytest.raises(GenerationError, match="partially updated"):
                    await feed.deliver(taking.receiver(version), version)
            assert (await taking.info())["weight_version"] == "first"

    asyncio.run(main())


@pytest.mark.parametrize(("stopped", "why"), [(False, "was not done after 1 s"), (True, "was stopped")])
def test_a_broadcast_that_nobody_takes_ends(stopped: bool, why: str) -> None:
    async def main() -> None:
        async with Taking() as taking:
            group = SendingGroup(f"nobody-{stopped}", host="127.0.0.1", size=2, backend="gloo", limit_s=30.0)
            joined = asyncio.ensure_future(taking.receiver("v").join(group.told))
            await asyncio.to_thread(group.meet)
            await joined
            # They have met, which takes its time on a busy machine; a broadcast has less.
            group._limit_s = 1.0
            stop = threading.Event()
            if stopped:
                stop.set()
            # More than what sockets hold for a reader.
            with pytest.raises(StartError, match=f"the broadcast in 'nobody-{stopped}' {why}"):
                await asyncio.to_thread(group.broadcast, torch.zeros(1 << 26, dtype=torch.uint8), stop)
            await asyncio.to_thread(group.abort)

    asyncio.run(main())


def test_weights_that_the_trainer_no_longer_has_are_not_sent(trainer: Trainer) -> None:
    class Nobody:
        key, width = "nobody", 1

        async def take(self, bucket: Bucket) -> None:
            disturb(trainer)

        async def join(self, group: Any) -> None: ...

    async def main() -> None:
        old = trainer.weight_version
        async with feeding(trainer, "tensor") as feed:
            assert isinstance(feed, WeightFeed)
            with pytest.raises(StartError, match="the trainer has weights"):
                await feed.deliver(Nobody(), old)
            with pytest.raises(StartError, match=f"'{old}' were asked for"):
                await feed.deliver(Nobody(), old)

    asyncio.run(main())


def test_a_weight_that_is_larger_than_a_bucket_goes_alone(trainer: Trainer) -> None:
    dispatch = Dispatch(trainer, dtype="float32", bucket_bytes=1, limit_s=1.0)
    dispatch.begin(trainer.weight_version)
    names: list[str] = []
    while (bucket := dispatch.next(0)) is not None:
        names += bucket.names
        assert len(bucket.names) == 1
        assert bucket.last == (len(names) == len(dispatch.shapes))
    assert names == list(dispatch.shapes)
    dispatch.end()


def test_a_bucket_without_memory_is_refused_and_the_weights_behind_it_are_the_right_ones(trainer: Trainer) -> None:
    dispatch = Dispatch(trainer, dtype="bfloat16", bucket_bytes=4096, limit_s=1.0)
    real, made = dispatch._empty, 0

    def full(size: int) -> torch.Tensor:
        nonlocal made
        made += 1
        if made == 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return real(size)

    dispatch._empty = full
    dispatch.begin(trainer.weight_version)
    first = dispatch.next(1)
    with pytest.raises(StartError, match=r"no memory for .* bytes of weights: CUDA out of memory"):
        dispatch.next(1)
    third = dispatch.next(1)
    assert first is not None
    assert third is not None
    names = list(dispatch.shapes)
    assert names[: len(first.names)] == list(first.names)
    begin = names.index(third.names[0])
    assert begin > len(first.names)
    assert names[begin : begin + len(third.names)] == list(third.names)
    dispatch.end()
