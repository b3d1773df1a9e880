"""``--custom-rm-path``: a reward function of the user's, one sample at a time or (``--group-rm``) a group at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.core.deadline import Deadline
from assay.core.types import Failure

from ..sample import Reward, Sample
from ..tasks import together
from .calling import UserFunction
from .returned import read_reward, read_rewards
from .seen import kept, seen


class CustomReward:
    """A ``RewardFunction`` around ``fn(args, sample)``, or with ``grouped`` around ``fn(args, samples)``."""

    def __init__(self, function: UserFunction, args: Any, *, grouped: bool = False, key: str | None = None) -> None:
        self._function = function
        self._args = args
        self._grouped = grouped
        self._key = key

    @property
    def grouped(self) -> bool:
        return self._grouped

    async def start(self) -> None:
        """Nothing: the function was loaded when this was built."""

    async def close(self) -> None:
        await self._function.close()

    async def score(self, samples: Sequence[Sample], deadline: Deadline) -> tuple[Reward, ...]:
        name = self._function.name
        if not self._grouped:
            return tuple(await together(self._one(sample, deadline) for sample in samples))
        shown = [seen(sample) for sample in samples]
        returned = await self._function.call(self._args, shown, deadline=deadline)
        if isinstance(returned, Failure):
            return tuple(Reward(failure=returned, judge=name) for _ in samples)
        rewards = read_rewards(returned, len(samples), self._key, name)
        return tuple(kept(reward, one, name) for reward, one in zip(rewards, shown, strict=True))

    async def _one(self, sample: Sample, deadline: Deadline) -> Reward:
        shown = seen(sample)
        returned = await self._function.call(self._args, shown, deadline=deadline)
        return kept(read_reward(returned, self._key, self._function.name), shown, self._function.name)
