"""The trainer of this process behind the loop's port: its work runs in one thread, so that the event loop goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from assay.core.types import Json
from assay.engines.base import Tag
from assay.training.batch import PerToken, StepMetrics, TrainBatch, TrainSequence

from ..kl import kl_estimates

if TYPE_CHECKING:
    from assay.training.objective import Objective
    from assay.training.trainer import Trainer

T = TypeVar("T")


class LocalTrainer:
    """``ports.Trainer`` and ``residency.Resident``. Owns the trainer that it is given."""

    def __init__(self, trainer: Trainer, objective: Objective) -> None:
        self.inner = trainer
        self._objective = objective
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="assay-trainer")

    @property
    def weight_version(self) -> str:
        return self.inner.weight_version

    async def step(self, batch: TrainBatch) -> StepMetrics:
        return await self.work(partial(self.inner.step, batch, self._objective))

    async def kl(self, sequences: Sequence[TrainSequence]) -> list[PerToken]:
        return await self.work(partial(kl_estimates, self.inner, sequences))

    async def save(self, extra: Json) -> Path:
        return await self.work(partial(self.inner.save, extra=extra))

    async def export(self, folder: Path) -> int:
        def export() -> int:
            self.inner.export(folder)
            return sum(path.stat().st_size for path in folder.glob("*.safetensors"))

        return await self.work(export)

    async def sleep(self, tags: frozenset[Tag]) -> int:  # noqa: ARG002
        """All of it, whatever the tag: a trainer has no cache that could stay. How much it was is not known here."""
        await self.work(self.inner.sleep)
        return 0

    async def wake(self, tags: frozenset[Tag]) -> int:
        """For training; weights alone can be read where they are, so nothing moves for them."""
        if "kv_cache" in tags:
            await self.work(self.inner.wake)
        return 0

    async def close(self) -> None:
        await asyncio.to_thread(self._thread.shutdown)

    async def work(self, action: Callable[[], T]) -> T:
        """Run ``action`` in the trainer's thread, after what is running there. It is not cut off in the middle."""
        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._thread, action))
