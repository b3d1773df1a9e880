"""The equations of the held-out side; see ``train_equations``."""

from __future__ import annotations

from ..draws import Draws
from .chain import Problem, Ref, Step
from .train_stories import Family


def quotient(draws: Draws) -> Problem:
    """v / a + b = c."""
    english = draws.language == "en"
    v, a, part, b = draws.pick("uvw"), draws.between(2, 19), draws.number(20, 200), draws.between(2, 99)
    task = f"{v}/{a} + {b} = {part + b}"
    steps = (
        Step("Without the summand: {eq}." if english else "去掉加数：{eq}。", "-", part + b, b),
        Step("Times the denominator: {eq}." if english else "乘以分母：{eq}。", "x", Ref(0), a),
    )
    text = f"Work out {v} from {task}." if english else f"由 {task} 求出 {v}。"
    return Problem(question=text, steps=steps)


def double_bracket(draws: Draws) -> Problem:
    """a (v + b) + c = e."""
    english = draws.language == "en"
    v, a, root = draws.pick("ghk"), draws.between(2, 12), draws.number(20, 300)
    b, c = draws.between(1, 50), draws.between(1, 99)
    task = f"{a}({v} + {b}) + {c} = {a * (root + b) + c}"
    said = ("Take off the last summand: {eq}.", "Undo the factor: {eq}.", "Undo the inner summand: {eq}.")
    told = said if english else ("减去末项：{eq}。", "除去系数：{eq}。", "减去括号内的加数：{eq}。")
    steps = (
        Step(told[0], "-", a * (root + b) + c, c),
        Step(told[1], ":", Ref(0), a),
        Step(told[2], "-", Ref(1), b),
    )
    text = f"State the value of {v} for which {task}." if english else f"写出使 {task} 成立的 {v}。"
    return Problem(question=text, steps=steps)


EQUATIONS: tuple[Family, ...] = (quotient, double_bracket)
