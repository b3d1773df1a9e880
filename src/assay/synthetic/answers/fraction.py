r"""Fractions: unreduced, LaTeX, mixed numbers, decimals, percent, words; misses by one term, inverted, the sign."""

from __future__ import annotations

from fractions import Fraction
from math import gcd

from ..draws import SMALL, Draws, Texts
from ..numerals import decimal, in_words, ordinal_words, zh_words
from ..solutions import short_fraction
from .case import Case, Written, forms

KIND = "fraction"

ASKS = {
    "en": Texts(
        train=(
            "What is {a} + {b}?",
            "Compute {c} - {b}. Give an exact answer.",
            "{name} ate {a} of a cake and later {b} of it. What part is eaten?",
            "A tank is filled by {a} and then by another {b} of its volume. How full is it?",
            "Find the sum of {a} and {b} in lowest terms.",
            "Solve p + {b} = {c}.",
            "What fraction is left when {b} is taken from {c}?",
            "Express {a} + {b} as one number.",
            "A road in {place} was paved in two stages, {a} and {b} of a mile. How many miles in all?",
            "Simplify {c} - {b}.",
            "If q - {b} = {a}, find q.",
            "{name} reads {a} of a book on one day and {b} on the next. What part has been read?",
            "Evaluate {a} + {b} exactly.",
            "How much larger than {b} is {c}?",
            "The chances of two outcomes that exclude each other are {a} and {b}. What is that of either?",
        ),
        held=(
            "Two pipes fill {a} and {b} of a basin an hour. What do both fill in an hour?",
            "Which number exceeds {a} by {b}?",
            "Reduce {c} by {b} and give the exact result.",
            "Determine r so that r + {b} equals {c}.",
        ),
    ),
    "zh": Texts(
        train=(
            "计算 {a} + {b}。",
            "{name}第一天读了全书的{a}，第二天读了{b}，一共读了几分之几？",
            "求 {c} - {b}，结果化为最简。",
            "解方程 p + {b} = {c}。",
            "一块地的{a}种了豆子，{b}种了玉米，共种了这块地的多少？",
            "{a} 与 {b} 的和是多少？",
        ),
        held=("两根水管每小时分别注满水池的{a}和{b}，同开一小时注满多少？", "比 {a} 大 {b} 的数是多少？"),
    ),
}


ASKS_BELOW_ZERO = {
    "en": Texts(
        train=("What is {b} - {d}?", "Compute {b} minus {d}.", "Find u with u + {d} = {b}.", "Take {d} away from {b}."),
        held=("From {b} subtract {d}; what results?", "State v if v = {b} - {d}."),
    ),
    "zh": Texts(train=("计算 {b} - {d}。", "{b} 减去 {d} 是多少？"), held=("从 {b} 中减 {d}，得多少？",)),
}
"""What is asked where the value is below zero."""


def case(draws: Draws) -> Case:
    """Draw a question, forms of its answer, and near misses."""
    sign = -1 if draws.chance(0.12) else 1
    while True:
        value = Fraction(
            draws.between(1, 60) * sign, draws.pick((2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15, 16, 20, 25, 40))
        )
        # A fraction that comes to a whole number is a case of its own.
        if (value.denominator > 1 or (abs(value) < SMALL and draws.chance(0.5))) and held_fraction(value) == (
            draws.side == "held"
        ):
            break
    part = Fraction(draws.between(1, 5), draws.pick((2, 3, 4, 5, 6, 8))) * min(1, abs(value)) / 3
    terms = {"a": _slash(value - part), "b": _slash(part), "c": _slash(value + part), "d": _slash(part - value)}
    question, template = draws.ask(ASKS, **terms) if sign > 0 else draws.ask(ASKS_BELOW_ZERO, **terms)
    if sign < 0:
        template += ".below"
    return Case(
        question=question,
        template=template,
        same=forms(_slash(value), *_forms(draws, value)),
        other=misses(draws, value),
        references=2 if value.denominator == 1 else 5 if abs(value) > 1 else 3,
    )


def held_fraction(value: Fraction) -> bool:
    """Whether a fraction belongs to the held-out side."""
    return (value.numerator * 31 + value.denominator) % 6 == 2


def _slash(value: Fraction) -> str:
    return str(value)


def _whole_forms(draws: Draws, value: int) -> list[tuple[str, str] | tuple[str, str, str]]:
    """A whole number: bare, and as a fraction that comes to it."""
    many = draws.between(2, 12)
    work = _reduced(value * many, many, many)
    sign = "-" if value < 0 else ""
    return [
        ("digits", str(value)),
        ("latex", f"${value}$"),
        ("unreduced", f"{value * many}/{many}", work),
        ("unreduced, latex", sign + short_fraction(draws, str(abs(value) * many), str(many)), work),
        ("point zero", f"{value}.0", f"{value}.0 = {value}"),
        ("over one", f"{value}/1", f"{value}/1 = {value}"),
    ]


