"""Percentages: the sign, the word, decimals, fractions, per mille; misses by the point, a digit, the complement."""

from __future__ import annotations

from fractions import Fraction

from ..draws import Draws, Texts
from ..numerals import decimal, plain
from .case import Case, Written, forms

KIND = "percent"

ASKS = {
    "en": Texts(
        train=(
            "{a} of {b} {things} are blue. What percentage is that?",
            "What percent of {b} is {a}?",
            "In {place} {a} out of {b} people voted. What was the turnout in percent?",
            "{name} answered {a} of {b} questions correctly. Give the score in percent.",
            "A price of {b} fell by {a}. By what percentage did it fall?",
            "Express {a} out of {b} as a percentage.",
            "Of {b} trains {a} were late. What share was late, in percent?",
            "{a} grams of salt are in {b} grams of brine. What is the concentration in percent?",
            "Find the percentage that {a} is of {b}.",
            "{name} saves {a} of an income of {b}. What percentage is saved?",
            "The index rose by {a} from {b}. How many percent is that?",
            "What part of {b} is {a}, in percent?",
            "{a} of the {b} seats in the hall of {place} are taken. What percentage?",
            "A test of {b} {things} found {a} broken. State the rate in percent.",
            "Write {a}/{b} as a percentage.",
        ),
        held=(
            "Out of {b} seeds {a} sprouted. What is the germination rate in percent?",
            "Which percentage of the {b} members in {place} are the {a} who came?",
            "{name} has run {a} of {b} laps. How many percent are done?",
            "Give {a} as a percentage of {b}.",
        ),
    ),
    "zh": Texts(
        train=(
            "{b}个{things}中有{a}个是蓝色的，占百分之几？",
            "{a}是{b}的百分之几？",
            "{place}{b}人中有{a}人投票，投票率是多少？",
            "{name}答对了{b}题中的{a}题，正确率是多少？",
            "价格原为{b}，下降了{a}，降幅是百分之几？",
            "把 {a}/{b} 写成百分数。",
        ),
        held=("{b}粒种子中有{a}粒发芽，发芽率是多少？", "{name}跑完了{b}圈中的{a}圈，完成了百分之几？"),
    ),
}


def case(draws: Draws) -> Case:
    """Draw a question, forms of its answer, and near misses."""
    tenths = draws.number(5, 1200)
    share = Fraction(tenths, 1000)
    base = share.denominator * draws.between(1, 12)
    question, template = draws.ask(ASKS, a=int(share * base), b=base)
    rate = plain(share * 100)
    normal = f"{rate}%"
    exact = decimal(share)
    same = [
        ("sign", normal),
        ("sign with zero", f"{rate}{'' if '.' in rate else '.'}0%"),
        ("latex", f"${rate}\\%$"),
        ("spaced", f"{rate} %"),
        ("decimal", f"{exact}", f"{exact} x 100 = {normal}"),
        (
            "fraction",
            f"{share.numerator}/{share.denominator}",
            f"{share.numerator}/{share.denominator} x 100 = {normal}",
        ),
    ]
    if draws.language == "en":
        same += [("word", f"{rate} percent"), ("word apart", f"{rate} per cent"), ("points", f"{rate} pct")]
    else:
        same += [("word", f"百分之{rate}"), ("full width", f"{rate}％")]
    if share.denominator == 1:
        same = [pair for pair in same if pair[0] not in ("fraction", "decimal")]
    return Case(
        question=question, template=template, same=forms(normal, *same), other=_misses(draws, share), references=4
    )


def _misses(draws: Draws, share: Fraction) -> tuple[Written, ...]:
    wrong = [
        ("digit", share + Fraction(draws.pick((-30, -3, -2, 2, 3, 30, 200)), 1000)),
        ("last place", share + Fraction(draws.pick((-1, 1)), 1000)),
        ("point moved", share * 10),
        ("point moved", share / 10),
        ("complement", 1 - share),
        ("a hundredth", share / 100),
        ("inverted", 1 / share),
    ]
    out: list[Written] = []
    for form, number in wrong:
        rate = plain(number * 100)
        if "/" in rate or number <= 0:
            continue
        exact = decimal(number) or ""
        way = draws.between(0, 3)
        if way == 0 and number.denominator > 1:
            out.append(Written(form, exact, f"{rate}%", f"{exact} x 100 = {rate}%"))
        else:
            word = f"{rate} percent" if draws.language == "en" else f"百分之{rate}"
            out.append(Written(form, word if way == 1 else f"{rate}%", f"{rate}%"))
    return tuple(out)
