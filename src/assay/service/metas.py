"""The meta RMs of a service, live: started before the judges, shared by all instances, told in health and metrics.

Owns their start and stop. Does not own which votes they are asked about (``scoring``).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from assay.core.errors import AssayError
from assay.core.types import Json
from assay.engines.base import EngineHealth
from assay.scoring.meta import MetaScorer

log = logging.getLogger(__name__)


class Metas:
    """The meta RMs by name."""

    def __init__(self, scorers: Mapping[str, MetaScorer]) -> None:
        self.scorers = dict(scorers)
        self.errors: dict[str, AssayError] = {}
        self._started = False

    async def start(self) -> None:
        """Start them one after the other; one that cannot start says why, and the service lives on."""
        for name, scorer in self.scorers.items():
            try:
                await scorer.start()
            except AssayError as error:
                self.errors[name] = error
                log.error("meta RM %r could not start: %s", name, error)
        self._started = True

    async def close(self) -> None:
        """Close them. What fails to close does not keep the others open; the first fault is raised then."""
        results = await asyncio.gather(*(one.close() for one in self.scorers.values()), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result

    async def health(self, timeout_s: float) -> dict[str, EngineHealth]:
        """How each of them is; never takes longer than ``timeout_s``."""
        told = await asyncio.gather(*(self._health(name, timeout_s) for name in self.scorers))
        return dict(zip(self.scorers, told, strict=True))

    def metrics(self, told: Mapping[str, EngineHealth]) -> dict[str, Json]:
        """Their part of ``/metrics`` in JSON."""
        return {
            name: {
                "model": scorer.info.model,
                "weight_version": scorer.info.weight_version,
                "state": told[name].state,
                **scorer.counts.snapshot(),
                "engine": dict(told[name].detail),
            }
            for name, scorer in self.scorers.items()
        }

    async def _health(self, name: str, timeout_s: float) -> EngineHealth:
        if name in self.errors:
            return EngineHealth(healthy=False, state="failed", error=str(self.errors[name]))
        if not self._started:
            return EngineHealth(healthy=False, state="starting")
        try:
            async with asyncio.timeout(timeout_s):
                return await self.scorers[name].engine.health()
        except TimeoutError:
            return EngineHealth(healthy=False, state="silent", error=f"the engine said nothing within {timeout_s:g} s")
        except AssayError as error:
            return EngineHealth(healthy=False, state="lost", error=str(error))
