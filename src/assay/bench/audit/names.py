"""Whether two names of a model mean the same one."""

from __future__ import annotations

from collections.abc import Sequence


def is_own(author: str | None, own: Sequence[str]) -> bool:
    """Whether an author is one of ``own``: letter case and what stands before the last slash do not count."""
    return author is not None and _short(author) in {_short(name) for name in own}


def _short(name: str) -> str:
    return name.rstrip("/").rsplit("/", 1)[-1].casefold()
