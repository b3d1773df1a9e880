"""Soft punishment of answers that come near the length limit (DAPO, arXiv 2503.14476, section 3.4).

With the limit L and a buffer B: nothing up to L - B tokens, then falling linearly to -factor at L, and -factor beyond.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.core.errors import InputError

from .group import LeftOut, Reward


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlongShaping:
    """The limits in tokens; InputError for limits that cannot be meant."""

    max_length: int
    buffer: int
    factor: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.buffer <= self.max_length:
            raise InputError(f"the overlong buffer is {self.buffer!r}: it must lie in 1..{self.max_length} tokens")
        if self.factor < 0:
            raise InputError(f"the overlong factor is {self.factor!r}: a penalty is not negative; leave it out instead")

    def penalty(self, length: int) -> float:
        """What is added to the reward of an answer of ``length`` tokens: between -factor and 0."""
        over = length - (self.max_length - self.buffer)
        return -self.factor * min(max(over / self.buffer, 0.0), 1.0)

    def shaped(self, rewards: Sequence[Reward], lengths: Sequence[int]) -> list[Reward]:
        """The rewards with the penalty added; a reward that is not there stays away."""
        return [
            reward if reward is None or isinstance(reward, LeftOut) else reward + self.penalty(length)
            for reward, length in zip(rewards, lengths, strict=True)
        ]
