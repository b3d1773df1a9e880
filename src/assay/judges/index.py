r"""Reading which candidate a judge calls the best: ``\boxed{2}``.

Owns: what counts as the name of a candidate. Does not own: the box (``box``), the candidates' order (``pairwise``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from assay.core.types import Failure, FailureKind

from .box import quoted, read_box
from .reply import outcome_is, spoken, unread

TIE = 0
"""What stands in the box, in the form that allows it, where no candidate is better than the others."""

_STRICT = re.compile(r"[0-9]{1,3}")
_LENIENT = re.compile(
    r"(?:(?:best |better )?(?:response|answer|candidate|reply)|回答|回复|答案)?[ ]?[:#]?[ ]?([0-9]{1,3})(?:\.0)?\.?",
    re.IGNORECASE,
)
_TIES = frozenset({"tie", "平局", "平手"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """``place``: of the best candidate as it was shown, from 0; None for a tie. ``flags``: as for scores."""

    place: int | None
    flags: tuple[str, ...]
    text: str


def parse_index(text: str, n: int, *, tie: bool = False, lenient: bool = False) -> Named | Failure:
    """The one candidate that the last box of a reply names by its number, from 1 to ``n``; with ``tie`` also 0.

    ``lenient`` also takes ``Response 2``, ``#2`` and, where ties are allowed, the word; a letter is never taken, since
    the candidates are shown by numbers.
    """
    said = spoken(text)
    if isinstance(said, Failure):
        return said
    strict = _named(text, said, n, tie, lenient=False)
    if isinstance(strict, Named):
        return strict
    loose = _named(text, said, n, tie, lenient=True)
    if lenient:
        return loose
    if isinstance(loose, Named) and outcome_is(strict, FailureKind.PARSE_ERROR):
        would = "a tie" if loose.place is None else str(loose.place + 1)
        return replace(strict, detail=f"{strict.detail} (lenient reading would take {would})")
    return strict


def _named(text: str, said: str, n: int, tie: bool, *, lenient: bool) -> Named | Failure:
    box = read_box(text, said, 1, lenient=lenient, of="choice", labelled=False)
    if isinstance(box, Failure):
        return box
    part = box.parts[0]
    if lenient and tie and part.casefold() in _TIES:
        return Named(place=None, flags=box.flags, text=text)
    found = _LENIENT.fullmatch(part) if lenient else _STRICT.fullmatch(part)
    index = -1 if found is None else int(found[found.lastindex or 0])
    if index == TIE and tie:
        return Named(place=None, flags=box.flags, text=text)
    if not 1 <= index <= n:
        known = f"one of the numbers {TIE if tie else 1} to {n}"
        return unread(text, said, f"{quoted(part)} in the last box is not {known}")
    return Named(place=index - 1, flags=box.flags, text=text)
