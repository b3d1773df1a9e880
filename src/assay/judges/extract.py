"""Where an answer stands in a text: ``final_answer`` for the verifier, ``math_answer`` for the rule on maths.

Owns: what part of a solution is its answer. Does not own: whether two answers are equal (the judge or the rule engine).
"""

from __future__ import annotations

import re

from .notation import ANY_BOX, closed_boxes

TAIL = 300
"""Characters taken from the end of a text that does not say where its answer is (contracts, section 5)."""

_ANSWER = "Answer:"
_MARKER = re.compile(
    r"answer[ ]{0,2}:|answer is\b[ ]{0,2}:?|answer:?\*\*[ ]{0,2}:?|####|^[ \t*]{0,8}(?-i:A:)|"
    r"答案[ ]{0,2}(?:应该|应当|应)?[ ]{0,2}(?:[:：]|是[:：]?|为[:：]?|等于)",
    re.IGNORECASE | re.MULTILINE,
)
_SENTENCE_END = re.compile(r"\.(?=\s|$)|。")


def final_answer(text: str) -> str:
    """The text after the last ``Answer:``, else the last 300 characters; stripped. The rule of ``dapo-genrm``."""
    _, marker, tail = text.rpartition(_ANSWER)
    return (tail if marker else text[-TAIL:]).strip()


def math_answer(text: str) -> str:
    r"""The answer of a mathematical solution, or of a reference that is a whole solution.

    The last closed ``\boxed{...}`` (or ``\fbox``); else the first line after the last of ``Answer:``, ``answer is``,
    ``####``, a line that starts with ``A:``, ``答案：``, ``答案是``, up to the end of its first sentence; else the last
    300 characters.
    """
    boxes = list(closed_boxes(text, ANY_BOX))
    if boxes:
        return boxes[-1].strip()
    ends = [marker.end() for marker in _MARKER.finditer(text)]
    if not ends:
        return text[-TAIL:].strip()
    line = text[ends[-1] :].lstrip(" \t\r\n*:：").partition("\n")[0]
    return _SENTENCE_END.split(line, maxsplit=1)[0].rstrip().rstrip("*").rstrip(". ")
