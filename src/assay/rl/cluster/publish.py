"""The policy's weights from the trainer's ranks to rollout engines: sent, through Ray's object store, or by a folder.

| way | what travels | for |
|---|---|---|
| store | one copy in the main memory of each node, read in place by all its engines | engines that take tensors |
| tensor, nccl | buckets, from the ranks to each engine in its turn | SGLang servers |
| disk | one folder, replaced whole at every step; on several nodes it must be on shared storage | any engine |

Owns the ways; which one is taken is decided in ``weight_sync``. A pool of engines lets running requests end first.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from assay.engines.base import Updatable
from assay.engines.feed import FEED
from assay.placement.plans import Mode

from ..ports import Published
from .engines import STORE, Shelf
from .feeding import Feeds
from .trainer import RayTrainer


class Taker(Protocol):
    """Also takes weights out of Ray's object store: log-prob actors."""

    async def take(self, weights: object, version: str) -> None: ...


def sleeps_without_files(mode: Mode, *, cards: bool) -> bool:
    """Without a card, an engine that sleeps can drop its weights only if it can read them again from files."""
    return mode != Mode.FULLY_ASYNC and not cards


class ThroughStore:
    """See the module. ``takers`` get the same copy."""

    def __init__(
        self, trainer: RayTrainer, engines: Sequence[Updatable], shelf: Shelf, takers: Sequence[Taker] = ()
    ) -> None:
        self._trainer = trainer
        self._engines = engines
        self._shelf = shelf
        self._takers = takers

    async def publish(self) -> Published:
        begin, version = time.perf_counter(), self._trainer.weight_version
        (reference,), size = await self._trainer.put()
        # The copy before is given up here, and with it its memory once no engine reads it.
        self._shelf.reference = reference
        await asyncio.gather(
            *(engine.update_weights(STORE + version, version) for engine in self._engines),
            *(taker.take(reference, version) for taker in self._takers),
        )
        return Published(version=version, bytes=size, seconds=time.perf_counter() - begin)


class ThroughFeeds:
    """Has engines take the weights from the ranks as they are sent; ``feeds`` are theirs too. ``takers`` as above."""

    def __init__(
        self, trainer: RayTrainer, engines: Sequence[Updatable], feeds: Feeds, takers: Sequence[Taker] = ()
    ) -> None:
        self._trainer = trainer
        self._engines = engines
        self._feeds = feeds
        self._takers = takers

    async def publish(self) -> Published:
        begin, version = time.perf_counter(), self._trainer.weight_version
        weights = (await self._trainer.put())[0][0] if self._takers else None
        await asyncio.gather(
            *(engine.update_weights(FEED + version, version) for engine in self._engines),
            *(taker.take(weights, version) for taker in self._takers),
        )
        return Published(version=version, bytes=self._feeds.sent, seconds=time.perf_counter() - begin)


class ThroughFolder:
    """See the module. ``takers`` are served through the object store all the same."""

    def __init__(
        self, trainer: RayTrainer, engines: Sequence[Updatable], folder: Path, takers: Sequence[Taker] = ()
    ) -> None:
        self._trainer = trainer
        self._engines = engines
        self._folder = folder
        self._takers = takers

    async def publish(self) -> Published:
        begin, version = time.perf_counter(), self._trainer.weight_version
        size = await self._trainer.export(self._folder)
        weights = (await self._trainer.put())[0][0] if self._takers else None
        taking = [engine.update_weights(str(self._folder), version) for engine in self._engines]
        await asyncio.gather(*taking, *(taker.take(weights, version) for taker in self._takers))
        return Published(version=version, bytes=size, seconds=time.perf_counter() - begin)
