"""Sets of numbers or words: order and brackets do not count; misses by a missing, a foreign and a changed element."""

from __future__ import annotations

from collections.abc import Sequence

from .. import vocabulary
from ..draws import Draws, Texts
from .case import Case, Written, forms

KIND = "set"

ASKS = {
    "en": Texts(
        train=(
            "Which of the values {pool} belong to the set of {name}?",
            "Find all solutions.",
            "List all elements that {name} and {name2} have in common.",
            "Which members of {pool} were drawn in {place}?",
            "Give all roots of the equation of {family}.",
            "Name every entry that is in both lists.",
            "Which are the elements of the set S of {name}?",
            "What does the bag of {name} hold, out of {pool}?",
            "Find every value for which the test of {family} fails.",
            "List the entries marked in {place}, in any order.",
            "Which of {pool} are left after {name} took the others?",
            "State all that satisfy the rule of {family}.",
            "All answers are wanted: which of {pool} pass?",
            "Determine the set of values that the dial in {place} can show.",
            "Which ones out of {pool} did {name} choose?",
        ),
        held=(
            "Pick out of {pool} those that {family} allows.",
            "What is the intersection of the two collections of {name}?",
            "Write down each member that {place} has reported.",
            "Of {pool}, which remain?",
        ),
    ),
    "zh": Texts(
        train=(
            "{pool}中哪些属于{name}的集合？",
            "求方程的所有解。",
            "列出{name}和{name2}共有的所有元素。",
            "{place}抽到了{pool}中的哪些？",
            "写出满足条件的所有值。",
            "{name}从{pool}中选了哪些？",
        ),
        held=("{pool}中还剩下哪些？", "写出{place}上报的每一个成员。"),
    ),
}


def case(draws: Draws) -> Case:
    """Draw a question, forms of its answer, and near misses."""
    size = draws.pick((2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9))
    pool = _pool(draws, size + 5)
    value, rest = pool[:size], pool[size:]
    if value[0].isdecimal() and draws.chance(0.12):
        pool = [value[0], f"-{value[0]}", *(one for one in rest if one.lstrip("-") != value[0])]
        value, rest = pool[:2], pool[2:]
    joined = ("、" if draws.language == "zh" else ", ").join(draws.shuffled(pool))
    question, template = draws.ask(ASKS, pool=joined)
    other = _misses(draws, value, rest)
    same = forms(normal_set(value), *_forms(draws, value))
    return Case(question=question, template=template, same=same, other=tuple(other), references=5)


def normal_set(elements: Sequence[str]) -> str:
    """The elements once each, in order: numbers by size, words by letters."""
    if all(element.lstrip("-").isdecimal() for element in elements):
        return "{" + ", ".join(map(str, sorted({int(element) for element in elements}))) + "}"
    return "{" + ", ".join(sorted(set(elements))) + "}"


def _pool(draws: Draws, count: int) -> list[str]:
    pool: dict[str, None] = {}
    words = draws.chance(0.45)
    compose = draws.pick((vocabulary.coined, vocabulary.thing)) if draws.language == "en" else vocabulary.zh_things
    # Small numbers from 1 on are those of divisors, primes and multiples; wide ones differ in sign and in digits.
    low, high = draws.pick(((-60, 99), (-60, 99), (1, 60), (1, 400)))
    while len(pool) < count:
        pool[draws.word(compose) if words else str(draws.number(low, high))] = None
    return list(pool)


def _forms(draws: Draws, elements: Sequence[str]) -> list[tuple[str, str]]:
    mixed = draws.shuffled(elements)
    last = "和" if draws.language == "zh" else " and "
    comma = "、" if draws.language == "zh" else ", "
    lines = "\n".join(f"- {element}" for element in draws.shuffled(elements))
    named = _named(draws, mixed) if elements[0].lstrip("-").isdecimal() and len(elements) < 4 else []
    return [
        ("braces", "{" + ", ".join(elements) + "}"),
        ("plain", comma.join(elements)),
        ("sorted", normal_set(elements)),
        ("sorted, plain", comma.join(normal_set(elements)[1:-1].split(", "))),
        ("latex braces", "\\{" + ", ".join(mixed) + "\\}"),
        ("other order", "{" + ", ".join(mixed) + "}"),
        ("words between", comma.join(mixed[:-1]) + last + mixed[-1]),
        ("latex", "$\\{" + ", ".join(mixed) + "\\}$"),
        ("list", lines),
        ("close", "{" + ",".join(elements) + "}"),
        ("square brackets", "[" + ", ".join(mixed) + "]"),
        ("plain, other order", comma.join(reversed(mixed))),
        *named,
    ]


def _named(draws: Draws, elements: Sequence[str]) -> list[tuple[str, str]]:
    """Solutions of an equation, each with the name of the unknown; ``±`` for a number and its negative."""
    v = draws.pick("xyt")
    between = draws.pick((" or ", ", ")) if draws.language == "en" else draws.pick((" 或 ", "，"))
    said = [("named", between.join(f"{v} = {element}" for element in elements))]
    if len(elements) == 2 and int(elements[0]) == -int(elements[1]):
        size = elements[0].lstrip("-")
        said.append(
            ("plus or minus", draws.pick((f"±{size}", f"{v} = ±{size}", f"{v} = \\pm {size}", f"$\\pm {size}$")))
        )
    return said


def _misses(draws: Draws, value: Sequence[str], rest: Sequence[str]) -> list[Written]:
    place = draws.between(0, len(value) - 1)
    less = [one for at, one in enumerate(value) if at != place]
    wrong = [
        ("element changed", [*less, draws.pick(rest)]),
        ("element too many", [*value, draws.pick(rest)]),
        ("the others", list(rest[: len(value)])),
        ("element changed", [*less, rest[0]]),
        ("element too many", [*value, rest[1]]),
    ]
    if len(less) > 1:
        wrong += [
            ("element missing", less),
            ("element missing", list(value[1:])),
            ("element missing", list(value[:-1])),
        ]
    if value[place].lstrip("-").isdecimal():
        wrong.append(("sign", [*less, str(-int(value[place]))]))
        wrong.append(("element doubled", [*less, str(2 * int(value[place]))]))
        wrong.append(("near", [*less, str(int(value[place]) + draws.pick((-1, 1)))]))
    out: list[Written] = []
    for form, elements in wrong:
        ways = _forms(draws, elements)
        out.append(Written(form, ways[draws.between(0, len(ways) - 1)][1], normal_set(elements)))
    if len(value) == 2 and value[0].lstrip("-").isdecimal():
        one = draws.pick(value)
        text = draws.pick((one, f"x = {one}", f"\\{{{one}\\}}"))
        out.append(Written("one of two", text, normal_set([one])))
    return out
