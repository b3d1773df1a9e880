"""What a sample earns whose answer was cut off at the length limit: a decision, not an accident of the judge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

from assay.core.errors import InputError

from .group import LeftOut, Reward

TruncatedAs: TypeAlias = Literal["keep", "mask"] | float
"""``keep``: what the judge said of it. ``mask``: left out of mean, deviation and loss. A number: that reward."""


def parse_truncated_as(text: str) -> TruncatedAs:
    """Read the option's text: ``keep``, ``mask`` or a finite number; InputError otherwise."""
    if text == "keep" or text == "mask":
        return text
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"a truncated answer is treated as {text!r}: say keep, mask, or the reward it gets")
    return value


def settle_truncated(rewards: Sequence[Reward], truncated: Sequence[bool], treat: TruncatedAs) -> list[Reward]:
    """The rewards of a group after the decision. A number stands also where the judgment failed: no judge is needed."""
    if treat == "keep":
        return list(rewards)
    instead: Reward = LeftOut.TRUNCATED if treat == "mask" else treat
    return [instead if cut else reward for reward, cut in zip(rewards, truncated, strict=True)]
