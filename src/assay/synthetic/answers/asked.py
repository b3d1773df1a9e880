"""Numbers whose unit the question names: bare, with that unit, in another one; misses by the unit and the factor."""

from __future__ import annotations

from fractions import Fraction

from ..draws import Draws, Texts
from ..numerals import grouped, plain
from ..solutions import short_fraction
from .case import Case, Written, forms
from .dimensions import DIMENSIONS, Unit, conversion, short

KIND = "unit-asked"

ASKS = {
    "en": Texts(
        train=(
            "Express {amount} in {unit}.",
            "{name} noted {amount}. What is that in {unit}?",
            "A label in {place} says {amount}. Which number of {unit} does it stand for?",
            "The form of the {family} office wants {unit}. What is to be entered for {amount}?",
            "Write {amount} with the unit {short}.",
            "By how many {unit} does the record of {place} beat the old one?",
            "What is the figure of {name}, in {unit}?",
            "{amount}, please in {short}.",
        ),
        held=(
            "State {amount} as a number of {unit}.",
            "{place} asks for {unit}. {name} has {amount}; what should be said?",
            "Which value, in {short}, did {name} read off?",
        ),
    ),
    "zh": Texts(
        train=(
            "{amount}合多少{unit}？",
            "{name}记的是{amount}，用{unit}表示是多少？",
            "{place}的记录是多少{unit}？",
            "表格要求填{unit}，{amount}应填多少？",
        ),
        held=("请用{unit}写出{amount}。", "{name}读出的数是多少{unit}？"),
    ),
}
_SCALES = {"en": (("thousand", 3), ("million", 6)), "zh": (("万", 4), ("亿", 8))}
_Way = tuple[str, str] | tuple[str, str, str]


def case(draws: Draws) -> Case:
    """Draw a question, forms of its answer, and near misses."""
    dimension = draws.pick(tuple(DIMENSIONS))
    units = DIMENSIONS[dimension]
    while True:
        unit, start = draws.some(units, 2)
        value = Fraction(_number(draws), draws.pick((1, 1, 1, 2, 4, 5, 10)))
        if short(value * unit.size / start.size):
            break
    name = unit.zh if draws.language == "zh" else unit.long
    question, template = draws.ask(
        ASKS, unit=name, short=unit.short, amount=_amount(draws, value * unit.size / start.size, start)
    )
    if dimension == "storage":
        question += " (1 GB = 1000 MB)"
    return Case(
        question=question,
        template=template,
        same=forms(f"{plain(value)} {unit.short}", *_forms(draws, value, unit, units)),
        other=tuple(_misses(draws, value, unit, units)),
        references=3,
    )


def _number(draws: Draws) -> int:
    if draws.chance(0.3):
        return draws.number(2, 99) * 10 ** draws.between(2, 5)
    return draws.magnitude(2, 99_999)


def _amount(draws: Draws, value: Fraction, unit: Unit) -> str:
    if draws.language == "zh":
        return f"{plain(value)}{unit.zh}"
    return f"{plain(value)} {draws.pick((unit.short, unit.long))}"


def _forms(draws: Draws, value: Fraction, unit: Unit, units: tuple[Unit, ...]) -> list[_Way]:
    number = plain(value)
    full = f"{number} {unit.short}"
    same: list[_Way] = [
        ("bare", number),
        ("bare, grouped", grouped(int(value))) if value.denominator == 1 else ("bare, zero", f"{number}0"),
        ("unit", full),
        ("bare, latex", f"${number}$"),
        ("unit of the question", _amount(draws, value, unit)),
        ("unit, grouped", f"{grouped(int(value))} {unit.short}" if value.denominator == 1 else full),
    ]
    for other in units:
        if other is not unit and short(converted := value * unit.size / other.size):
            same.append(("converted", _amount(draws, converted, other), conversion(converted, other, unit)))
    for name, scale in _SCALES[draws.language]:
        if value >= 10**scale and len(text := plain(value / 10**scale)) < 8:
            work = f"{text} x 10^{scale} = {full}"
            gap, said = ("", unit.zh) if draws.language == "zh" else (" ", draws.pick((unit.short, unit.long)))
            same.append(("scale", f"{text}{gap}{name}{gap}{said}", work))
            same.append(("scale, bare", f"{text}{gap}{name}", work))
    if 1 < value.denominator < 11:
        parts = short_fraction(draws, str(value.numerator), str(value.denominator))
        work = f"{value} = {full}"
        same.append(("fraction", draws.pick((parts, f"{parts} {unit.short}")), work))
    return same


def _misses(draws: Draws, value: Fraction, unit: Unit, units: tuple[Unit, ...]) -> list[Written]:
    other = draws.pick([one for one in units if one is not unit])
    converted = value * unit.size / other.size
    wrong: list[tuple[str, Fraction, Unit | None]] = [
        ("unit", value, other),
        ("not converted", converted, None),
        ("value", value + draws.pick((-1, 1, 2)), unit),
        ("value", value + draws.pick((-1, 1, 10)), None),
        ("factor", value * draws.pick((10, 100, 1000)), draws.pick((None, unit))),
        ("factor", value / draws.pick((10, 100, 1000)), draws.pick((None, unit))),
        ("factor of the conversion", converted * draws.pick((Fraction(10), Fraction(1, 10))), other),
        ("conversion the wrong way", value * other.size / unit.size, other),
    ]
    return [
        _miss(draws, form, number, one, unit)
        for form, number, one in wrong
        if number > 0 and short(number) and short(number * (one or unit).size / unit.size)
    ]


def _miss(draws: Draws, form: str, number: Fraction, unit: Unit | None, asked: Unit) -> Written:
    """``unit`` None: a bare number, which is meant in the unit that was asked for."""
    if unit is None:
        whole = number.denominator == 1 and draws.chance(0.4)
        return Written(form, grouped(int(number)) if whole else plain(number), f"{plain(number)} {asked.short}")
    normal = f"{plain(number * unit.size / asked.size)} {asked.short}"
    return Written(form, _amount(draws, number, unit), normal, conversion(number, unit, asked))
