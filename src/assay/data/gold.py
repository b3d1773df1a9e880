"""Gold labels in all the ways that data sets write them, as one reward per candidate."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, cast

RIGHT = frozenset({"true", "yes", "correct", "right", "no_error"})
WRONG = frozenset({"false", "no", "incorrect", "wrong", "error"})
TIES = frozenset({"tie", "tie (bothbad)", "both_bad", "a=b", "b=a"})
_ORDERED = re.compile(r"\[*\s*([A-Z])\s*(>{1,2}|<{1,2})\s*([A-Z])\s*\]*", re.IGNORECASE)
_NAMED = re.compile(r"(?:(?:model|response|answer|assistant|candidate)[ _-]?)?([A-Z])", re.IGNORECASE)


def one_gold(value: Any) -> float:
    """The reward of one candidate: a number, a boolean, their text, or a word for right or wrong.

    Raises:
        ValueError: it is none of these, or not finite.
    """
    if isinstance(value, str):
        word = value.strip().casefold()
        if word in RIGHT or word in WRONG:
            return float(word in RIGHT)
        try:
            # float() also takes underscores, which no data set means.
            number = math.nan if "_" in word else float(word)
        except ValueError:
            number = math.nan
        if math.isfinite(number):
            return number
    elif isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    raise ValueError(f"gold must be a finite number, a boolean or a word for right or wrong, not {value!r:.80}")


def read_gold(value: Any, n: int) -> tuple[float, ...]:
    """The rewards of ``n`` candidates out of one field.

    A list gives one reward each. For one candidate a single value is its reward. For several, a whole number is the
    index of the best one, from 0, and a label (``A>B``, ``[[B>>A]]``, ``B``, ``model_a``, ``tie``) says who won.

    Raises:
        ValueError: wrong length, an index outside the candidates, an unknown label.
    """
    if isinstance(value, list | tuple):
        values = cast("Sequence[Any]", value)
        if len(values) != n:
            raise ValueError(f"gold holds {len(values)} values for {n} candidates")
        return tuple(one_gold(v) for v in values)
    if n == 1:
        return (one_gold(value),)
    if isinstance(value, bool):
        raise ValueError(f"one boolean ({value}) cannot be the gold of {n} candidates; give a list or an index")
    if isinstance(value, str) and not _is_index(value):
        return _from_label(value, n)
    number = one_gold(value)
    if number != int(number) or not 0 <= number < n:
        raise ValueError(f"gold {value!r:.80} is no index of the best of {n} candidates, counted from 0")
    return _one_hot(int(number), n)


def _from_label(label: str, n: int) -> tuple[float, ...]:
    text = label.strip()
    if text.casefold() in TIES:
        return (0.5,) * n
    ordered = _ORDERED.fullmatch(text)
    if ordered and n == 2:
        left, sign, right = ordered.groups()
        best = left if sign.startswith(">") else right
        if {left.upper(), right.upper()} == {"A", "B"}:
            return _one_hot(_letter(best), 2)
    named = _NAMED.fullmatch(text)
    if named and _letter(named[1]) < n:
        return _one_hot(_letter(named[1]), n)
    raise ValueError(
        f"unknown gold label {label!r:.80} for {n} candidates; known are A>B, A, model_a, tie, or an index"
    )


def _is_index(text: str) -> bool:
    return text.strip().lstrip("+-").replace(".", "", 1).isdecimal()


def _letter(text: str) -> int:
    return ord(text.upper()) - ord("A")


def _one_hot(best: int, n: int) -> tuple[float, ...]:
    return tuple(float(i == best) for i in range(n))
