"""What a function of the user's returned, as rewards. Pure.

A value that is no finite number is a failure of that sample, never a 0: None, NaN, infinity, a bool, a text, a dict
without the entry that counts. What is wrong with the function itself (a dict and no ``--reward-key``, another number of
rewards than of samples) is an InputError, for it would be so with every sample.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, cast

from assay.core.errors import InputError
from assay.core.types import Failure, FailureKind

from ..sample import Reward


def read_reward(returned: Any, key: str | None, source: str) -> Reward:
    """One reward: a number, a dict with the number under ``key``, a ``Reward``, or a ``Failure``.

    Raises:
        InputError: a dict, and nothing says which entry counts.
    """
    if isinstance(returned, Reward):
        return returned
    if isinstance(returned, Failure):
        return Reward(failure=returned, judge=source)
    if not isinstance(returned, Mapping):
        return _reward(returned, {}, source, "it")
    parts = {str(name): plain(value) for name, value in cast("Mapping[Any, Any]", returned).items()}
    if key is None:
        raise InputError(
            f"{source} returned a dict with {list(parts)}: say with --reward-key which entry is the reward"
        )
    if key not in parts:
        return _failed(f"returned a dict without {key!r} (--reward-key); it has {list(parts)}", parts, source)
    return _reward(returned[key], parts, source, f"entry {key!r}")


def read_rewards(returned: Any, n: int, key: str | None, source: str) -> tuple[Reward, ...]:
    """One reward for each of ``n`` samples.

    Raises:
        InputError: it is no list, or has another length; see also ``read_reward``.
    """
    return tuple(read_reward(one, key, source) for one in listed(returned, n, source))


def listed(returned: Any, n: int, source: str) -> Sequence[Any]:
    """The list that a function of ``n`` samples has to return.

    Raises:
        InputError: it is none, or has another length.
    """
    values: Any = returned.tolist() if hasattr(returned, "tolist") else returned
    if not isinstance(values, list | tuple):
        raise InputError(f"{source} must return a list with one reward per sample, got {type(returned).__name__}")
    found = cast("Sequence[Any]", values)
    if len(found) != n:
        raise InputError(f"{source} returned {len(found)} rewards for {n} samples: return one for each, in order")
    return found


def plain(value: Any) -> Any:
    """A number of numpy or torch as one of Python, anything else as it is."""
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    if hasattr(value, "item") and not isinstance(value, Mapping):
        try:
            return value.item()
        except (TypeError, ValueError, RuntimeError):
            return value
    return value


def _reward(value: Any, parts: Mapping[str, Any], source: str, what: str) -> Reward:
    number = plain(value)
    if number is None:
        return _failed("returned no reward (None)", parts, source)
    if isinstance(number, bool) or not isinstance(number, Real):
        return _failed(f"{what} must be a number, got {number!r:.80} ({type(value).__name__})", parts, source)
    if not math.isfinite(number):
        return _failed(f"{what} is {float(number)}, which is no reward", parts, source)
    return Reward(value=float(number), parts=parts, judge=source)


def _failed(detail: str, parts: Mapping[str, Any], source: str) -> Reward:
    failure = Failure(kind=FailureKind.PARSE_ERROR, detail=f"{source}: {detail}")
    return Reward(failure=failure, parts=parts, judge=source)
