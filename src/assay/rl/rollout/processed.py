"""A source whose batches go through the user's hook (``--custom-reward-post-process-path``) before training."""

from __future__ import annotations

from dataclasses import replace

from assay.core.types import Json

from ..ports import RolloutBatch, Scoring, Source


class ProcessedSource:
    """``ports.Source`` around another. The filter of dead groups saw the rewards before the hook."""

    def __init__(self, source: Source, hook: Scoring) -> None:
        self._source = source
        self._hook = hook

    async def next(self, step: int, version: str) -> RolloutBatch:
        batch = await self._source.next(step, version)
        return replace(batch, groups=await self._hook.score(batch.groups))

    def state(self) -> Json:
        return self._source.state()

    async def close(self) -> None:
        await self._source.close()
