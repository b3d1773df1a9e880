r"""Polynomials: terms in another order, expanded, factored, LaTeX; misses by a sign, a coefficient, a power."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd

from ..draws import Draws, Texts
from .case import Case, Written, forms

KIND = "algebra"

ASKS = {
    "en": Texts(
        train=(
            "Expand and simplify: {task}.",
            "Write {task} as a polynomial in {v}.",
            "What is {task}, simplified?",
            "Simplify {task}.",
            "Express {task} without brackets.",
            "Find an expression for {task}.",
            "{name} simplified {task}. What is the right result?",
            "Give {task} in its simplest form.",
            "Rewrite {task}.",
            "Collect the terms of {task}.",
            "Which polynomial equals {task}?",
            "A rectangle in {place} has the area {task}. Write it in another form.",
            "Carry out: {task}.",
            "Compute {task} symbolically.",
            "Reduce {task} as far as possible.",
        ),
        held=(
            "Work {task} out in full.",
            "State a simpler term that is equal to {task}.",
            "Bring {task} into the form of a sum.",
            "What does {task} come to for any {v}?",
        ),
    ),
    "zh": Texts(
        train=(
            "化简 {task}。",
            "展开 {task}。",
            "把 {task} 写成 {v} 的多项式。",
            "{task} 等于什么？",
            "合并同类项：{task}。",
            "计算 {task}。",
        ),
        held=("写出与 {task} 相等的最简式。", "将 {task} 写成和的形式。"),
    ),
}

Coefficients = Mapping[int, int]
"""Coefficient by power; zeros left out."""


def case(draws: Draws) -> Case:
    """Draw a question, forms of its answer, and near misses."""
    v = draws.pick("xyztn")
    root: tuple[int, int, int, int] | None = None
    if draws.chance(0.5):
        # (a v + b)(c v + d): can be shown factored.
        while True:
            root = (draws.between(1, 4), _nonzero(draws, 9), draws.between(1, 3), _nonzero(draws, 9))
            a, b, c, d = root
            value = {2: a * c, 1: a * d + b * c, 0: b * d}
            if _ours(value, draws):
                break
        task = f"({show({1: a, 0: b}, v)})({show({1: c, 0: d}, v)})"
    else:
        while True:
            value = {power: _nonzero(draws, 12) for power in draws.some((0, 1, 2, 3), draws.between(2, 3))}
            if max(value) > 0 and _ours(value, draws):
                break
        part = {power: _nonzero(draws, 9) for power in value}
        rest = {power: value[power] - part[power] for power in value}
        task = f"({show(part, v)}) + ({show(rest, v)})"
    value = {power: one for power, one in value.items() if one}
    question, template = draws.ask(ASKS, task=task, v=v)
    normal = show(value, v)
    same = forms(normal, *_forms(draws, value, v, root))
    other = _misses(draws, value, v) + _factored_misses(draws, v, root) + _bracket_misses(draws, value, v)
    return Case(question=question, template=template, same=same, other=tuple(other), references=3 if root else 2)


def _ours(value: Coefficients, draws: Draws) -> bool:
    total = sum(one * (power + 1) for power, one in value.items())
    return (total % 7 == 3) == (draws.side == "held")


def _nonzero(draws: Draws, most: int) -> int:
    number = draws.between(1, most)
    return number if draws.chance(0.55) else -number


def show(
    value: Coefficients, v: str, *, latex: bool = False, stars: bool = False, powers: tuple[int, ...] | None = None
) -> str:
    """A polynomial as text, highest power first unless ``powers`` says another order; ``stars``: as in a program."""
    order = powers if powers is not None else tuple(sorted(value, reverse=True))
    said = ""
    for power in order:
        one = value[power]
        if one == 0:
            continue
        exponent = f"^{{{power}}}" if latex else f"**{power}" if stars else f"^{power}"
        letters = "" if power == 0 else v if power == 1 else v + exponent
        size = "" if abs(one) == 1 and power else str(abs(one))
        if stars and size and letters:
            letters = f"*{letters}"
        sign = "-" if one < 0 else "+"
        said += f" {sign} {size}{letters}" if said else f"{'-' if one < 0 else ''}{size}{letters}"
    return said or "0"


def _forms(
    draws: Draws, value: Coefficients, v: str, root: tuple[int, int, int, int] | None
) -> list[tuple[str, str] | tuple[str, str, str]]:
    normal = show(value, v)
    mixed = tuple(draws.shuffled(tuple(value)))
    same: list[tuple[str, str] | tuple[str, str, str]] = [
        ("plain", normal),
        ("latex", f"${show(value, v, latex=True)}$"),
        *(_factored(root, v) if root else ()),
        *_bracketed(value, v),
        ("other order", show(value, v, powers=mixed), f"{show(value, v, powers=mixed)} = {normal}"),
        ("rising powers", show(value, v, powers=tuple(sorted(value)))),
        ("close", normal.replace(" ", "")),
        ("stars", show(value, v, stars=True)),
    ]
    power = max(value)
    half = draws.between(1, 9)
    split = {**value, power: value[power] - half}
    like = f"{half if half > 1 else ''}{v}{f'^{power}' if power > 1 else ''} + {show(split, v)}"
    if not like.split("+ ")[1].startswith("-"):
        same.append(("term split", like, f"{like} = {normal}"))
    return same


def _factored(root: tuple[int, int, int, int], v: str) -> list[tuple[str, str, str]]:
    """``(x - 2)(x - 3)`` in both orders, and how it is expanded."""
    a, b, c, d = root
    one, two = show({1: a, 0: b}, v), show({1: c, 0: d}, v)
    terms = f"{a * c}{v}^2 + ({a * d} + {b * c}){v} + ({b * d})"
    normal = show({2: a * c, 1: a * d + b * c, 0: b * d}, v)
    return [
        ("factored", f"({one})({two})", f"({one})({two}) = {terms} = {normal}"),
        ("factored, other order", f"({two})({one})", f"({two})({one}) = {terms} = {normal}"),
    ]


def _bracketed(value: Coefficients, v: str) -> list[tuple[str, str, str]]:
    """``3(x + 2)``, where the coefficients share a factor."""
    many = gcd(*value.values())
    if many < 2 or len(value) < 2:
        return []
    text = f"{many}({show({power: one // many for power, one in value.items()}, v)})"
    return [("common factor", text, f"{text} = {show(value, v)}")]


def _factored_misses(draws: Draws, v: str, root: tuple[int, int, int, int] | None) -> list[Written]:
    if root is None:
        return []
    a, b, c, d = root
    wrong = (
        ("sign of a factor", (a, -b, c, d)),
        ("sign of both factors", (a, -b, c, -d)),
        ("factor", (a, b + (1 if b > 0 else -1), c, d)),
    )
    out: list[Written] = []
    for form, other in wrong:
        _, text, work = draws.pick(_factored(other, v))
        out.append(Written(form, text, work.rpartition(" = ")[2], work))
    return out


def _bracket_misses(draws: Draws, value: Coefficients, v: str) -> list[Written]:
    power = draws.pick(tuple(value))
    many = gcd(*value.values())
    near = {**value, power: value[power] + draws.pick((-many, many))}
    kept = {one: number for one, number in near.items() if number}
    return [Written("bracket", text, show(kept, v), work) for _, text, work in _bracketed(kept, v)]


def _misses(draws: Draws, value: Coefficients, v: str) -> list[Written]:
    power = draws.pick(tuple(value))
    free = [one for one in (0, 1, 2, 3) if one not in value]
    wrong: list[tuple[str, dict[int, int]]] = [
        ("sign", {**value, power: -value[power]}),
        ("coefficient", {**value, power: value[power] + draws.pick((-1, 1, 2))}),
        ("coefficient", {**value, power: value[power] * 2}),
        ("all signs", {one: -number for one, number in value.items()}),
    ]
    if len(value) > 1:
        wrong.append(("term missing", {one: number for one, number in value.items() if one != power}))
    if free:
        moved = {one: number for one, number in value.items() if one != power}
        wrong.append(("power", {**moved, draws.pick(free): value[power]}))
    out: list[Written] = []
    for form, number in wrong:
        kept = {one: many for one, many in number.items() if many}
        text = draws.pick(
            (show(kept, v), f"${show(kept, v, latex=True)}$", show(kept, v, powers=tuple(draws.shuffled(tuple(kept)))))
        )
        out.append(Written(form, text, show(kept, v)))
    return out
