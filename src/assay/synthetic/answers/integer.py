"""Whole numbers: grouped digits, a decimal point with nothing behind it, a name in front, a noun behind, words."""

from __future__ import annotations

from .. import vocabulary
from ..draws import Draws, Texts, held_number
from ..numerals import FULL_WIDTH, SUPERSCRIPT, grouped, in_words, zh_words
from .case import Case, Written, forms

KIND = "integer"

ASKS = {
    "en": Texts(
        train=(
            "{name} has {a} {things} and buys {b} more. How many {things} does {name} have now?",
            "A shed in {place} holds {a} {things}. After a delivery of {b}, how many are there?",
            "What is {a} + {b}?",
            "Compute the sum of {a} and {b}.",
            "There were {c} {things} in stock; {b} were sold. How many are left?",
            "Find x if x - {b} = {a}.",
            "On Monday {place} counted {a} visitors and on Tuesday {b}. How many in all?",
            "Subtract {b} from {c}.",
            "If {c} {things} are packed and {b} of them break, how many stay whole?",
            "{name} walked {a} steps before noon and {b} after. What was the total?",
            "A book has {c} pages. {name} has read {b}. How many pages are left to read?",
            "Evaluate {c} - {b}.",
            "Two classes of a school in {place} collected {a} and {b} {things}. How many together?",
            "Solve for n: n + {b} = {c}.",
            "A counter shows {a}. It is raised by {b}. What does it show?",
            "How much is {a} increased by {b}?",
        ),
        held=(
            "The mill of {place} ground {a} sacks in spring and {b} in autumn. Give the number for the year.",
            "Determine k such that {c} = k + {b}.",
            "Out of {c} tickets {b} have been returned to {name}. How many remain sold?",
            "Work out the difference between {c} and {b}.",
            "{name} stacks {a} {things} beside {name2}'s {b}. State how many {things} stand there.",
        ),
    ),
    "zh": Texts(
        train=(
            "{name}有{a}个{things}，又买了{b}个，现在一共有多少个？",
            "计算 {a} + {b}。",
            "仓库里有{c}个{things}，卖掉{b}个，还剩多少个？",
            "{place}上午来了{a}名游客，下午来了{b}名，一共多少名？",
            "求 {c} 减去 {b} 的差。",
            "一本书共{c}页，{name}已经读了{b}页，还剩多少页？",
            "解方程：x + {b} = {c}。",
            "{name}上半年做了{a}个{things}，下半年做了{b}个，全年做了多少个？",
        ),
        held=(
            "{place}春天种树{a}棵，秋天种树{b}棵，全年共种多少棵？",
            "已知 k - {b} = {a}，k 等于多少？",
            "{c}张票中有{b}张被退回，实际售出多少张？",
        ),
    ),
}


ASKS_BELOW_ZERO = {
    "en": Texts(
        train=(
            "What is {b} - {c}?",
            "The gauge of {name} stands at {b} and falls by {c}. What does it show?",
            "Subtract {c} from {b}.",
            "Solve for m: m + {c} = {b}.",
        ),
        held=("A sum of {b} is charged with {c}. State the balance.", "Find w such that w = {b} - {c}."),
    ),
    "zh": Texts(
        train=("计算 {b} - {c}。", "{name}账上有{b}元，扣去{c}元后余额是多少？", "{b} 减去 {c} 得多少？"),
        held=("从 {b} 里去掉 {c}，结果是多少？",),
    ),
}
"""What is asked where the value is below zero: ``{c}`` is larger than ``{b}``."""


def case(draws: Draws) -> Case:
    """Draw a question, forms of its answer, and near misses."""
    size, factors = _value(draws)
    value = -size if draws.chance(0.12) else size
    part = draws.between(1, size - 1)
    things = draws.word(vocabulary.SORTS[draws.language]["things"])
    noun = ("items", "pieces", "in total", "units")[draws.between(0, 3)]
    asks = ASKS if value > 0 else ASKS_BELOW_ZERO
    question, template = draws.ask(asks, a=size - part, b=part, c=size + part, things=things)
    template += ".below" if value < 0 else ""
    same: list[tuple[str, str] | tuple[str, str, str]] = [
        ("digits", str(value)),
        ("grouped", grouped(value)) if size > 999 else ("digits with full stop", f"{value}."),
        ("latex", f"${value}$"),
        ("point zero", f"{value}.0"),
        ("named", f"x = {value}"),
        ("bold", f"**{value}**"),
        ("boxed", f"\\boxed{{{value}}}"),
    ]
    if size > 999:
        same.append(("grouped, latex", grouped(value).replace(",", "{,}")))
    if value < 0:
        same.append(("minus sign", f"−{size}"))
    else:
        same += [("power", *power(draws, *factors))] if factors else _products(value)
    if things in question:
        same.append(("noun of the question", f"{value} {things}" if draws.language == "en" else f"{value}个{things}"))
    if draws.language == "en":
        same += [("noun", f"{value} {noun}"), ("words", in_words(value)), ("sentence", f"There are {grouped(value)}.")]
    else:
        same += [("noun", f"{value}个"), ("words", zh_words(value)), ("full width", str(value).translate(FULL_WIDTH))]
    return Case(
        question=question,
        template=template,
        same=forms(str(value), *same),
        other=misses(draws, value, factors),
        references=3,
    )


