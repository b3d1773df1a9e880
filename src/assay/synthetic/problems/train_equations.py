"""The equations of the training side; none of the families is shared with the held-out side."""

from __future__ import annotations

from ..draws import Draws
from .chain import Problem, Ref, Step
from .train_stories import Family

_LINEAR = {
    "en": (
        "Solve {task} for {v}.",
        "Find {v} if {task}.",
        "Which {v} satisfies {task}?",
        "Given {task}, what is {v}?",
        "Let {task}. Compute {v}.",
    ),
    "zh": ("解方程 {task}。", "已知 {task}，求 {v}。"),
}
_TWO_SIDES = {
    "en": ("Solve {task}.", "For which {v} does {task} hold?", "Find the root of {task}.", "Make {task} true."),
    "zh": ("解方程 {task}。", "{v} 取何值时 {task}？"),
}
_BRACKET = {
    "en": ("Solve {task} for {v}.", "What is {v} when {task}?", "Determine {v}: {task}.", "{task}. {v} = ?"),
    "zh": ("解方程 {task}。", "若 {task}，{v} 是多少？"),
}


def linear(draws: Draws) -> Problem:
    """a v + b = c."""
    english = draws.language == "en"
    v, root, a, b = draws.pick("xyz"), draws.number(2, 400), draws.between(2, 25), draws.between(1, 300)
    minus = draws.chance(0.4)
    c = a * root - b if minus else a * root + b
    steps = (
        Step(
            f"Bring {b} to the other side: {{eq}}." if english else f"把{b}移到右边：{{eq}}。",
            "+" if minus else "-",
            c,
            b,
        ),
        Step(f"Divide by {a}: {{eq}}." if english else f"两边除以{a}：{{eq}}。", ":", Ref(0), a),
    )
    task = f"{a}{v} {'-' if minus else '+'} {b} = {c}"
    return _asked(draws, _LINEAR, task, v, steps)


def two_sides(draws: Draws) -> Problem:
    """a v + b = c v + e, a above c."""
    english = draws.language == "en"
    v, root, c = draws.pick("tnm"), draws.number(2, 300), draws.between(2, 12)
    a, b = c + draws.between(2, 14), draws.between(1, 200)
    e = (a - c) * root + b
    steps = (
        Step(f"Collect the terms with {v}: {{eq}}." if english else f"合并{v}的系数：{{eq}}。", "-", a, c),
        Step("Collect the numbers: {eq}." if english else "合并常数：{eq}。", "-", e, b),
        Step("Divide: {eq}." if english else "相除：{eq}。", ":", Ref(1), Ref(0)),
    )
    return _asked(draws, _TWO_SIDES, f"{a}{v} + {b} = {c}{v} + {e}", v, steps)


def bracket(draws: Draws) -> Problem:
    """a (v - b) = c."""
    english = draws.language == "en"
    v, root, a = draws.pick("pqr"), draws.number(20, 500), draws.between(2, 19)
    b = draws.between(1, root - 1)
    steps = (
        Step(f"Divide by {a}: {{eq}}." if english else f"两边除以{a}：{{eq}}。", ":", a * (root - b), a),
        Step(f"Add {b}: {{eq}}." if english else f"两边加{b}：{{eq}}。", "+", Ref(0), b),
    )
    return _asked(draws, _BRACKET, f"{a}({v} - {b}) = {a * (root - b)}", v, steps)


def _asked(draws: Draws, asks: dict[str, tuple[str, ...]], task: str, v: str, steps: tuple[Step, ...]) -> Problem:
    text = draws.pick(asks[draws.language])
    return Problem(question=text.format(task=task, v=v), steps=steps)


EQUATIONS: tuple[Family, ...] = (linear, two_sides, bracket)
