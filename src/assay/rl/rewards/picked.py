"""Another entry of what a reward function told as the reward: what evaluation counts (``--eval-reward-key``). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..sample import Group, Reward
from .returned import read_reward


class Picked:
    """``ports.Scoring`` over groups that are judged: their rewards become the entry ``key`` of their parts."""

    def __init__(self, key: str) -> None:
        self._key = key

    async def score(self, groups: Sequence[Group]) -> tuple[Group, ...]:
        return tuple(
            replace(
                group,
                samples=tuple(
                    one if one.reward is None else replace(one, reward=picked(one.reward, self._key))
                    for one in group.samples
                ),
            )
            for group in groups
        )


def picked(reward: Reward, key: str) -> Reward:
    """The reward that the entry ``key`` is; a failure where there is none, and the judge's own where it failed."""
    found = read_reward(dict(reward.parts), key, reward.judge or "the reward function")
    if found.failure is not None:
        return reward if reward.failure is not None else replace(found, text=reward.text)
    return replace(found, judge=reward.judge, text=reward.text)