_Factors = tuple[int, int, int]
"""``many``, ``base``, ``exponent`` of ``many · base^exponent``."""


def _value(draws: Draws) -> tuple[int, _Factors | None]:
    """The value without its sign, and where it was drawn as a multiple of a power, what of."""
    way = draws.between(0, 99)
    if way < 22:
        return draws.number(2, 99), None
    if way < 88:
        return draws.magnitude(20, 999_999), None
    while True:
        many, base, exponent = draws.pick((1, 1, *range(2, 13))), draws.between(2, 10), draws.between(2, 6)
        value = many * base**exponent
        if 20 <= value < 100_000 and held_number(value) == (draws.side == "held"):
            break
    return value, (many, base, exponent)


def power(draws: Draws, many: int, base: int, exponent: int) -> tuple[str, str]:
    """``3 · 2^4``, and how it becomes a number: ``3 x 2^4 = 3 x 16 = 48``."""
    raised = draws.pick(
        (f"{base}^{exponent}", f"{base}^{{{exponent}}}", f"{base}{str(exponent).translate(SUPERSCRIPT)}")
    )
    said = f"{base}^{exponent}"
    if many == 1:
        steps = " x ".join([str(base)] * exponent)
        return raised, f"{said} = {steps} = {base**exponent}"
    times = draws.pick(("·", "×", "\\cdot"))
    return f"{many} {times} {raised}", f"{many} x {said} = {many} x {base**exponent} = {many * base**exponent}"


def _products(value: int) -> list[tuple[str, str, str]]:
    factor = next((one for one in (12, 11, 9, 8, 7, 6, 5, 4, 3, 2) if value % one == 0), None)
    if factor is None:
        return []
    return [("product", f"{factor} × {value // factor}", f"{factor} x {value // factor} = {value}")]


def misses(draws: Draws, value: int, factors: _Factors | None = None) -> tuple[Written, ...]:
    """Whole numbers near ``value``: a digit, the sign, the order of magnitude, two digits swapped, another power."""
    sign, digits = (-1, str(-value)) if value < 0 else (1, str(value))
    place = draws.between(0, len(digits) - 1)
    changed = digits[:place] + draws.pick([d for d in "123456789" if d != digits[place]]) + digits[place + 1 :]
    swap = draws.between(0, max(0, len(digits) - 2))
    swapped = digits[:swap] + digits[swap : swap + 2][::-1] + digits[swap + 2 :]
    wrong = [
        ("digit", sign * int(changed)),
        ("off by one", value + draws.pick((-1, 1))),
        ("swapped digits", sign * int(swapped)),
        ("sign", -value),
        ("order of magnitude", value * 10),
        ("order of magnitude", value * 1000),
        ("near", value + draws.pick((-100, -10, 10, 100))),
        ("digit dropped", sign * int(digits[:place] + digits[place + 1 :] or "0")),
    ]
    write = draws.pick((str, str, grouped, in_words if draws.language == "en" else zh_words))
    out = [Written(form, write(number), str(number)) for form, number in wrong]
    many, base, exponent = factors or (draws.between(1, 9), draws.between(2, 9), draws.between(2, 5))
    out.append(_other_power(draws, many, base, exponent + (draws.pick((-1, 1)) if exponent > 2 else 1)))
    if factors:
        out.append(_other_power(draws, many, base + draws.pick((-1, 1)), exponent))
        out.append(Written("power as a product", str(many * base * exponent), str(many * base * exponent)))
    for form, number in wrong[:2] if value > 0 else ():
        out += [Written(form, text, str(number), work) for _, text, work in _products(number)]
    return tuple(out)


def _other_power(draws: Draws, many: int, base: int, exponent: int) -> Written:
    text, work = power(draws, many, base, exponent)
    return Written("other power", text, str(many * base**exponent), work)
