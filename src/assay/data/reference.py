"""The standard answer in a field of a row, as the text that answers are compared with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from .records import RowError


def read_reference(value: Any, path: str) -> str | None:
    """A text or a number as text; of a list with one of them that one; None where there is none (null, ``""``, NaN).

    Args:
        path: the field, for messages.

    Raises:
        RowError: it is something else, such as a list of several answers: which of them counts is not ours to say.
    """
    if isinstance(value, list | tuple):
        several = cast("Sequence[Any]", value)
        if len(several) > 1:
            raise RowError(
                f"the reference {path!r} holds {len(several)} answers, {value!r:.80}: an answer is compared with one; "
                f"name it, as in {path}.0"
            )
        value = several[0] if several else None
    # An empty cell of a table of numbers comes as NaN.
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise RowError(f"the reference {path!r} must be a text or a number, not {value!r:.80}")
    return str(value)
