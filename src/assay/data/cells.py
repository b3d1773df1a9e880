"""JSON text where JSON itself cannot stand: in the cell of a table."""

from __future__ import annotations

import json
from typing import Any

from .records import RowError
from .unpaired import may_be_unpaired, unpaired


def from_cell(value: Any, *openings: str) -> Any:
    """What the JSON text ``value`` holds; ``value`` itself where it is no text that begins like this, or no JSON.

    Raises:
        RowError: a text within is no Unicode.
    """
    if not (isinstance(value, str) and value.lstrip().startswith(openings)):
        return value
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return value
    broken = unpaired(found) if may_be_unpaired(value) else None
    if broken is not None:
        raise RowError(f"the JSON text {value!r:.80}: {broken}")
    return found
