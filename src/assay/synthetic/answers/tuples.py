r"""Ordered lists: points, vectors, pairs of unknowns; order counts. Misses by order, sign, one part."""

from __future__ import annotations

from collections.abc import Sequence

from ..draws import Draws, Texts
from .case import Case, Written, forms

KIND = "tuple"

_NAMES = {2: ("x", "y"), 3: ("x", "y", "z")}

ASKS = {
    "en": Texts(
        train=(
            "The point ({first}) is moved by ({shift}). Where does it come to lie? Answer as ({names}).",
            "Solve the system for ({names}): the unknowns are those of point P plus ({shift}), with P = ({first}).",
            "Add the vectors ({first}) and ({shift}).",
            "Find ({names}) if ({names}) - ({shift}) = ({first}).",
            "{name} stands at ({first}) and goes by ({shift}). Give the new position.",
            "What are the coordinates of ({first}) after a shift by ({shift})?",
            "Compute ({first}) + ({shift}).",
            "A robot at ({first}) moves along ({shift}). At which point is it?",
            "Determine the sum of the position ({first}) and the step ({shift}).",
            "Give the ordered list that results from adding ({first}) to ({shift}).",
            "The map of {place} puts a well at ({first}); the spring lies ({shift}) further. Where?",
            "Translate ({first}) by the vector ({shift}).",
            "If A = ({first}) and AB = ({shift}), what is B?",
            "Which point is reached from ({first}) by adding ({shift})?",
            "Find the end of the arrow ({shift}) that starts in ({first}).",
        ),
        held=(
            "A lamp at ({first}) is carried by ({shift}). State where it ends up.",
            "Let u = ({first}), v = ({shift}). What is u + v?",
            "Ship {family} leaves ({first}) on the course ({shift}). Give its goal as a list.",
            "Shift the corner ({first}) by ({shift}); what are its coordinates then?",
        ),
    ),
    "zh": Texts(
        train=(
            "点({first})平移({shift})后的坐标是什么？",
            "求向量({first})与({shift})的和。",
            "{name}从({first})出发，移动({shift})，到达哪一点？",
            "计算 ({first}) + ({shift})。",
            "若 A = ({first})，AB = ({shift})，求 B。",
            "机器人在({first})，沿({shift})移动，它现在在哪里？",
        ),
        held=("设 u = ({first})，v = ({shift})，求 u + v。", "灯原在({first})，被移动({shift})，现在的位置是？"),
    ),
}


def case(draws: Draws) -> Case:
    """Draw a question, forms of its answer, and near misses."""
    size = draws.pick((2, 2, 3))
    while True:
        value = [draws.between(-40, 40) for _ in range(size)]
        if len(set(value)) == size and (sum(value) % 7 == 3) == (draws.side == "held"):
            break
    shift = [draws.between(-15, 15) for _ in range(size)]
    first = [one - by for one, by in zip(value, shift, strict=True)]
    question, template = draws.ask(ASKS, first=_list(first), shift=_list(shift), names=", ".join(_NAMES[size]))
    normal = f"({_list(value)})"
    same = forms(normal, *_forms(value))
    return Case(question=question, template=template, same=same, other=tuple(_misses(draws, value)), references=3)


def _list(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))


def _forms(value: Sequence[int]) -> list[tuple[str, str]]:
    names = _NAMES[len(value)]
    named = ", ".join(f"{name} = {one}" for name, one in zip(names, value, strict=True))
    backwards = ", ".join(f"{name} = {one}" for name, one in reversed(list(zip(names, value, strict=True))))
    return [
        ("round brackets", f"({_list(value)})"),
        ("close", f"({','.join(map(str, value))})"),
        ("latex", f"$\\left({_list(value)}\\right)$"),
        ("square brackets", f"[{_list(value)}]"),
        ("named", named),
        ("named, other order", backwards),
        ("angle brackets", f"⟨{_list(value)}⟩"),
        ("no brackets", _list(value)),
    ]


def _misses(draws: Draws, value: Sequence[int]) -> list[Written]:
    place = draws.between(0, len(value) - 1)
    off = [one + (draws.pick((-2, -1, 1, 2)) if at == place else 0) for at, one in enumerate(value)]
    sign = [-one if at == place else one for at, one in enumerate(value)]
    more = [*value, draws.between(-9, 9)]
    wrong = [
        ("order", [*value[1:], value[0]]),
        ("order", list(reversed(value))),
        ("one part", off),
        ("sign", sign),
        ("all signs", [-one for one in value]),
    ]
    out: list[Written] = []
    for form, numbers in wrong:
        ways = _forms(numbers)
        out.append(Written(form, ways[draws.between(0, len(ways) - 1)][1], f"({_list(numbers)})"))
    for form, numbers in (("part missing", list(value[:-1])), ("part too many", more)):
        out.append(Written(form, f"({_list(numbers)})", f"({_list(numbers)})"))
    return out
