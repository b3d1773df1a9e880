"""Texts that are no Unicode: half of a surrogate pair, which JSON can write (``"\\ud83d"``) and nothing can encode.

Such a text would fail in a tokenizer, a hash or a file, far from the row that it came from. Files are UTF-8, so only
JSON's escapes bring one in: whoever reads JSON asks here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast


def may_be_unpaired(text: str) -> bool:
    """Whether JSON text has an escape that could be half of a pair; cheap, so that most rows are not looked through."""
    return "\\ud" in text or "\\uD" in text


def unpaired(value: Any) -> str | None:
    """What is wrong with the first text in ``value`` that is no Unicode, and where it stands; None: all are."""
    rest: list[tuple[str, Any]] = [("", value)]
    while rest:
        path, one = rest.pop()
        if isinstance(one, str):
            reason = _broken(one)
            if reason:
                return f"{path!r} {reason}" if path else reason
        elif isinstance(one, Mapping):
            table = cast("Mapping[str, Any]", one)
            for key in table:
                if _broken(key):
                    return f"the name of the field {key!r} {_broken(key)}"
            inside = [(f"{path}.{key}" if path else key, inner) for key, inner in table.items()]
            rest += reversed(inside)
        elif isinstance(one, list | tuple):
            several = enumerate(cast("Sequence[Any]", one))
            inside = [(f"{path}.{place}" if path else str(place), inner) for place, inner in several]
            rest += reversed(inside)
    return None


def _broken(text: str) -> str | None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        return (
            f"holds half of a surrogate pair ({text[error.start]!r}, character {error.start + 1}), which is no text: "
            "write the whole pair or the character itself, or take it out"
        )
    return None
