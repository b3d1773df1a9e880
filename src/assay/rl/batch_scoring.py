"""Rewards for a whole batch after its rollout (defer-swap): as many at a time as the rollout has places."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from .ports import Scoring
from .rollout.groups import Groups
from .sample import Group


class DeferredScoring:
    """``ports.Scoring`` over the reward function that ``groups`` holds."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    async def score(self, groups: Sequence[Group]) -> tuple[Group, ...]:
        judged = await asyncio.gather(*(self._groups.judged(group.samples) for group in groups))
        return tuple(replace(group, samples=tuple(own)) for group, own in zip(groups, judged, strict=True))


class Chained:
    """``ports.Scoring`` of several, one after the other: each sees what the ones before it gave."""

    def __init__(self, *links: Scoring) -> None:
        self._links = links

    async def score(self, groups: Sequence[Group]) -> tuple[Group, ...]:
        for link in self._links:
            groups = await link.score(groups)
        return tuple(groups)
