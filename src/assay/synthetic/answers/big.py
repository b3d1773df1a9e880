"""Large numbers: powers of ten, million and billion, 万 and 亿; misses by an order of magnitude and by a digit."""

from __future__ import annotations

from fractions import Fraction

from ..draws import Draws, Texts
from ..numerals import SUPERSCRIPT, grouped, plain
from .case import Case, Written, forms

KIND = "big"

_SCALES = {
    "en": (("thousand", 3), ("million", 6), ("billion", 9), ("trillion", 12)),
    "zh": (("万", 4), ("亿", 8), ("万亿", 12)),
}

ASKS = {
    "en": Texts(
        train=(
            "How many people live in the county of {place}?",
            "What was the turnover of the {family} company last year, in coins?",
            "How many cells does the sample of {name} hold?",
            "Estimate the number of grains in the store of {place}.",
            "How many {things} does the works in {place} make a year?",
            "What is the number of stars in the survey of {family}?",
            "How many bytes does the archive of {place} take?",
            "Give the number of steps that the machine of {name} made.",
            "How many letters did the post of {place} carry?",
            "What is the population of {place}?",
            "How many bees were counted in {place} over ten years?",
            "Which number of seconds does the log of {name} cover?",
            "How many drops does the tank in {place} hold?",
            "What is the value of {half} + {half}?",
            "Double {half}.",
            "Compute 2 × {half}.",
        ),
        held=(
            "How many leaves does the forest of {place} bear?",
            "State the number of votes cast in the land of {family}.",
            "What does {half} taken twice come to?",
            "How many bricks went into the wall at {place}?",
        ),
    ),
    "zh": Texts(
        train=(
            "{place}有多少人口？",
            "{place}的工厂一年生产多少个{things}？",
            "计算 {half} × 2。",
            "{name}的样本里有多少个细胞？",
            "{place}的仓库里大约有多少粒粮食？",
            "{half} 加 {half} 等于多少？",
        ),
        held=("{place}的森林里有多少片叶子？", "把 {half} 加倍是多少？"),
    ),
}


def case(draws: Draws) -> Case:
    """Draw a question, forms of its answer, and near misses."""
    digits = draws.between(1, 4)
    lead = draws.number(10 ** (digits - 1), 10**digits - 1)
    value = lead * 10 ** draws.between(max(0, 6 - digits), 12 - digits)
    if value % 2:
        value *= 2
    question, template = draws.ask(ASKS, half=value // 2)
    return Case(
        question=question,
        template=template,
        same=forms(str(value), *_forms(draws, value)),
        other=tuple(_misses(draws, value)),
        references=3,
    )


def _forms(draws: Draws, value: int) -> list[tuple[str, str] | tuple[str, str, str]]:
    power = len(str(value)) - 1
    lead = plain(Fraction(value, 10**power))
    work = f"{lead} x 10^{power} = {value}"
    same: list[tuple[str, str] | tuple[str, str, str]] = [
        ("digits", str(value)),
        ("grouped", grouped(value)),
        ("power of ten", f"{lead} × 10^{power}", work),
        ("latex", f"${lead} \\times 10^{{{power}}}$", work),
        ("exponent", f"{lead}e{power}", work),
        ("superscript", f"{lead}×10{str(power).translate(SUPERSCRIPT)}", work),
    ]
    for name, scale in _SCALES[draws.language]:
        many = Fraction(value, 10**scale)
        text = plain(many)
        if many >= Fraction(1, 10) and "/" not in text and len(text) <= 8:
            gap = "" if draws.language == "zh" else " "
            same.append((f"scale {name}", f"{text}{gap}{name}", f"{text} x 10^{scale} = {value}"))
    return same


def _misses(draws: Draws, value: int) -> list[Written]:
    power = len(str(value)) - 1
    step = 10 ** (power - draws.between(0, 2))
    wrong = [
        ("order of magnitude", value * 10),
        ("order of magnitude", value // 10),
        ("order of magnitude", value * 1000),
        ("order of magnitude", value // 1000),
        ("digit", value + step * draws.pick((1, 2, 3))),
        ("digit", value - step),
        ("digit", value + 10 ** max(0, power - 3)),
    ]
    out: list[Written] = []
    for form, number in wrong:
        if number > 0:
            ways = _forms(draws, number)
            way = ways[draws.between(0, len(ways) - 1)]
            out.append(Written(form, way[1], str(number), *way[2:]))
    return out