def _forms(draws: Draws, value: Fraction) -> list[tuple[str, str] | tuple[str, str, str]]:
    above, below = value.numerator, value.denominator
    if below == 1:
        return _whole_forms(draws, above)
    many = draws.between(2, 9)
    whole = abs(above) // below
    sign, size = ("-", -above) if above < 0 else ("", above)
    same: list[tuple[str, str] | tuple[str, str, str]] = [
        ("slash", f"{above}/{below}"),
        ("latex", sign + short_fraction(draws, str(size), str(below))),
        ("latex in dollars", f"${sign}\\dfrac{{{size}}}{{{below}}}$"),
        *mixed(draws, value),
        ("unreduced", f"{above * many}/{below * many}", _reduced(above * many, below * many, many)),
        ("spaced", f"{above} / {below}"),
    ]
    exact = decimal(value)
    if exact is not None and len(exact) < 8:
        work = _from_decimal(exact)
        same.append(("decimal", exact, work))
        percent = decimal(value * 100)
        same.append(("percent", f"{percent}%", f"{percent}% = {work}"))
    if sign:
        return same
    if draws.language == "zh" and not whole:
        same.append(("words", f"{zh_words(below)}分之{zh_words(above)}"))
    elif draws.language == "en" and not whole:
        same.append(("words", _in_words(above, below)))
    return same


def mixed(draws: Draws, value: Fraction) -> list[tuple[str, str, str]]:
    """Mixed numbers, with the one fraction that each is: ``1 3/4 = (1 x 4 + 3)/4 = 7/4``; none below 1."""
    below = value.denominator
    whole, rest = divmod(abs(value.numerator), below)
    if not whole or not rest:
        return []
    sign = "-" if value < 0 else ""
    work = f"{sign}{whole} {rest}/{below} = {sign}({whole} x {below} + {rest})/{below} = {value.numerator}/{below}"
    latex = f"{sign}{whole}{short_fraction(draws, str(rest), str(below))}"
    said = [
        ("mixed", f"{sign}{whole} {rest}/{below}", work),
        ("mixed latex", draws.pick((latex, f"${latex}$")), work),
    ]
    if draws.language == "zh" and not sign:
        said.append(
            ("mixed in characters", draws.pick((f"{whole}又{rest}/{below}", _zh_mixed(whole, rest, below))), work)
        )
    elif not sign and below > 4:
        said.append(("mixed, and between", f"{whole} and {rest}/{below}", work))
    return said


def _zh_mixed(whole: int, rest: int, below: int) -> str:
    return f"{zh_words(whole)}又{zh_words(below)}分之{zh_words(rest)}"


def _in_words(above: int, below: int) -> str:
    part = "half" if below == 2 else "quarter" if below == 4 else ordinal_words(below)
    plural = "" if above == 1 else "s"
    return f"{in_words(above)} {part}{plural}"


def _reduced(above: int, below: int, by: int) -> str:
    if by == 1:
        return f"{above}/{below}"
    reduced = f"{above // by}/{below // by}" if below != by else str(above // by)
    return f"{above}/{below} = ({above}:{by})/({below}:{by}) = {reduced}"


def _from_decimal(text: str) -> str:
    """``0.25 = 25/100 = (25:25)/(100:25) = 1/4``."""
    scale = 10 ** len(text.partition(".")[2])
    above = int(Fraction(text) * scale)
    # A whole number has no fraction to show.
    if above % scale == 0:
        return f"{text} = {above // scale}"
    return f"{text} = {_reduced(above, scale, gcd(above, scale))}"


def misses(draws: Draws, value: Fraction) -> tuple[Written, ...]:
    """Fractions near ``value``: one term off by one, inverted, the sign, a rounded decimal."""
    above, below = value.numerator, value.denominator
    wrong = [
        ("numerator", Fraction(above + draws.pick((-1, 1, 2)), below)),
        ("denominator", Fraction(above, below + draws.pick((1, 2)))),
        ("denominator", Fraction(above, max(1, below - 1))),
        ("inverted", Fraction(below, above)),
        ("sign", -value),
        ("whole part", value + draws.pick((-1, 1))),
        ("doubled", value * 2),
    ]
    whole, rest = divmod(abs(above), below)
    if whole:
        sign = 1 if above > 0 else -1
        wrong += [
            ("whole part", value + draws.pick((-1, 1))),
            ("whole part", sign * Fraction(rest, below)),
            ("parts swapped", sign * (rest + Fraction(whole, below))),
            ("fraction of a mixed number", sign * (whole + Fraction(rest + draws.pick((-1, 1)), below))),
        ]
    out = [_written(draws, form, number) for form, number in wrong if number]
    rounded = f"{float(value):.2f}"
    out.append(Written("rounded", rounded, str(Fraction(rounded)), _from_decimal(rounded)))
    return tuple(out)


def _written(draws: Draws, form: str, number: Fraction) -> Written:
    """A wrong fraction in one of the ways of a right one: also unreduced, so that two large terms prove nothing."""
    above, below = number.numerator, number.denominator
    if draws.chance(0.5) and (ways := mixed(draws, number)):
        _, text, work = draws.pick(ways)
        return Written(form, text, str(number), work)
    if below == 1:
        _, text, *work = draws.pick(_whole_forms(draws, above))
        return Written(form, text, str(number), *work)
    kind = draws.between(0, 3)
    if kind == 1:
        many = draws.between(2, 9)
        work = _reduced(above * many, below * many, many)
        return Written(form, f"{above * many}/{below * many}", str(number), work)
    if kind == 2:
        sign = "-" if above < 0 else ""
        return Written(form, sign + short_fraction(draws, str(abs(above)), str(below)), str(number))
    exact = decimal(number)
    if kind == 3 and exact is not None and len(exact) < 8:
        return Written(form, exact, str(number), _from_decimal(exact))
    return Written(form, f"{above}/{below}", str(number))
