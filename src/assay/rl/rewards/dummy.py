"""``dummy``: no reward yet. What defer-swap puts in the place of an inline reward; never counted as a judgment."""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.deadline import Deadline

from ..sample import Reward, Sample
from .failures import DUMMY


class DummyReward:
    """0.0 for every sample, marked as what it is."""

    grouped = False

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def score(self, samples: Sequence[Sample], deadline: Deadline) -> tuple[Reward, ...]:  # noqa: ARG002
        return tuple(Reward(value=0.0, judge=DUMMY) for _ in samples)
