"""How numbers and boxes are written: the number grammar, the box finder, and the spellings that only ``lenient`` takes.

Owns: what counts as a number and as a box. Does not own: which box counts, how many numbers are due, which scale
(``scores``). Everything here is linear in the length of the text: replies come from models, and some are hostile.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

ASCII_FORM: dict[int, int] = {
    **{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)},
    0x3000: ord(" "),
    0x3001: ord(","),
    0x2212: ord("-"),
}
"""Full-width forms, the ideographic comma and space, and the minus sign, one character for one."""

STRICT_BOX = re.compile(r"\\boxed\{")
ANY_BOX = re.compile(
    r"(?:\\{1,2}(?:boxed|fbox|framebox)|(?<![A-Za-z\\])boxed|\x08oxed|\x0cbox|\x0cramebox)[ \t]{0,4}\{"
)
r"""What ``lenient`` takes for a box, after ``ASCII_FORM``: also ``\fbox`` and ``\framebox``, a lost backslash, and the
backspace or form feed that a careless writer of JSON or CSV makes out of ``\b`` and ``\f``."""

_BRACE = re.compile(r"[{}]")
_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(?:\.[0-9]{1,15})?")
_WRAPPED = re.compile(r"\\(?:text|textbf|textrm|mathbf|mathrm|mathit|bf|rm)[ ]?\{([^{}]*)\}")
_SPACING = re.compile(r"\\[,;:! ]|\\q?quad(?![A-Za-z])|~")
_PAIRS = ("[]", "()", "{}", "$$", "**", "``", '""', "''")


@dataclass(frozen=True, slots=True)
class Box:
    """The last box of a text. ``content`` is None when it is never closed; ``count`` counts all boxes of the text."""

    content: str | None
    count: int


def number(text: str) -> float | None:
    """A decimal number in ASCII digits, nothing else: no exponent, no ``nan``, ``inf``, ``1_0``, ``5.`` or ``.5``."""
    return float(text) if _NUMBER.fullmatch(text) else None


def balanced(text: str, start: int) -> int | None:
    """Where the brace that opened just before ``start`` closes; None when it does not. Escaped braces count too."""
    depth = 1
    for brace in _BRACE.finditer(text, start):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return brace.start()
    return None


def last_box(text: str, pattern: re.Pattern[str] = STRICT_BOX) -> Box | None:
    """The box that opens last in ``text``, or None where there is none."""
    start, count = -1, 0
    for found in pattern.finditer(text):
        start, count = found.end(), count + 1
    if count == 0:
        return None
    stop = balanced(text, start)
    return Box(None if stop is None else text[start:stop], count)


def closed_boxes(text: str, pattern: re.Pattern[str]) -> Iterator[str]:
    """The contents of all boxes that are closed, in the order in which they close; linear for any nesting."""
    opened = {found.end() - 1 for found in pattern.finditer(text)}
    stack: list[int] = []
    for brace in _BRACE.finditer(text):
        if brace.group() == "{":
            stack.append(brace.start())
        elif stack and (start := stack.pop()) in opened:
            yield text[start + 1 : brace.start()]


def plain(text: str) -> str:
    r"""``text`` without the typography that carries no meaning: ``\text{7}``, LaTeX spacing, brackets around it all."""
    for _ in range(3):
        text = _WRAPPED.sub(r"\1", text)
    return bare(_SPACING.sub(" ", text))


def bare(text: str) -> str:
    """``text`` without outer white space, emphasis marks and pairs of brackets or quotes (at most four layers)."""
    for _ in range(4):
        text = text.strip().strip("*").strip()
        if len(text) >= 2 and text[0] + text[-1] in _PAIRS and _level(text[1:-1], text[0], text[-1]):
            text = text[1:-1]
    return text.strip()


def _level(inner: str, opening: str, closing: str) -> bool:
    """Whether no bracket in ``inner`` belongs to one outside it: ``(7), (5)`` is not one pair around ``7), (5``."""
    if opening == closing:
        return opening not in inner
    depth = 0
    for char in inner:
        depth += (char == opening) - (char == closing)
        if depth < 0:
            return False
    return depth == 0
