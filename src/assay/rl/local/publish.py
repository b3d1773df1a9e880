"""The policy's weights to rollout engines: as tensors within this process, sent to a server, or through a folder."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

from assay.engines.base import TensorUpdatable, Updatable
from assay.engines.feed import FEED

from ..feeding import TrainerFeed
from ..ports import Published
from .trainer import LocalTrainer


class InProcess:
    """Copies tensors into engines of this process."""

    def __init__(self, trainer: LocalTrainer, engines: Sequence[TensorUpdatable]) -> None:
        self._trainer = trainer
        self._engines = engines

    async def publish(self) -> Published:
        begin, version = time.perf_counter(), self._trainer.weight_version
        # A copy: the trainer may go on while engines read. Engines take them in their own threads.
        tensors = await self._trainer.work(self._copies)
        taken = await asyncio.gather(*(engine.update_tensors(tensors, version) for engine in self._engines))
        return Published(version=version, bytes=sum(taken), seconds=time.perf_counter() - begin)

    def _copies(self) -> list[tuple[str, object]]:
        return [(name, tensor.detach().clone()) for name, tensor in self._trainer.inner.named_tensors()]


class ThroughFeed:
    """Has engines take the weights from the trainer as they are sent, each in its turn; ``feed`` is theirs too."""

    def __init__(self, trainer: LocalTrainer, engines: Sequence[Updatable], feed: TrainerFeed) -> None:
        self._trainer = trainer
        self._engines = engines
        self._feed = feed

    async def publish(self) -> Published:
        begin, version = time.perf_counter(), self._trainer.weight_version
        await asyncio.gather(*(engine.update_weights(FEED + version, version) for engine in self._engines))
        return Published(version=version, bytes=self._feed.sent, seconds=time.perf_counter() - begin)


class ThroughDisk:
    """Exports a folder that engines elsewhere load: one folder, replaced whole at every step."""

    def __init__(self, trainer: LocalTrainer, engines: Sequence[Updatable], folder: Path) -> None:
        self._trainer = trainer
        self._engines = engines
        self._folder = folder

    async def publish(self) -> Published:
        begin, version = time.perf_counter(), self._trainer.weight_version
        size = await self._trainer.export(self._folder)
        await asyncio.gather(*(engine.update_weights(str(self._folder), version) for engine in self._engines))
        return Published(version=version, bytes=size, seconds=time.perf_counter() - begin)
