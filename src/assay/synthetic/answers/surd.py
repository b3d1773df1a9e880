r"""Roots and multiples of π: another radicand with the factor in front, LaTeX, signs; misses by factor and radicand."""

from __future__ import annotations

from ..draws import Draws, Texts
from .case import Case, Written, forms

KIND = "surd"

_FREE = (2, 3, 5, 6, 7, 10, 11, 13, 14, 15, 17, 19, 21, 22, 23)

ASKS = {
    "en": Texts(
        train=(
            "How long is the diagonal in the drawing of {name}? Give an exact answer.",
            "Find the exact value of {task}.",
            "Simplify {task}.",
            "What is {task}, exactly?",
            "{name} computed {task}. Which exact result is right?",
            "Evaluate {task} without rounding.",
            "Give {task} in simplest form.",
            "Express {task} as a single term.",
            "The plan of {place} asks for {task}. Write it exactly.",
            "Compute {task}; leave roots and constants as they are.",
            "Which single term equals {task}?",
            "Collect {task}.",
            "Determine {task} exactly.",
            "Add up: {task}.",
            "What does {task} come to? No decimals.",
        ),
        held=(
            "State {task} in exact form.",
            "Write {task} with one term only.",
            "Work out {task}, keeping the answer exact.",
            "Bring {task} to its simplest exact form.",
        ),
    ),
    "zh": Texts(
        train=(
            "求 {task} 的精确值。",
            "化简 {task}。",
            "{task} 等于多少？（精确值）",
            "计算 {task}，不要取近似值。",
            "把 {task} 写成一项。",
            "{name}算的是 {task}，正确结果是什么？",
        ),
        held=("写出 {task} 的精确形式。", "将 {task} 化为最简。"),
    ),
}


def case(draws: Draws) -> Case:
    """Draw a question, forms of its answer, and near misses."""
    while True:
        many, inside = draws.between(2, 30), draws.pick((0, *_FREE))
        if ((many * 5 + inside) % 7 == 3) == (draws.side == "held"):
            break
    part = draws.between(1, many - 1)
    question, template = draws.ask(ASKS, task=f"{_term(part, inside)} + {_term(many - part, inside)}")
    normal = _term(many, inside)
    other: list[Written] = []
    wrong = [
        ("factor", many + draws.pick((-1, 1, 2)), inside),
        ("factor", many * 2, inside),
        ("inside", many, draws.pick([one for one in (0, *_FREE) if one != inside])),
        ("sign", -many, inside),
        ("root forgotten", many, 1),
    ]
    for form, number, radicand in wrong:
        ways = _forms(number, radicand)
        way = ways[draws.between(0, len(ways) - 1)]
        other.append(Written(form, way[1], _term(number, radicand), *way[2:]))
    if inside:
        other.append(Written("factor inside", f"\\sqrt{{{many * inside}}}", _term(1, many * inside)))
    return Case(
        question=question,
        template=template,
        same=forms(normal, *_forms(many, inside)),
        other=tuple(other),
        references=3,
    )


def _term(many: int, inside: int) -> str:
    """``inside`` 0 means π, 1 no root at all."""
    if inside == 1:
        return str(many)
    factor = {1: "", -1: "-"}.get(many, str(many))
    return f"{factor}{'π' if inside == 0 else f'√{inside}'}"


def _forms(many: int, inside: int) -> list[tuple[str, str] | tuple[str, str, str]]:
    normal = _term(many, inside)
    factor = {1: "", -1: "-"}.get(many, str(many))
    if inside == 1:
        return [("digits", normal), ("latex", f"${normal}$")]
    if inside == 0:
        return [
            ("sign", normal),
            ("latex", f"{factor}\\pi"),
            ("latex in dollars", f"${factor}\\pi$"),
            ("word", f"{factor} pi" if factor not in ("", "-") else f"{factor}pi"),
            ("star", f"{many}*pi"),
            ("dot", f"{many} \\cdot \\pi"),
        ]
    root = f"\\sqrt{{{inside}}}"
    same: list[tuple[str, str] | tuple[str, str, str]] = [
        ("sign", normal),
        ("latex", f"{factor}{root}"),
        ("latex in dollars", f"${factor}{root}$"),
        ("function", f"{many}*sqrt({inside})"),
        ("dot", f"{many} \\cdot {root}"),
    ]
    if 1 < many < 13:
        whole = many * many * inside
        same.append(("one root", f"\\sqrt{{{whole}}}", f"√{whole} = √({many * many} x {inside}) = {normal}"))
    return same
