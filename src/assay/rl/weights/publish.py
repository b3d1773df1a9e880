"""Publishers that do not ask where the trainer runs: through its feed, or through a folder."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from assay.engines.base import Updatable
from assay.engines.feed import FEED

from ..ports import Published, Trainer


class Feeding(Protocol):
    """The feed of one engine, or the feeds of several."""

    @property
    def sent(self) -> int:
        """Bytes of the last delivery."""
        ...


class Beside(Protocol):
    """Others that take the weights beside the engines: actors that compute log-probs."""

    async def prepare(self) -> None:
        """Before the engines are told."""
        ...

    async def take(self, version: str) -> None:
        """While the engines take them."""
        ...


class Nobody:
    """``Beside`` where there are only engines."""

    async def prepare(self) -> None: ...
    async def take(self, version: str) -> None: ...


class ThroughFeed:
    """Has engines take the weights from the trainer as they are sent, each in its turn; ``feed`` is theirs too."""

    def __init__(
        self, trainer: Trainer, engines: Sequence[Updatable], feed: Feeding, beside: Beside | None = None
    ) -> None:
        self._trainer = trainer
        self._engines = engines
        self._feed = feed
        self._beside = beside or Nobody()

    async def publish(self) -> Published:
        begin, version = time.perf_counter(), self._trainer.weight_version
        await self._beside.prepare()
        await asyncio.gather(
            *(engine.update_weights(FEED + version, version) for engine in self._engines), self._beside.take(version)
        )
        return Published(version=version, bytes=self._feed.sent, seconds=time.perf_counter() - begin)


class ThroughFolder:
    """Exports a folder that engines elsewhere load: one, replaced whole at every step; on several nodes it must be on
    storage that they share.
    """

    def __init__(
        self, trainer: Trainer, engines: Sequence[Updatable], folder: Path, beside: Beside | None = None
    ) -> None:
        self._trainer = trainer
        self._engines = engines
        self._folder = folder
        self._beside = beside or Nobody()

    async def publish(self) -> Published:
        begin, version = time.perf_counter(), self._trainer.weight_version
        size = await self._trainer.export(self._folder)
        await self._beside.prepare()
        await asyncio.gather(
            *(engine.update_weights(str(self._folder), version) for engine in self._engines),
            self._beside.take(version),
        )
        return Published(version=version, bytes=size, seconds=time.perf_counter() - begin)
