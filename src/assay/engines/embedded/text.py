"""A reply as it grows: token ids in, whole characters out, cut before a stop string. No tokenizer of its own."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

_REPLACEMENT = "\ufffd"
_LONGEST_PENDING = 8
"""A character has at most four bytes: more tokens than this without one are bytes that never become text."""


class Reply:
    """The ids and the text of one sample.

    Text grows by whole characters: bytes of a character that is not complete are held back, and left out if the reply
    ends there. After a stop string was found, ``ids`` are those that the text before it needs.
    """

    def __init__(self, decode: Callable[[Sequence[int]], str], stops: Sequence[str]) -> None:
        self.ids: list[int] = []
        self.text = ""
        self._decode = decode
        self._stops = [stop for stop in stops if stop]
        self._starts: list[int] = []
        """Length of the text when each id came: an id belongs to the text before place c if it came before c."""
        self._settled = 0
        self._context = 0
        self._told = (0, 0)

    def push(self, token: int) -> bool:
        """Take one token; True when the text now holds a stop string (and is cut before it)."""
        self._add(token)
        before = len(self.text)
        self.text += self._grown(final=False)
        return self._cut(before)

    def end(self, token: int) -> None:
        """Take the token that ends the text; it has an id and no characters."""
        self.finish()
        self._add(token)

    def finish(self) -> bool:
        """No token follows. True when the last characters complete a stop string."""
        before = len(self.text)
        self.text += self._grown(final=True)
        return self._cut(before)

    def news(self, *, final: bool) -> tuple[str, int, int]:
        """What was not told yet: characters, and the range of ids. Holds back what may become a stop string."""
        chars, ids = self._told
        upto = len(self.text) if final else len(self.text) - self._maybe_stop()
        known = len(self.ids) if final else bisect_left(self._starts, upto)
        self._told = (max(upto, chars), max(known, ids))
        return self.text[chars:upto], ids, self._told[1]

    def _add(self, token: int) -> None:
        self.ids.append(token)
        self._starts.append(len(self.text))

    def _grown(self, *, final: bool) -> str:
        """Decoded beside the ids before, since the first token of a text may lose its leading space."""
        if self._settled == len(self.ids):
            return ""
        known = self._decode(self.ids[self._context : self._settled])
        grown = self._decode(self.ids[self._context :])[len(known) :]
        if grown.endswith(_REPLACEMENT) and len(self.ids) - self._settled < _LONGEST_PENDING:
            if not final:
                return ""
            grown = grown.rstrip(_REPLACEMENT)
        self._context, self._settled = self._settled, len(self.ids)
        return grown

    def _cut(self, before: int) -> bool:
        found: list[int] = []
        for stop in self._stops:
            place = self.text.find(stop, max(0, before - len(stop) + 1))
            found += [place] if place >= 0 else []
        if not found:
            return False
        self.text = self.text[: min(found)]
        kept = bisect_left(self._starts, len(self.text))
        del self.ids[kept:], self._starts[kept:]
        self._settled = min(self._settled, kept)
        return True

    def _maybe_stop(self) -> int:
        """How many characters at the end could be the beginning of a stop string."""
        longest = 0
        for stop in self._stops:
            for size in range(min(len(stop) - 1, len(self.text)), longest, -1):
                if self.text.endswith(stop[:size]):
                    longest = size
                    break
        return longest
