r"""Intervals and inequalities of one unknown; misses by a bound, a bracket, the direction."""

from __future__ import annotations

from ..draws import Draws, Texts
from .case import Case, Written, forms

KIND = "interval"

ASKS = {
    "en": Texts(
        train=(
            "For which {v} does the rule of {name} hold?",
            "Solve the inequality of {family} for {v}.",
            "Which values may {v} take?",
            "Find all {v} that are allowed in {place}.",
            "Give the range of {v}.",
            "On which set of {v} is the function of {family} positive?",
            "State the domain in terms of {v}.",
            "What must hold for {v}?",
            "Determine every real {v} that satisfies the condition of {name}.",
            "Write the solution set for {v}.",
            "Between which bounds does {v} lie?",
            "When is the test of {family} passed, in terms of {v}?",
            "{name} asks for all possible {v}. Which are they?",
            "Describe the admissible {v}.",
            "Which interval does {v} run through?",
        ),
        held=(
            "Specify the {v} for which the bound of {family} is kept.",
            "Give all real {v} that {name} may use.",
            "What is the set of valid {v} in {place}?",
            "Name the solutions for {v}.",
        ),
    ),
    "zh": Texts(
        train=(
            "求 {v} 的取值范围。",
            "{v} 可以取哪些值？",
            "解关于 {v} 的不等式。",
            "写出 {v} 的解集。",
            "{name}的条件对哪些 {v} 成立？",
            "{v} 在什么范围内？",
        ),
        held=("写出所有满足条件的 {v}。", "{place}允许的 {v} 有哪些？"),
    ),
}


def case(draws: Draws) -> Case:
    """Draw a question, forms of its answer, and near misses."""
    v = draws.pick("xytkm")
    question, template = draws.ask(ASKS, v=v)
    low, high = sorted((draws.number(-60, 60), draws.number(-60, 60)))
    high += low == high
    sort = draws.between(0, 2)
    left, right = (low, None) if sort == 0 else (None, high) if sort == 1 else (low, high)
    closed = (draws.chance(0.5), draws.chance(0.5))
    normal = _normal(left, right, closed)
    other: list[Written] = []
    for form, bounds in _misses(draws, left, right, closed):
        ways = _forms(v, *bounds)
        other.append(Written(form, ways[draws.between(0, len(ways) - 1)][1], _normal(*bounds)))
    same = forms(normal, *_forms(v, left, right, closed))
    return Case(question=question, template=template, same=same, other=tuple(other), references=4)


_Bounds = tuple[int | None, int | None, tuple[bool, bool]]


def _normal(low: int | None, high: int | None, closed: tuple[bool, bool]) -> str:
    opens = "[" if low is not None and closed[0] else "("
    closes = "]" if high is not None and closed[1] else ")"
    return f"{opens}{'-∞' if low is None else low}, {'∞' if high is None else high}{closes}"


def _forms(v: str, low: int | None, high: int | None, closed: tuple[bool, bool]) -> list[tuple[str, str]]:
    normal = _normal(low, high, closed)
    latex = normal.replace("∞", "\\infty")
    same: list[tuple[str, str]] = []
    plain = [
        ("interval", normal),
        ("latex", f"${latex}$"),
        ("element", f"{v} ∈ {normal}"),
        ("latex, no dollars", latex),
        ("latex, element", f"{v} \\in {latex}"),
        ("latex, left and right", f"\\left{latex[:-1]}\\right{latex[-1]}"),
    ]
    less, tex = ("≤" if one else "<" for one in closed), ("\\le" if one else "<" for one in closed)
    (low_sign, high_sign), (low_tex, high_tex) = less, tex
    more_tex = "\\ge" if closed[0] else ">"
    if low is not None and high is not None:
        same += [
            ("inequality", f"{low} {low_sign} {v} {high_sign} {high}"),
            ("inequality, latex", f"${low} {low_tex} {v} {high_tex} {high}$"),
            ("two inequalities", f"{v} {high_sign} {high} and {v} {'≥' if closed[0] else '>'} {low}"),
            ("inequality, ascii", f"{low} {low_sign.replace('≤', '<=')} {v} {high_sign.replace('≤', '<=')} {high}"),
        ]
    elif high is not None:
        same += [
            ("inequality", f"{v} {high_sign} {high}"),
            ("inequality, turned", f"{high} {'≥' if closed[1] else '>'} {v}"),
            ("inequality, latex", f"${v} {high_tex} {high}$"),
            ("inequality, ascii", f"{v} {high_sign.replace('≤', '<=')} {high}"),
        ]
    else:
        same += [
            ("inequality", f"{v} {'≥' if closed[0] else '>'} {low}"),
            ("inequality, turned", f"{low} {low_sign} {v}"),
            ("inequality, latex", f"{v} {more_tex} {low}"),
            ("inequality, ascii", f"{v} {'>=' if closed[0] else '>'} {low}"),
        ]
    # Both sorts may be the reference: an interval is asked against an inequality as often as the other way round.
    return [plain[0], same[0], plain[1], same[1], *plain[2:], *same[2:]]


def _misses(draws: Draws, low: int | None, high: int | None, closed: tuple[bool, bool]) -> list[tuple[str, _Bounds]]:
    step = draws.pick((-2, -1, 1, 2))
    wrong: list[tuple[str, _Bounds]] = []
    if low is not None:
        wrong.append(("bracket", (low, high, (not closed[0], closed[1]))))
        if high is None or low + step < high:
            wrong.append(("bound", (low + step, high, closed)))
    if high is not None:
        wrong.append(("bracket", (low, high, (closed[0], not closed[1]))))
        if low is None or low < high + step:
            wrong.append(("bound", (low, high + step, closed)))
    if low is None or high is None:
        wrong.append(("direction", (high, low, (closed[1], closed[0]))))
        sign = (None if low is None else -low, None if high is None else -high, closed)
        wrong.append(("sign", sign))
    else:
        wrong.append(("half of it", (low, None, closed)))
        wrong.append(("half of it", (None, high, closed)))
    return wrong
