"""Quantities with units: another unit with the value converted, two units together; misses by unit and by factor."""

from __future__ import annotations

from fractions import Fraction

from ..draws import Draws, Texts
from ..numerals import plain
from ..solutions import short_fraction
from .case import Case, Written, forms
from .dimensions import DIMENSIONS, Unit, conversion, short

KIND = "units"


_WHAT = {
    "time": ("How long does {name} need", "{name}用了多长时间"),
    "length": ("How far is it from {place} to {place2}", "从{place}到{place2}有多远"),
    "mass": ("How heavy are the {things}", "这批{things}有多重"),
    "volume": ("How much does the tank of {name} hold", "{name}的水箱能装多少"),
    "area": ("How large is the field of {name} near {place}", "{place}那块地有多大"),
    "power": ("How much power does the mill of {name} take", "{name}的磨坊功率是多少"),
    "storage": ("How large is the archive of {name} (1 GB = 1000 MB)", "{name}的文件有多大（1 GB = 1000 MB）"),
    "speed": ("How fast does {name} go", "{name}的速度是多少"),
}

ASKS = {
    "en": Texts(
        train=(
            "{what}?",
            "{what}, if it takes twice as much as the {half} noted before?",
            "Read the note of {name2}: half of it is {half}. {what}?",
            "{what}? Half of it would be {half}.",
            "A log from {place3} says that half is {half}. {what}?",
            "Twice {half}: {what}?",
            "{what}? Give a value with its unit.",
            "Exercise: double {half}. {what}?",
            "{what}, when {half} is exactly one half?",
            "Starting from {half}, the figure doubles. {what}?",
            "{name2} measured {half} for each of two equal parts. {what}?",
            "{what} in all, with two parts of {half} each?",
            "Both halves came to {half}. {what}?",
            "{what}? (Two equal parts, {half} each.)",
            "Add {half} and {half}. {what}?",
        ),
        held=(
            "Take {half} two times. {what}?",
            "{what}, given that a half amounts to {half}?",
            "One of two like pieces has {half}; {what}?",
            "State the whole if a half is {half}. {what}?",
        ),
    ),
    "zh": Texts(
        train=(
            "{what}？",
            "一半是{half}，{what}？",
            "{what}？已知两个相等的部分各为{half}。",
            "{name2}记录的一半是{half}。{what}？",
            "把{half}加倍。{what}？",
            "{what}？请写出单位。",
        ),
        held=("取{half}两次。{what}？", "若一半为{half}，{what}？"),
    ),
}


def case(draws: Draws) -> Case:
    """Draw a question, forms of its answer, and near misses."""
    dimension = draws.pick(tuple(DIMENSIONS))
    units = DIMENSIONS[dimension]
    unit = draws.pick(units)
    number = Fraction(draws.magnitude(2, 9999), draws.pick((1, 1, 2, 4, 5, 10)))
    value = number * unit.size
    what = _WHAT[dimension][draws.language == "zh"]
    half = f"{plain(number / 2)} {unit.short}" if draws.language == "en" else f"{plain(number / 2)}{unit.zh}"
    question, template = _ask(draws, what, half)
    base = units[0]
    normal = f"{plain(value)} {base.short}"
    same: list[tuple[str, str] | tuple[str, str, str]] = [
        _pair(draws, "unit", number, unit, base, long=False),
        _pair(draws, "unit in words", number, unit, base, long=True),
    ]
    for other in units:
        converted = value / other.size
        if other is not unit and short(converted):
            same.append(_pair(draws, "converted", converted, other, base, long=draws.chance(0.5)))
    if 1 < number.denominator < 11:
        parts = short_fraction(draws, str(number.numerator), str(number.denominator))
        name = unit.zh if draws.language == "zh" else unit.short
        same.append(("fraction", f"{parts} {name}", _of_fraction(number, unit, base)))
    same += _parts(draws, number, unit, base, units)
    return Case(
        question=question,
        template=template,
        same=forms(normal, *same),
        other=tuple(_misses(draws, number, unit, units)),
        references=2,
    )


def _ask(draws: Draws, what: str, half: str) -> tuple[str, str]:
    place, text = draws.text(ASKS[draws.language])
    # The words of `what` are filled together with those around it.
    whole = text.replace("{what}", what).replace("{half}", half)
    question, _ = draws.ask({draws.language: Texts(train=(whole,), held=(whole,))})
    return question[0].upper() + question[1:], f"{KIND}.{draws.language}.{draws.side}.{place}"


def _text(draws: Draws, value: Fraction, unit: Unit, *, long: bool) -> str:
    number = plain(value)
    if draws.language == "zh":
        return f"{number}{unit.zh}" if long else f"{number} {unit.short}"
    if not long:
        return f"{number} {unit.short}" if draws.chance(0.7) else f"{number}{unit.short}"
    return f"{number} {unit.long}"


def _pair(draws: Draws, form: str, value: Fraction, unit: Unit, base: Unit, *, long: bool) -> tuple[str, str, str]:
    return form, _text(draws, value, unit, long=long), conversion(value, unit, base)


def _of_fraction(number: Fraction, unit: Unit, base: Unit) -> str:
    said = conversion(number, unit, base) or f"{plain(number)} {base.short}"
    return f"{number} {unit.short} = {said}"


def _parts(
    draws: Draws, number: Fraction, unit: Unit, base: Unit, units: tuple[Unit, ...]
) -> list[tuple[str, str, str]]:
    """``90 min`` as ``1 h 30 min``: a larger unit for the whole part, this one for the rest."""
    larger = [one for one in units if one.size > unit.size and (one.size / unit.size).denominator == 1]
    larger = [one for one in larger if 1 <= number / (one.size / unit.size) < 1000]
    if not larger or "/" in unit.short:
        return []
    high = min(larger, key=lambda one: one.size)
    factor = high.size / unit.size
    many, rest = divmod(number, factor)
    if not rest:
        return []
    total = f"{plain(number * unit.size)} {base.short}"
    work = f"{many} {high.short} + {plain(rest)} {unit.short} = {plain(number)} {unit.short} = {total}"
    gap = "" if draws.language == "zh" else " "
    names = (high.zh, unit.zh) if draws.language == "zh" else (high.short, unit.short)
    return [("two units", f"{many}{gap}{names[0]}{gap}{plain(rest)}{gap}{names[1]}", work)]


def _misses(draws: Draws, number: Fraction, unit: Unit, units: tuple[Unit, ...]) -> list[Written]:
    base = units[0]
    other = draws.pick([one for one in units if one is not unit])
    converted = number * unit.size / other.size
    wrong: list[tuple[str, Fraction, Unit]] = [
        ("unit", number, other),
        ("value", number + draws.pick((-2, -1, 1, 2)), unit),
        ("value", number * draws.pick((2, 3)), unit),
        ("factor", number * 10, unit),
        ("factor of the conversion", converted * draws.pick((Fraction(10), Fraction(1, 10), Fraction(60, 100))), other),
        ("value of the conversion", converted + draws.pick((-1, 1, 10)), other),
        ("conversion the wrong way", number * other.size / unit.size, other),
    ]
    return [
        Written(
            form,
            _text(draws, value, one, long=draws.chance(0.5)),
            f"{plain(value * one.size)} {base.short}",
            conversion(value, one, base),
        )
        for form, value, one in wrong
        if value > 0 and short(value)
    ]
