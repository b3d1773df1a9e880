"""Items that were there before: exactly, or after letter case, marks and white space are left out of account.

Streaming: what is remembered of an item are two hashes of 8 bytes.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from assay.core.types import Item

Twin: TypeAlias = Literal["exact", "normalised"]

_MARKS = re.compile(r"[\W_]+")


@dataclass(slots=True)
class Doubles:
    """Remembers items. ``exact`` and ``normalised`` count those that were turned away.

    Two items are the same if conversation and candidates are, in whatever order the candidates stand; gold and
    reference do not count, so that a pair with both labels is found too.
    """

    exact: int = 0
    normalised: int = 0
    _seen: set[int] = field(default_factory=set[int])
    _alike: set[int] = field(default_factory=set[int])

    def add(self, item: Item) -> Twin | None:
        """Remember ``item``; how it equals an earlier one, None where it is new."""
        exact, alike = _key(item, plain=False), _key(item, plain=True)
        if exact in self._seen:
            self.exact += 1
            return "exact"
        self._seen.add(exact)
        if alike in self._alike:
            self.normalised += 1
            return "normalised"
        self._alike.add(alike)
        return None


def normalised(text: str) -> str:
    """``text`` in small letters of one form, every run of marks and white space one space."""
    return _MARKS.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def _key(item: Item, *, plain: bool) -> int:
    def form(text: str) -> str:
        # Of a text that is all marks nothing would be left, and all such texts would be one.
        return (normalised(text) or text) if plain else text

    turns = [f"{message.role}\x1f{form(message.text)}" for message in item.messages]
    answers = sorted(form(candidate.text) for candidate in item.candidates)
    text = "\x1e".join([*turns, "", *answers])
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
