"""Ratios: unreduced, a colon, words, a fraction; misses by one term, the order, one term of two scaled."""

from __future__ import annotations

from math import gcd

from ..draws import Draws, Texts
from .case import Case, Written, forms

KIND = "ratio"

ASKS = {
    "en": Texts(
        train=(
            "A box holds {a} red and {b} blue {things}. What is the ratio of red to blue?",
            "Simplify the ratio {a} : {b}.",
            "In {place} there are {a} mills and {b} wells. Give the ratio of mills to wells.",
            "Mix {a} parts of water with {b} parts of lime. What is the ratio of water to lime?",
            "{name} has {a} coins, {name2} has {b}. What is the ratio of their coins, in this order?",
            "What is the ratio of {a} to {b} in lowest terms?",
            "A map shows {a} cm for {b} km. What is the ratio of the two numbers?",
            "The team won {a} games and lost {b}. What is the ratio of wins to losses?",
            "Two gears have {a} and {b} teeth. Find the ratio of teeth.",
            "Write {a} and {b} as a ratio of small whole numbers.",
            "A dough takes {a} g of butter and {b} g of flour. State butter to flour.",
            "Of the guests {a} came by train and {b} by road. What is the ratio of train to road?",
            "The sides of a field near {place} are {a} m and {b} m. In what ratio do they stand?",
            "{a} adults go with {b} children. What is the ratio of adults to children?",
            "Find the simplest ratio of {a} and {b}.",
        ),
        held=(
            "For {a} apples {name} picks {b} pears. How do apples stand to pears?",
            "Reduce {a} to {b} as a ratio.",
            "A choir in {place} has {a} low and {b} high voices. Give low to high as a ratio.",
            "Two tanks hold {a} and {b} litres. In which ratio are they?",
        ),
    ),
    "zh": Texts(
        train=(
            "盒子里有{a}个红色和{b}个蓝色的{things}，红与蓝的比是多少？",
            "化简比 {a} : {b}。",
            "{name}有{a}枚硬币，{name2}有{b}枚，两人硬币数之比是多少？",
            "{place}有{a}座磨坊和{b}口井，磨坊与井的数量之比是多少？",
            "球队胜{a}场，负{b}场，胜负之比是多少？",
            "{a} 与 {b} 的最简整数比是多少？",
        ),
        held=("合唱队有{a}个低声部和{b}个高声部，低与高之比是多少？", "两个水箱分别装{a}升和{b}升，比是多少？"),
    ),
}


def case(draws: Draws) -> Case:
    """Draw a question, forms of its answer, and near misses."""
    while True:
        first, second = draws.between(1, 40), draws.between(1, 40)
        if first != second and gcd(first, second) == 1 and ((first * 17 + second) % 7 == 3) == (draws.side == "held"):
            break
    many = draws.between(2, 24)
    question, template = draws.ask(ASKS, a=first * many, b=second * many)
    times = draws.between(2, 9)
    same: list[tuple[str, str] | tuple[str, str, str]] = [
        ("colon", f"{first}:{second}"),
        ("colon, spaced", f"{first} : {second}"),
        ("latex", f"${first}:{second}$"),
        ("unreduced", f"{first * times}:{second * times}", _work(first * times, second * times)),
        ("fraction", f"{first}/{second}"),
        ("unreduced fraction", f"{first * times}/{second * times}", _work(first * times, second * times)),
    ]
    if draws.language == "en":
        same += [
            ("words", f"{first} to {second}"),
            ("words, unreduced", f"{first * times} to {second * times}", _work(first * times, second * times)),
        ]
    else:
        same += [("words", f"{first}比{second}"), ("full width", f"{first}：{second}")]
    return Case(
        question=question,
        template=template,
        same=forms(f"{first}:{second}", *same),
        other=tuple(_misses(draws, first, second)),
        references=3,
    )


def _work(first: int, second: int) -> str:
    by = gcd(first, second)
    if by == 1:
        return ""
    return f"{first}:{second} = ({first}:{by}):({second}:{by}) = {first // by}:{second // by}"


def _misses(draws: Draws, first: int, second: int) -> list[Written]:
    times = draws.between(2, 9)
    wrong = [
        ("order", second, first),
        ("one term", first + draws.pick((1, 2)), second),
        ("one term", first, second + draws.pick((1, 2))),
        ("one term scaled", first * times, second),
        ("one term scaled", first, second * times),
        ("unreduced, one term off", first * times, second * times + draws.pick((-1, 1))),
        ("part of the whole", first, first + second),
    ]
    sign = draws.pick((":", " : ", "/", " to ")) if draws.language == "en" else draws.pick((":", "：", "比", "/"))
    out: list[Written] = []
    for form, one, two in wrong:
        by = gcd(one, two)
        out.append(Written(form, f"{one}{sign}{two}", f"{one // by}:{two // by}", _work(one, two)))
    return out
