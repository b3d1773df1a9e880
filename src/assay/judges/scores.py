r"""Reading a judge's text: ``\boxed{7, 5}`` (``parse_scores``), a label (``parse_label``), a number (``parse_number``).

Owns: the parser rules, strict by default. Does not own: thinking, refusals and cut-offs (``reply``); the parts of a box
(``box``); how numbers and boxes are spelt (``notation``).

The last box is the verdict. It holds exactly n numbers that are on the scale, or there is no verdict and the failure
says why: nothing is padded, cut, guessed from the text around it or taken from an earlier box. ``lenient`` forgives how
a verdict is written, never what it says; what strict reading takes, lenient reading takes too, and what only lenient
reading takes is flagged ``lenient``. A small overshoot is clipped and flagged; a number of another scale is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, TypeAlias

from assay.core.errors import InputError
from assay.core.types import Failure, FailureKind, Outcome, Verdict

from .box import quoted, read_box
from .notation import ANY_BOX, ASCII_FORM, balanced, number, plain
from .reply import outcome_is, spoken, unread

Mode: TypeAlias = Literal["1-10", "0-1"]

RULES_VERSION = 1
"""Part of every judge's identity: raise it when a rule of reading, showing or extracting changes."""

OVERSHOOT = 5.0
"""How far outside 1 to 10 a number may lie and still be clipped (11, 0, -3); beyond it another scale was used (85)."""


def parse_scores(text: str, n: int, *, mode: Mode = "1-10", lenient: bool = False) -> Outcome:
    """The ``n`` scores of a reply, in the order in which they are written.

    Flags: ``clipped``, ``non_integer``, ``multiple_boxes``, ``lenient``. Kinds of failure: parse_error, refused, and
    truncated (a thinking block or the last box never ends).

    Raises:
        InputError: n is below 1.
    """
    if n < 1:
        raise InputError(f"cannot read scores of {n!r} candidates; n must be 1 or more")
    said = spoken(text)
    if isinstance(said, Failure):
        return said
    strict = _boxed(text, said, n, mode, lenient=False)
    if isinstance(strict, Verdict):
        return strict
    loose = _boxed(text, said, n, mode, lenient=True)
    return loose if lenient else _choose(strict, loose, lenient=False)


def parse_label(text: str, labels: Mapping[str, float], *, lenient: bool = False) -> Outcome:
    """The score of the label that is the whole reply (outside thinking, white space stripped).

    ``lenient`` also takes a label in bold, quotes or a box, with a full stop, in other letter case, in full width.
    """
    said = spoken(text)
    if isinstance(said, Failure):
        return said
    if said in labels:
        return Verdict(scores=(labels[said],), text=text)
    stripped = _undress(said)
    folded = [score for label, score in labels.items() if label.casefold() == stripped.casefold()]
    exact = [labels[stripped]] if stripped in labels else folded
    loose = Verdict(scores=(exact[0],), flags=("lenient",), text=text) if len(exact) == 1 else None
    detail = f"the reply is {quoted(said)}, not one of {', '.join(map(repr, labels))}"
    return _choose(unread(text, said, detail), loose, lenient)


def parse_number(text: str, low: float, high: float, *, lenient: bool = False) -> Outcome:
    """The number between ``low`` and ``high`` that is the whole reply (outside thinking); never clipped.

    ``lenient`` also takes it in bold, quotes or a box, with a full stop, in full width.
    """
    said = spoken(text)
    if isinstance(said, Failure):
        return said
    readings = (number(said), number(_undress(said)))
    strict, loose = (
        Verdict(scores=(value + 0.0,), flags=flags, text=text) if value is not None and low <= value <= high else None
        for value, flags in zip(readings, ((), ("lenient",)), strict=True)
    )
    detail = f"the reply is {quoted(said)}, not a number from {low:g} to {high:g}"
    return strict or _choose(unread(text, said, detail), loose, lenient)


def _choose(strict: Failure, loose: Outcome | None, lenient: bool) -> Outcome:
    """The lenient verdict where it is wanted, else the strict failure with a hint at what leniency would have read."""
    if not isinstance(loose, Verdict) or loose.scores is None:
        return strict
    if lenient:
        return loose
    if not outcome_is(strict, FailureKind.PARSE_ERROR):
        return strict
    values = ", ".join(f"{score:g}" for score in loose.scores)
    return replace(strict, detail=f"{strict.detail} (lenient reading would take {values})")


def _boxed(text: str, said: str, n: int, mode: Mode, *, lenient: bool) -> Outcome:
    box = read_box(text, said, n, lenient=lenient)
    if isinstance(box, Failure):
        return box
    flags: list[str] = []
    scores: list[float] = []
    for part in box.parts:
        value = number(part)
        if value is None:
            return unread(text, said, f"{quoted(part)} in the last box is not a number")
        placed = _placed(value, mode)
        if placed is None:
            scale = "0 or 1" if mode == "0-1" else "on the scale 1 to 10"
            return unread(text, said, f"{quoted(part)} in the last box is not {scale}")
        flags += ["clipped"] if placed != value else []
        flags += ["non_integer"] if not value.is_integer() else []
        scores.append(placed)
    return Verdict(scores=tuple(scores), flags=tuple(dict.fromkeys((*flags, *box.flags))), text=text)


def _placed(value: float, mode: Mode) -> float | None:
    """``value`` on the scale, clipped where the overshoot is small; None where it shows another scale."""
    if mode == "0-1":
        return value + 0.0 if value in (0.0, 1.0) else None
    if not 1 - OVERSHOOT <= value <= 10 + OVERSHOOT:
        return None
    return min(max(value, 1.0), 10.0)


def _undress(said: str) -> str:
    """A one-word reply without what surrounds it: full stop, emphasis, quotes, a box."""
    text = said.translate(ASCII_FORM)
    for _ in range(2):
        text = plain(text.strip().rstrip(".!。"))
        found = ANY_BOX.match(text)
        if found is not None and balanced(text, found.end()) == len(text) - 1:
            text = text[found.end() : -1]
    return text
