"""The pool's proof of identity: all of its engines, at every start and wake, are held against one recorded canary.

The first engine to answer after a start or an update of the weights makes the record. Does not act on what it finds.
"""

from __future__ import annotations

import logging

from assay.core.errors import GenerationError
from assay.core.types import FailureKind
from assay.engines.base import Engine
from assay.engines.canary import CanaryConfig, Drift, Said, compare, run_canary

log = logging.getLogger(__name__)

_UNASKABLE = (FailureKind.BAD_REQUEST, FailureKind.CONTEXT_OVERFLOW)


class Proof:
    """What the engines of a pool have to say, and which version of the weights they have to have."""

    def __init__(self, config: CanaryConfig | None) -> None:
        self.version: str | None = None
        self.last: Drift | None = None
        """The last comparison, for metrics."""
        self._config = config
        self._recorded: tuple[Said, ...] | None = None

    def expect(self, version: str) -> None:
        """Other weights are in: the next canary is recorded."""
        self.version, self._recorded = version, None

    async def prove(self, engine: Engine) -> Drift:
        """Whether this engine is the one that was recorded. Raises GenerationError where it does not answer."""
        version = engine.info.weight_version
        if self.version is None:
            self.version = version
        if version != self.version:
            return Drift(reason=f"it has weights {version!r}, the others have {self.version!r}")
        if self._config is None:
            return Drift(reason=None)
        try:
            said = await run_canary(engine, self._config)
        except GenerationError as error:
            if error.kind not in _UNASKABLE or self._recorded is not None:
                raise
            log.warning("the canary cannot be asked of %s, it wakes unproven: %s", engine.info.model, error.detail)
            return Drift(reason=None)
        self.last = compare(said if self._recorded is None else self._recorded, said, self._config)
        if self._recorded is None and self.last.passed:
            self._recorded = said
        return self.last
