"""Dotted paths into rows: ``reward_model.ground_truth``, ``choices.0.text``, ``losers.answer`` (of each in a list)."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast


def find(row: Any, path: str) -> Any:
    """The value at ``path``; None when it is absent or null.

    A key that itself holds dots is found first. A number picks from a list; a name on a list picks from each of its
    objects and gives the list of what they hold.
    """
    if isinstance(row, Mapping):
        table = cast("Mapping[str, Any]", row)
        if path in table:
            return table[path]
        head, dot, rest = path.partition(".")
        while dot:
            if head in table:
                inner = find(table[head], rest)
                if inner is not None:
                    return inner
            more, dot, rest = rest.partition(".")
            head = f"{head}.{more}"
        return None
    if isinstance(row, list | tuple):
        return _in_list(cast("Sequence[Any]", row), path)
    return None


def paths(row: Mapping[str, Any], prefix: str = "", depth: int = 3) -> Iterator[str]:
    """The dotted paths of a row, objects opened down to ``depth``; what a user may name."""
    for key, value in row.items():
        if isinstance(value, Mapping) and depth > 1:
            yield from paths(cast("Mapping[str, Any]", value), f"{prefix}{key}.", depth - 1)
        else:
            yield f"{prefix}{key}"


def closest(name: str, known: Sequence[str]) -> str | None:
    """The known path that ``name`` most likely meant, by the whole path, its last part, or letter case."""
    folded = {path.casefold(): path for path in reversed(known)}
    tails = {path.rsplit(".", 1)[-1].casefold(): path for path in reversed(known)}
    for table in (folded, tails):
        near = difflib.get_close_matches(name.casefold(), list(table), n=1, cutoff=0.6)
        if near:
            return table[near[0]]
    return None


def _in_list(values: Sequence[Any], path: str) -> Any:
    head, _, rest = path.partition(".")
    if head.lstrip("-").isdecimal():
        index = int(head)
        if not -len(values) <= index < len(values):
            return None
        return find(values[index], rest) if rest else values[index]
    found = [find(value, path) for value in values]
    return found if found and all(value is not None for value in found) else None
