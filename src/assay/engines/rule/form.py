"""The written form of a final answer: what sort of thing it is, and one normal spelling of it.

Pure text work, so that the parent process can settle equal spellings without a child. Owns the decision "is this an
expression as a whole, or words?"; does not own algebra (``equality``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from .units import unit_name

Sort = Literal["expression", "quantity", "text", "prose"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A final answer, read once.

    ``sort``: ``expression`` (mathematics as a whole), ``quantity`` (a number with a unit), ``text`` (a word, a date, a
    time of day, a numeral in a named base: compared as text), ``prose`` (words with a number somewhere among them).
    ``text``: the normal spelling. ``math``: the expression without its unit; empty for text and prose.
    """

    sort: Sort
    text: str
    math: str = ""
    unit: str = ""


_NUMBER = r"[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:\s*/\s*\d+)?"
_CURRENCY = r"[$€£¥￥]"
_LEAD = re.compile(r"^(?:so )?(?:the )?(?:final )?(?:answer(?: is)?(?:: ?| )|答案[是为]?[:：]? ?)", re.IGNORECASE)
_ENCLOSED = (
    re.compile(r"\\boxed\{(?P<inner>.*)\}"),
    re.compile(r"\*\*(?P<inner>[^*]+)\*\*"),
    re.compile(r"\$\$(?P<inner>[^$]+)\$\$"),
    re.compile(r"\$(?P<inner>[^$]+)\$"),
    re.compile(r"\\\((?P<inner>(?:(?!\\\)).)+)\\\)", re.DOTALL),
    re.compile(r"\\\[(?P<inner>(?:(?!\\\]).)+)\\\]", re.DOTALL),
)
_TEXT_COMMAND = re.compile(r"\\(?:text|textbf|textit|mathrm|mbox|operatorname)\s*\{(?P<inner>[^{}]*)\}")
_SPELLINGS = (
    (re.compile(r"(?<!\\)\\[!,;:]|\\left(?![a-z])|\\right(?![a-z])|\{\}"), ""),
    (re.compile(r"(?<!\\)\\ |~"), " "),
    (re.compile(r"\\[dt]frac"), r"\\frac"),
    (re.compile(r"\\([%$])"), r"\1"),
    (re.compile(r"(?<=\d)\{,\}(?=\d)"), ","),
    (re.compile(r"\^\s*\{?\s*\\circ\s*\}?|°"), " degrees"),
    (re.compile(r"(?<=\d) ?(?:percent|pct)(?![a-z])", re.IGNORECASE), "%"),
    (re.compile(r"√\s*(\w+)"), r"\\sqrt{\1}"),
    (re.compile(r"√\s*\(([^()]*)\)"), r"\\sqrt{\1}"),
    (re.compile(r"(?<![A-Za-z\\])(pi|sin|cos|tan|cot|sec|csc|ln|log|exp)(?![A-Za-z])"), r"\\\1"),
    (re.compile(r"\*\*"), "^"),
)
_CHARACTERS = str.maketrans({"½": " 1/2", "¼": " 1/4", "¾": " 3/4", "²": "^2", "³": "^3", "\u2212": "-", "\u2013": "-"})
_SCIENTIFIC = re.compile(r"([-+]?\d+(?:\.\d+)?)[eE]([-+]?\d+)")
_THOUSANDS = re.compile(rf"(?:{_CURRENCY}\s*)?[-+]?\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?")
_LOOSE_SPACE = re.compile(r"(?<![^\W_])\s+|\s+(?![^\W_])")
_MIXED = re.compile(r"(-?)(\d{1,30})\s+(\d{1,30})/(\d{1,30})")
_REPEATING = re.compile(r"(-?)(\d{0,30})\.(\d{0,30})\\overline\{(\d{1,30})\}")
_AS_TEXT = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}/\d{1,2}/\d{2,4}"  # dates
    r"|\d{1,2}:\d{2}(?::\d{2})?(?:\s*[ap]\.?m\.?)?"  # times of day
    r"|[0-9A-F]+_\{?\d+\}?",  # numerals in a named base
    re.IGNORECASE,
)
_QUANTITY = re.compile(
    rf"(?P<sign>{_CURRENCY}?)\s*(?P<number>{_NUMBER}|-?\\frac\s*(?:\d|\{{\d+\}})\s*(?:\d|\{{\d+\}}))"
    rf"(?P<space>\s*)(?P<unit>[^\W\d_][^\d=+*^\\]*|{_CURRENCY})?(?:\^\{{?(?P<power>[23])\}}?)?"
)
_COMMAND = re.compile(r"\\(?:begin|end)\s*\{\w+\*?\}|\\[A-Za-z]+")
_FUNCTIONS = re.compile(
    r"(?<![A-Za-z])(?:sin|cos|tan|cot|sec|csc|arc\w+|log|ln|exp|sqrt|max|min|gcd|lcm|mod|or|and)(?![a-z])"
)
_WORD = re.compile(r"[^\W\d_]{3,}|[\u3040-\u30ff\u3400-\u9fff]")
_MATHEMATICAL = re.compile(r"[\d+*/^=<>|\\(){}\[\]≤≥×÷π∞]|^-?[A-Za-z]$|[A-Za-z]\s*[-,]\s*[A-Za-z]")


