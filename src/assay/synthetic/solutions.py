r"""A short solution around an answer: working with values on the way, and a last sentence that holds the answer.

Owns: the sentences, by side and language, and how an answer stands in a box. Does not own: which answer and which lure.
A value on the way is often the reference of a wrong answer, or a wrong value before a right one: the last one counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from assay.judges.shield import Language

from .draws import Draws, Texts
from .numerals import decimal

CLOSINGS: Mapping[Language, Texts] = {
    "en": Texts(
        train=(
            "Therefore {x}.",
            "So {x}.",
            "So the result is {x}.",
            "The answer is {x}.",
            "This gives {x}.",
            "Hence the answer is {x}.",
            "Final answer: {x}",
            "What was asked for is {x}.",
            "{x}",
        ),
        held=("It follows that this is {x}.", "Consequently: {x}", "We end with {x}.", "Solution: {x}"),
    ),
    "zh": Texts(
        train=("所以结果为{x}。", "答案是{x}。", "答案：{x}", "因此得{x}。", "所求为{x}。", "{x}"),
        held=("于是得到{x}。", "故为{x}。", "最后一步给出{x}。"),
    ),
}
"""Last sentences; ``{x}`` is the answer, boxed or not."""

SUMS: Mapping[Language, Texts] = {
    "en": Texts(
        train=(
            "Then {l} = {x}.",
            "{l} = {x}",
            "{l} = {w}, therefore {x}.",
            "{l} = {w}, so x = {x}.",
            "The parts are {a} and {b}, and {l} = {x}.",
            "With that, {l} = {w}, so {x}.",
        ),
        held=(
            "Finally {l} = {x}.",
            "{l} = {w}, which means {x}.",
            "{l} = {w}, that is, k = {x}.",
            "Having {a} and {b}, we see {l} = {x}.",
        ),
    ),
    "zh": Texts(
        train=(
            "{l} = {x}",
            "再算 {l} = {x}。",
            "两部分是 {a} 和 {b}，{l} = {x}。",
            "{l} = {w}，所以结果是{x}。",
            "{l} = {w}，所以 x = {x}。",
        ),
        held=("末了 {l} = {x}。", "有了 {a} 和 {b}，便有 {l} = {x}。", "{l} = {w}，即 k = {x}。"),
    ),
}
"""Last sentences that compute: ``{l}`` is ``{a} + {b}``, ``{w}`` the value again, as it stands in a computation."""

STEPS: Mapping[Language, Texts] = {
    "en": Texts(
        train=("First, {e}.", "{e}.", "We have {e}.", "{e} and {f}.", "From {e} we go on.", "Note {e}."),
        held=("To begin with, {e}.", "Here {e}.", "Both {e} and {f} are needed."),
    ),
    "zh": Texts(
        train=("先算 {e}。", "{e}。", "{e}，{f}。", "由 {e} 继续。"),
        held=("首先有 {e}。", "这里 {e}，而 {f}。"),
    ),
}
LURES: Mapping[Language, Texts] = {
    "en": Texts(
        train=(
            "At first sight it is {y}, but that leaves out a part.",
            "{y} is only met on the way.",
            "One step earlier we had {y}.",
            "It is not {y}, as one might think.",
            "Of {y} and {x}, only the second fits.",
            "Some would say {y}; that is a slip.",
        ),
        held=(
            "{y} would miss something.",
            "Between {y} and {x} the latter is meant.",
            "Halfway through, {y} comes up.",
        ),
    ),
    "zh": Texts(
        train=(
            "乍看是{y}，但漏了一部分。",
            "{y}只是中间结果。",
            "上一步得到{y}。",
            "并不是{y}。",
            "{y}与{x}之中只有后者合适。",
        ),
        held=("{y}会少算一些。", "途中出现{y}。"),
    ),
}
TALK: Mapping[Language, Texts] = {
    "en": Texts(
        train=(
            "All that is needed is given.",
            "We go through it in order.",
            "It is known from the text.",
            "Let us see.",
        ),
        held=("The facts settle this.", "One look at the question is enough."),
    ),
    "zh": Texts(train=("条件都已给出。", "依次来看。", "由题可知。"), held=("题中已有所需。", "看题便知。")),
}

_SLASH = re.compile(r"(-?)(\d+)/(\d+)")
_QUANTITY = re.compile(r"(-?[\d.,/]+|\\d?frac(?:\{\d+\}\{\d+\}|\d\d)) ?((?:[a-zA-Z]|[\u4e00-\u9fff])[^\d]*(?:\^\d)?)")
_LEADING = re.compile(r"(-?\d+(?:\.\d+)?) ?(?:%|(?:[a-zA-Z]|[\u4e00-\u9fff])[^\d]*)")
_STOPS = (".", "。")
_UNITS_BEHIND = ("units", "unit-asked", "money", "integer", "percent")


def value_of(normal: str) -> Fraction | None:
    """The number that a normal form is, if it is one."""
    return Fraction(normal) if re.fullmatch(r"-?\d+(?:/\d+|\.\d+)?", normal) else None


def _amount(draws: Draws, text: str, normal: str) -> Fraction | None:
    """The number that a computation could end in: of ``30 min`` the 30."""
    value = value_of(normal)
    if value is None and draws.kind in _UNITS_BEHIND and (found := _LEADING.fullmatch(text)):
        return Fraction(found[1])
    return value


def solution(draws: Draws, text: str, normal: str, lure: tuple[str, str]) -> str:
    """One to four sentences that end in the answer ``text``. ``lure``: text and normal form of a value on the way."""
    value, other = _amount(draws, text, normal), _amount(draws, *lure)
    whole = text.endswith(_STOPS)
    shown = text if whole else _dressed(draws, text)
    said = [_step(draws, text, lure[0], value, other) for _ in range(draws.between(0, 3))]
    if whole:
        # A sentence is the last sentence as it is.
        said.append(shown)
    elif value is not None and len(normal) < 9 and "=" not in text and draws.chance(0.5):
        said.append(_sum(draws, shown, value, other))
    else:
        _, closing = draws.text(CLOSINGS[draws.language])
        said.append(closing.replace("{x}", shown))
    joint = draws.pick((" ", " ", "\n")) if draws.language == "en" else draws.pick(("", "", "\n"))
    return joint.join(dict.fromkeys(said))


def _step(draws: Draws, text: str, lure: str, value: Fraction | None, other: Fraction | None) -> str:
    way = draws.between(0, 9)
    if way < 3 and _apart(text, lure):
        _, said = draws.text(LURES[draws.language])
        return said.replace("{x}", text).replace("{y}", lure)
    if way < 5 or value is None:
        _, said = draws.text(TALK[draws.language])
        return said
    _, said = draws.text(STEPS[draws.language])
    first = other if other is not None and draws.chance(0.6) else _near(draws, value)
    return said.replace("{e}", _equation(draws, first)).replace("{f}", _equation(draws, _near(draws, value)))


def _apart(text: str, lure: str) -> bool:
    """Whether two phrases can be told apart: of a family name and a whole name the one could mean the other."""
    if text.endswith(_STOPS) or lure.endswith(_STOPS):
        return False
    return text.casefold() not in lure.casefold() and lure.casefold() not in text.casefold()


def _near(draws: Draws, value: Fraction) -> Fraction:
    """Some number of the same make."""
    return Fraction(draws.number(2, max(60, int(abs(value.numerator)))), value.denominator)


def _equation(draws: Draws, value: Fraction) -> str:
    left, *_ = _left(draws, value, None)
    eq = _minus(draws, f"{left} = {_number(value)}")
    return draws.pick((eq, eq, f"\\({eq}\\)", f"${eq}$"))


def _left(draws: Draws, value: Fraction, start: Fraction | None) -> tuple[str, str, str]:
    """A computation that gives ``value``, and its two numbers; ``start`` is the first of them where it is given."""
    whole = value.denominator == 1
    if start is None and whole and draws.chance(0.4):
        factors = [one for one in range(2, 13) if value % one == 0]
        if factors and value:
            one = draws.pick(factors)
            a, b = str(one), str(value.numerator // one)
            return f"{a} {draws.pick(('×', '·', chr(92) + 'cdot'))} {_bracket(b)}", a, b
    first = start if start is not None else Fraction(draws.between(1, max(20, abs(value.numerator))), value.denominator)
    rest = value - first
    a, b = _number(first), _number(abs(rest))
    return f"{a} {'+' if rest >= 0 else '-'} {b}", a, b


def _bracket(number: str) -> str:
    return f"({number})" if number.startswith("-") else number


def _number(value: Fraction) -> str:
    text = decimal(value)
    if text is not None and len(text.partition(".")[2]) <= 4:
        return text
    return f"{value.numerator}/{value.denominator}"


def _sum(draws: Draws, shown: str, value: Fraction, other: Fraction | None) -> str:
    start = other if other is not None and other != value and draws.chance(0.5) else None
    left, a, b = _left(draws, value, start)
    left = _minus(draws, left)
    _, said = draws.text(SUMS[draws.language])
    said = said.replace("{l}", left).replace("{w}", _number(value)).replace("{a}", a).replace("{b}", b)
    return said.replace("{x}", shown)


def _minus(draws: Draws, text: str) -> str:
    """The typographic minus sign now and then."""
    return text.replace("-", "−") if draws.chance(0.3) else text


def _dressed(draws: Draws, text: str) -> str:
    way = draws.between(0, 9)
    if way < 6:
        return boxed(draws, text)
    if value_of(text) is not None:
        text = _minus(draws, text)
    return f"**{text}**" if way < 7 and "*" not in text else text


def boxed(draws: Draws, text: str) -> str:
    r"""The answer in ``\boxed{}``, in the LaTeX that belongs there; a unit stands inside or behind."""
    if "\\boxed" in text:
        return text
    inner = text.strip("*")
    if inner.startswith("$") and inner.endswith("$") and len(inner) > 1:
        return f"\\boxed{{{inner[1:-1]}}}"
    quantity = _QUANTITY.fullmatch(inner)
    if quantity and draws.kind in _UNITS_BEHIND:
        number = _latex(draws, quantity[1])
        if draws.chance(0.5):
            return f"\\boxed{{{number}}} {quantity[2]}"
        return f"\\boxed{{{number} \\text{{ {quantity[2]}}}}}"
    if inner.replace(" ", "").isalpha() and draws.chance(0.5):
        return f"\\boxed{{\\text{{{inner}}}}}"
    return f"\\boxed{{{_latex(draws, inner)}}}"


def _latex(draws: Draws, text: str) -> str:
    if "\\" in text:
        return text
    if (found := _SLASH.fullmatch(text)) and draws.chance(0.5):
        return f"{found[1]}{short_fraction(draws, found[2], found[3])}"
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "{,}" if draws.chance(0.7) else ",", text)
    if text.startswith("{") and text.endswith("}"):
        text = f"\\{text[:-1]}\\}}"
    return text.replace("%", "\\%").replace("$", "\\$").replace("∞", "\\infty")


def short_fraction(draws: Draws, above: str, below: str) -> str:
    r"""``\frac{1}{5}``, or ``\frac15`` where that can be read."""
    if len(above) == len(below) == 1 and draws.chance(0.4):
        return f"\\frac{above}{below}"
    return f"\\{draws.pick(('frac', 'dfrac'))}{{{above}}}{{{below}}}"
