"""Decimals: trailing and leading zeros, an equal fraction, powers of ten; misses by a digit, a place, a sign."""

from __future__ import annotations

from fractions import Fraction

from ..draws import Draws, Texts
from ..numerals import decimal, plain
from ..solutions import short_fraction
from .case import Case, Written, forms

KIND = "decimal"

ASKS = {
    "en": Texts(
        train=(
            "What is {a} + {b}?",
            "A plank of {c} m is shortened by {b} m. How long is it now, in metres?",
            "Compute {c} - {b}.",
            "{name} pours {a} litres and then {b} litres into a tub. How many litres are in it?",
            "Solve t - {b} = {a} for t.",
            "The gauge in {place} rose from {a} by {b}. What does it read?",
            "Add {b} to {a}.",
            "How far is it in kilometres if {name} rides {a} km and then {b} km?",
            "Find the value of {c} reduced by {b}.",
            "A parcel weighs {c} kg with its box; the box weighs {b} kg. What does the content weigh, in kg?",
            "Give the sum of {a} and {b} as a number.",
            "If y + {b} = {c}, what is y?",
            "Two readings were {a} and {b}. What is their sum?",
            "By how much does {c} exceed {b}?",
            "Evaluate ({a}) + ({b}).",
        ),
        held=(
            "Rainfall in {place}: {a} cm in May, {b} cm in June. State the total in cm.",
            "Which number must be added to {b} to give {c}?",
            "A wire of {c} m loses a piece of {b} m. Determine the remaining length in m.",
            "Work out {a} plus {b}.",
        ),
    ),
    "zh": Texts(
        train=(
            "计算 {a} + {b}。",
            "一根绳子长{c}米，剪去{b}米，还剩多少米？",
            "{name}先骑了{a}千米，又骑了{b}千米，一共多少千米？",
            "求 {c} - {b} 的值。",
            "水箱里有{a}升水，又倒入{b}升，现在有多少升？",
            "若 y + {b} = {c}，求 y。",
        ),
        held=("{place}五月降雨{a}厘米，六月{b}厘米，共多少厘米？", "哪个数加上 {b} 等于 {c}？"),
    ),
}


def case(draws: Draws) -> Case:
    """Draw a question, forms of its answer, and near misses."""
    places = draws.between(1, 3)
    whole = draws.magnitude(2, 99999)
    value = Fraction(whole, 10**places)
    part = Fraction(draws.between(1, max(1, whole - 1)), 10**places)
    question, template = draws.ask(ASKS, a=plain(value - part), b=plain(part), c=plain(value + part))
    normal = plain(value)
    same = [
        ("digits", normal),
        ("trailing zero", padded(value, draws.between(1, 2))),
        ("latex", f"${normal}$"),
        ("fraction", f"{value.numerator}/{value.denominator}", tenths(value)),
        ("fraction, latex", _frac(draws, value), tenths(value)),
        ("power of ten", f"{whole} × 10^-{places}", f"{whole} x 10^-{places} = {normal}"),
        ("exponent", f"{whole}e-{places}", f"{whole} x 10^-{places} = {normal}"),
        ("named", f"{draws.pick('xyt')} = {normal}"),
        ("about nothing", f"exactly {normal}" if draws.language == "en" else f"正好{normal}"),
    ]
    if normal.startswith("0."):
        same.append(("leading zero left out", normal[1:]))
    return Case(
        question=question, template=template, same=forms(normal, *same), other=misses(draws, value), references=3
    )


def padded(value: Fraction, zeros: int) -> str:
    """The decimal with zeros behind it that change nothing."""
    text = decimal(value) or plain(value)
    return f"{text}{'' if '.' in text else '.'}{'0' * zeros}"


def misses(draws: Draws, value: Fraction) -> tuple[Written, ...]:
    """Decimals near ``value``: a digit, a place of the point, the sign, a rounding."""
    text = decimal(value) or plain(value)
    digits = [place for place, letter in enumerate(text) if letter.isdigit()]
    place = draws.pick(digits)
    changed = text[:place] + draws.pick([d for d in "123456789" if d != text[place]]) + text[place + 1 :]
    near = Fraction(draws.pick((-1, 1)), 10 ** len(text.partition(".")[2]))
    wrong = [
        ("digit", Fraction(changed)),
        ("last place", value + near),
        ("point moved", value * 10),
        ("point moved", value / 10),
        ("sign", -value),
        ("rounded", Fraction(round(value))),
        ("inverse", 1 / value),
    ]
    return tuple(_miss(draws, form, number) for form, number in wrong)


def _miss(draws: Draws, form: str, number: Fraction) -> Written:
    normal = plain(number)
    if "/" not in normal and number.denominator > 1 and draws.chance(0.25):
        slash = f"{number.numerator}/{number.denominator}"
        return Written(form, slash if draws.chance(0.4) else _frac(draws, number), normal, tenths(number))
    return Written(form, written(draws, number), normal)


def _frac(draws: Draws, value: Fraction) -> str:
    sign = "-" if value < 0 else ""
    return sign + short_fraction(draws, str(abs(value.numerator)), str(value.denominator))


def tenths(value: Fraction) -> str:
    """How a fraction becomes its decimal: ``1/20 = 5/100 = 0.05``."""
    normal = plain(value)
    scale = 10 ** len(normal.partition(".")[2])
    slash = f"{value.numerator}/{value.denominator}"
    if scale == value.denominator or value.denominator == 1:
        return f"{slash} = {normal}"
    return f"{slash} = {int(value * scale)}/{scale} = {normal}"


def written(draws: Draws, number: Fraction) -> str:
    """A decimal in one of the ways that right answers have, too; a fraction where it does not end."""
    normal = decimal(number)
    if normal is None or len(normal) > 9:
        return f"{number.numerator}/{number.denominator}"
    return draws.pick((normal, normal, f"${normal}$", padded(number, 1)))