def read_form(answer: str) -> Form:
    """The form of a final answer; never raises."""
    bare = _bare(answer)
    spelled = _TEXT_COMMAND.sub(lambda found: f" {found['inner']} ", bare)
    text = normal_text(spelled)
    if _AS_TEXT.fullmatch(text):
        return Form(sort="text", text=text)
    if quantity := _quantity(spelled.strip(), text):
        return quantity
    words = _WORD.search(_FUNCTIONS.sub(" ", _COMMAND.sub(" ", spelled)))
    if words is None and _MATHEMATICAL.search(text):
        return Form(sort="expression", text=text, math=_rewritten(bare))
    return Form(sort="prose" if re.search(r"\d|\\[a-z]", text) else "text", text=text)


def normal_text(text: str) -> str:
    """``text`` without differences that carry no meaning: spaces beside signs, digit grouping, the final full stop."""
    text = " ".join(text.split()).rstrip("。.").strip()
    text = _LOOSE_SPACE.sub("", text)
    return text.replace(",", "") if _THOUSANDS.fullmatch(text) else text


def same_text(one: str, other: str) -> bool:
    """Whether two normal spellings are the same words: case, quotes and the brackets of ``(B)`` do not count."""
    return _folded(one) == _folded(other) != ""


def _bare(answer: str) -> str:
    """The answer without "the answer is", delimiters and marks, in one spelling of LaTeX."""
    text = _LEAD.sub("", " ".join(answer.translate(_CHARACTERS).split()), count=1).rstrip("。.").strip()
    for pattern in _ENCLOSED * 2:
        if found := pattern.fullmatch(text):
            text = found["inner"].strip().rstrip(".").strip()
    for pattern, replacement in _SPELLINGS:
        text = pattern.sub(replacement, text)
    return text.strip()


def _quantity(spelled: str, text: str) -> Form | None:
    """A number, alone or with a unit; None for everything else (``3x`` is no quantity, ``3 x`` neither)."""
    found = _QUANTITY.fullmatch(spelled)
    if not found:
        return None
    number = found["number"].replace(",", "")
    written = (found["unit"] or "").strip()
    unit = unit_name(found["sign"] or written)
    known = unit != written.lower()
    if found["power"]:
        if not unit:
            return None
        unit = f"{unit}^{found['power']}"
    long_enough = len(written) >= 3 or not written.isascii()
    if written and not (long_enough or (known and (found["space"] or len(written) > 1))):
        return None
    if not unit:
        return Form(sort="expression", text=text, math=number)
    return Form(sort="quantity", text=text, math=number, unit=unit)


def _rewritten(text: str) -> str:
    """Mixed numbers, repeating decimals and powers of ten as LaTeX that is not taken for something else."""
    if mixed := _MIXED.fullmatch(text):
        sign, whole, above, below = mixed.groups()
        return rf"{sign}\frac{{{int(whole) * int(below) + int(above)}}}{{{int(below)}}}"
    if repeating := _REPEATING.fullmatch(text):
        sign, whole, fixed, period = repeating.groups()
        below = (10 ** len(period) - 1) * 10 ** len(fixed)
        above = int(f"{whole or 0}{fixed}{period}") - int(f"{whole or 0}{fixed}")
        return rf"{sign}\frac{{{above}}}{{{below}}}"
    if scientific := _SCIENTIFIC.fullmatch(text):
        return rf"{scientific[1]} \cdot 10^{{{scientific[2]}}}"
    return text


def _folded(text: str) -> str:
    text = text.casefold().strip("\"'“”‘’`")
    found = re.fullmatch(r"\((\w+)\)", text)
    return found[1] if found else text
