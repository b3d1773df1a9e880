"""Tables of short words, written as one text."""

from __future__ import annotations


def split_words(text: str) -> tuple[str, ...]:
    """The words of a text."""
    return tuple(text.split())
