"""Amounts of money: signs and codes, cents, words; misses by the amount, the currency, a factor of a hundred."""

from __future__ import annotations

from ..draws import Draws, Texts
from ..numerals import in_words
from .case import Case, Written, forms

KIND = "money"

_CURRENCIES = {
    "en": (("$", "USD", "dollars", "cents"), ("€", "EUR", "euros", "cents"), ("£", "GBP", "pounds", "pence")),
    "zh": (("¥", "CNY", "元", "分"),),
}

ASKS = {
    "en": Texts(
        train=(
            "{name} spends {a} {unit} on {things} and {b} {unit} on bread. What is the total cost?",
            "A bill of {c} {unit} is reduced by {b} {unit}. How much is due?",
            "How much do two tickets at {a} and {b} {unit} cost together?",
            "{name} had {c} {unit} and paid {b}. How much money is left?",
            "What is the total of {a} {unit} and {b} {unit}?",
            "A shop in {place} takes {a} {unit} in the morning and {b} {unit} later. What are the day's takings?",
            "The fare is {a} {unit} plus a fee of {b} {unit}. What does {name} pay?",
            "A deposit of {b} {unit} is returned out of {c} {unit}. What is the rest?",
            "{name} earns {a} {unit} and gets a tip of {b} {unit}. What is earned in all?",
            "Prices: lamp {a}, rope {b} (in {unit}). What do both cost?",
            "From {c} {unit} a tax of {b} {unit} is taken. What remains?",
            "An account holds {a} {unit}; {b} {unit} are paid in. What is the balance?",
            "How much more is {c} {unit} than {b} {unit}?",
            "{name} and {name2} put in {a} and {b} {unit}. How much do they have together?",
            "The old price was {c} {unit}, the discount {b} {unit}. Give the new price.",
        ),
        held=(
            "A gift of {a} {unit} is topped up by {b} {unit}. State its worth.",
            "The market of {place} asks {a} {unit} for rent and {b} {unit} for water. What is the sum?",
            "{name} owes {c} {unit} and pays back {b}. What is still owed?",
            "Refund {b} {unit} on a purchase of {c} {unit}: what was spent?",
        ),
    ),
    "zh": Texts(
        train=(
            "{name}买{things}花了{a}元，买面包花了{b}元，一共花了多少钱？",
            "账单{c}元，优惠{b}元，应付多少？",
            "{name}有{c}元，付了{b}元，还剩多少钱？",
            "两张票分别是{a}元和{b}元，共多少钱？",
            "{place}的商店上午收入{a}元，下午收入{b}元，全天收入多少？",
            "原价{c}元，降价{b}元，现价多少？",
        ),
        held=("{name}欠{c}元，还了{b}元，还欠多少？", "房租{a}元，水费{b}元，合计多少？"),
    ),
}


def case(draws: Draws) -> Case:
    """Draw a question, forms of its answer, and near misses."""
    sign, code, unit, small = draws.pick(_CURRENCIES[draws.language])
    cents = draws.magnitude(105, 999_999)
    if draws.chance(0.3):
        cents = draws.number(20, 9999) * 100
    part = draws.between(1, cents - 1)
    amounts = {"a": _amount(cents - part), "b": _amount(part), "c": _amount(cents + part)}
    question, template = draws.ask(ASKS, unit=unit, **amounts)
    normal = f"{_amount(cents)} {code}"
    other = [one for one in _misses(draws, cents, (sign, code, unit, small)) if one.normal != normal]
    same = forms(normal, *_forms(draws, cents, sign, code, unit, small))
    return Case(question=question, template=template, same=same, other=tuple(other), references=3)


def _amount(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d}"


def _short(cents: int) -> str:
    return _amount(cents).rstrip("0").rstrip(".")


def _forms(
    draws: Draws, cents: int, sign: str, code: str, unit: str, small: str
) -> list[tuple[str, str] | tuple[str, str, str]]:
    whole, rest = divmod(cents, 100)
    gap = "" if draws.language == "zh" else " "
    same: list[tuple[str, str] | tuple[str, str, str]] = [
        ("sign", f"{sign}{_amount(cents)}"),
        ("word", f"{_short(cents)}{gap}{unit}"),
        ("grouped", f"{sign}{whole:,}.{rest:02d}"),
        ("code", f"{code} {_amount(cents)}"),
        ("code behind", f"{_short(cents)} {code}"),
        ("small coin", f"{cents}{gap}{small}", f"{cents} : 100 = {_amount(cents)} {code}"),
    ]
    if draws.language == "zh":
        if rest and rest % 10 == 0:
            same.append(("parts", f"{whole}元{rest // 10}角"))
        elif rest > 10:
            same.append(("parts", f"{whole}元{rest // 10}角{rest % 10}分"))
        return same
    same.append(("latex", f"\\{sign}{_amount(cents)}" if sign == "$" else f"{sign} {_amount(cents)}"))
    if rest:
        same.append(("parts", f"{whole} {unit} and {rest} {small}"))
    else:
        same.append(("words", f"{in_words(whole)} {unit}"))
    return same


def _misses(draws: Draws, cents: int, currency: tuple[str, str, str, str]) -> tuple[Written, ...]:
    sign, code, unit, small = currency
    gap = "" if draws.language == "zh" else " "
    wrong = [
        ("small coin", cents + draws.pick((-10, -1, 1, 10))),
        ("amount", cents + draws.pick((-1000, -100, 100, 1000))),
        ("factor", cents * 100),
        ("factor", cents * 10),
        ("digit", cents + draws.pick((2, 3, 20, 30, 200, 300))),
    ]
    out: list[Written] = []
    for form, amount in wrong:
        if amount <= 0:
            continue
        text = draws.pick((f"{sign}{_amount(amount)}", f"{_short(amount)}{gap}{unit}", f"{code} {_amount(amount)}"))
        out.append(Written(form, text, f"{_amount(amount)} {code}"))
    out.append(Written("coin for unit", f"{_short(cents)}{gap}{small}", f"{_amount(cents)} {small}"))
    strange = ("¥", "CNY") if draws.language == "en" else ("$", "USD")
    out.append(Written("currency", f"{strange[0]}{_amount(cents)}", f"{_amount(cents)} {strange[1]}"))
    return tuple(out)
