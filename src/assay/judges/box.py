r"""The last ``\boxed{}`` of a reply as its parts: exactly as many as are due, or a failure that says why.

Owns: which box counts, where its parts end, and what ``lenient`` forgives about both. Does not own: what the parts mean
(``scores``, ``index``, ``rubric``); how numbers and boxes are spelt (``notation``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from assay.core.types import Failure, FailureKind

from .notation import ANY_BOX, ASCII_FORM, STRICT_BOX, bare, last_box, plain
from .reply import unread

_WHITE = " \t\r\n"
_SEPARATOR = re.compile(r"[,;]")
_LABEL = re.compile(
    r"(?:(?:(?:overall |final )?(?:response|resp|r|answer|candidate|assistant|reply|score)"
    r"|回答|回复|答案|候选|助手|评分|分数)"
    r"[ ]?#?[ ]?(?P<index>[0-9]{1,3}|[a-z])?|#(?P<bare>[0-9]{1,3})|(?P<letter>[a-z]))[ ]?[:=]",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Parts:
    """What stands in the box between the commas; ``flags``: ``multiple_boxes``, ``lenient``."""

    parts: tuple[str, ...]
    flags: tuple[str, ...]


def read_box(
    text: str, said: str, n: int, *, lenient: bool, of: str = "candidates", labelled: bool = True
) -> Parts | Failure:
    """The ``n`` parts of the last box of ``said``, the spoken part of the reply ``text``.

    Args:
        of: what the parts are about, for the message.
        labelled: ``lenient`` takes ``Response 2:`` off the second part.
    """
    box = last_box(said.translate(ASCII_FORM), ANY_BOX) if lenient else last_box(said, STRICT_BOX)
    if box is None:
        return unread(text, said, rf"no \boxed{{}} in the reply, which ends in {quoted(said[-60:])}")
    if box.content is None:
        return Failure(kind=FailureKind.TRUNCATED, detail=r"the last \boxed{ is never closed", text=text)
    parts = [part.strip(_WHITE) for part in box.content.split(",")]
    if lenient:
        parts = [bare(part) for part in _SEPARATOR.split(plain(box.content))]
    if lenient and labelled:
        parts = [_unlabelled(part, place, n).removesuffix("分").strip() for place, part in enumerate(parts)]
    if len(parts) != n:
        return unread(text, said, f"the last box is {quoted(box.content)}: {len(parts)} parts for {n} {of}")
    flags = ["multiple_boxes"] if box.count > 1 else []
    return Parts(tuple(parts), (*flags, "lenient") if lenient else tuple(flags))


def quoted(text: str) -> str:
    """``text`` for a message, cut where it is long."""
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


def _unlabelled(part: str, place: int, n: int) -> str:
    """``part`` without ``Response 2:`` in front; with it where the label is of another place, which is then refused."""
    found = _LABEL.match(part)
    if found is None:
        return part
    index = found["index"] or found["bare"] or found["letter"]
    ours = n == 1 if index is None else index.lower() in (str(place + 1), chr(ord("a") + place) if place < 26 else "")
    return bare(part[found.end() :]) if ours else part
