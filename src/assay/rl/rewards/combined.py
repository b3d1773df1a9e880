"""Several rewards added up, each with its weight; every one of them stands in the parts of the reward.

A part that fails makes the whole fail, and the failure names it. An optional one (``required=False``) is left out, and
the others share its weight, in proportion to theirs: leaving it out of the sum would count it as 0.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.core.deadline import Deadline

from ..sample import Prompt, Reward, Sample
from ..tasks import together
from .base import ChecksPrompts, RewardFunction


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One of the rewards. ``weight``: above 0 wherever any part is optional."""

    name: str
    reward: RewardFunction
    weight: float = 1.0
    required: bool = True


class CombinedReward:
    """A ``RewardFunction`` made of others, asked side by side."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = tuple(parts)

    @property
    def grouped(self) -> bool:
        """The whole group is needed as soon as one part needs it."""
        return any(part.reward.grouped for part in self.parts)

    async def start(self) -> None:
        for part in self.parts:
            await part.reward.start()

    async def close(self) -> None:
        await asyncio.gather(*(part.reward.close() for part in self.parts))

    def check(self, prompt: Prompt) -> None:
        """See ``ChecksPrompts``."""
        for part in self.parts:
            if isinstance(part.reward, ChecksPrompts):
                part.reward.check(prompt)

    async def score(self, samples: Sequence[Sample], deadline: Deadline) -> tuple[Reward, ...]:
        columns = await together(part.reward.score(samples, deadline) for part in self.parts)
        return tuple(combine(self.parts, row) for row in zip(*columns, strict=True))


def combine(parts: Sequence[Part], rewards: Sequence[Reward]) -> Reward:
    """The reward of one sample out of those of its parts. Pure."""
    told: dict[str, Any] = {"score": None}
    for part, reward in zip(parts, rewards, strict=True):
        told |= _told(part.name, reward)
    judge = ", ".join(dict.fromkeys(reward.judge for reward in rewards if reward.judge))
    text = "\n\n".join(f"[{p.name}] {r.text}" for p, r in zip(parts, rewards, strict=True) if r.text)
    given = [(part, reward) for part, reward in zip(parts, rewards, strict=True) if reward.value is not None]
    lost = [(part, reward) for part, reward in zip(parts, rewards, strict=True) if reward.failure is not None]
    fatal = next((one for one in lost if one[0].required or not given), None)
    if fatal is not None and fatal[1].failure is not None:
        part, failure = fatal[0], fatal[1].failure
        named = replace(failure, detail=f"part {part.name!r}: {failure.detail}")
        return Reward(failure=named, parts=told, judge=judge, text=text)
    value = math.fsum(part.weight * (reward.value or 0.0) for part, reward in given)
    if lost:
        value *= sum(part.weight for part in parts) / sum(part.weight for part, _ in given)
    return Reward(value=value, parts=told | {"score": value}, judge=judge, text=text)


def _told(name: str, reward: Reward) -> Mapping[str, Any]:
    """A part's value under its name, what else it tells under ``name.key``."""
    further = {f"{name}.{key}": value for key, value in reward.parts.items() if key != "score"}
    failed = {} if reward.failure is None else {f"{name}.failure": str(reward.failure.kind)}
    return {name: reward.value, **further, **failed}
