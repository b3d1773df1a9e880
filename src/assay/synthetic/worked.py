"""Items out of worked solutions in the notation of GSM8K: right ones in other dress, wrong ones with an error put in.

A solution is lines of prose with computations in ``<<48/2=24>>24`` and a last line ``#### 72``. An error carries on:
what is computed from a wrong number is computed anew. The solutions come from a file of the user's; none is kept here.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from assay.core.errors import InputError

from .assembly import build, size_of
from .draws import Draws, Texts
from .frames import FRAMES
from .numerals import plain
from .record import Candidate, Criterion, Finding, Generated, Kind, Shape

NAME = "worked"

CRITERION = Criterion("Correct result", "the final answer has the value of the reference", 100)

_MARK = re.compile(r"<<([^<>=]{1,120})=([^<>=]{1,40})>>")
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w]|\.\d)")
_ENDS = Texts(
    train=("#### {x}", "A: {x}", "A: {x}", "Answer: {x}", "The answer is {x}.", "So the answer is {x}.", "Total: {x}"),
    held=("Result: {x}", "Hence {x}."),
)
_DRESSES = ("{x}", "{x}", "{x}", "${x}", "{x}.0", "{x}.00", "**{x}**", "\\boxed{{x}}")
_OPERATIONS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


@dataclass(frozen=True, slots=True)
class Worked:
    """A question, the lines of its solution without the last one, and the value that it ends in."""

    question: str
    lines: tuple[str, ...]
    answer: Fraction


def read_worked(question: str, answer: str, where: str) -> Worked:
    """A row of the file; ``where`` names it in errors.

    Raises:
        InputError: the answer does not end in ``#### number``.
    """
    prose, marker, last = answer.rpartition("####")
    value = _value(last)
    if not marker or value is None:
        raise InputError(f"{where}: a worked solution must end in '#### number', this one ends in {answer[-40:]!r}")
    lines = tuple(line.strip() for line in prose.strip().splitlines() if line.strip())
    return Worked(question.strip(), lines, value)


def worked_kind(solutions: Sequence[Worked]) -> Kind:
    """Their items as a kind, to be drawn from like any other. Raises InputError: there are too few of them."""
    if len(solutions) < 2:
        raise InputError(f"{len(solutions)} worked solutions are too few: wrong answers are taken from others, too")

    def make(draws: Draws, shape: Shape) -> Generated:
        return _item(draws, shape, solutions)

    return Kind(name=NAME, group="problems", languages=("en",), reference=True, make=make)


def _item(draws: Draws, shape: Shape, solutions: Sequence[Worked]) -> Generated:
    one = draws.pick(solutions)
    size = size_of(draws, shape)
    right = size > 1 or draws.chance(0.5)
    candidates = [_right(draws, one)] if right else []
    texts = {candidate.text for candidate in candidates}
    while len(candidates) < size:
        wrong = _wrong(draws, one, solutions)
        if wrong is not None and wrong.text not in texts:
            texts.add(wrong.text)
            candidates.append(wrong)
    candidates = draws.shuffled(candidates)
    return build(
        draws,
        shape,
        kind=NAME,
        question=one.question,
        template=f"{NAME}.en.{draws.side}",
        reference=plain(one.answer),
        candidates=candidates,
        criteria=(CRITERION,),
        normal=(plain(one.answer), *map(_last, candidates)),
    )


def _last(candidate: Candidate) -> str:
    """The value that a candidate's finding names."""
    return candidate.findings[0].said.partition("ends in ")[2].partition(";")[0]


def _right(draws: Draws, one: Worked) -> Candidate:
    if draws.chance(0.35):
        return _final(draws, one, one.answer, 1.0, "final answer")
    return _whole(draws, one, one.lines, one.answer, 1.0, "solution")


def _wrong(draws: Draws, one: Worked, solutions: Sequence[Worked]) -> Candidate | None:
    """One error of a drawn sort; None where this solution does not allow it."""
    sort = draws.between(0, 5)
    near = _near(draws, one)
    if sort == 0:
        return None if near == one.answer else _final(draws, one, near, 0.0, "final near miss")
    if sort == 1:
        return None if near == one.answer else _whole(draws, one, one.lines, near, 0.0, "last line")
    if sort == 2:
        results = [value for value in _results(one.lines) if value != one.answer]
        if not results:
            return None
        value = draws.pick(results)
        cut = draws.chance(0.5) and len(one.lines) > 1
        return _whole(draws, one, one.lines[:-1] if cut else one.lines, value, 0.0, "intermediate value")
    if sort == 3:
        other = draws.pick(solutions)
        return None if other.answer == one.answer else _whole(draws, one, other.lines, other.answer, 0.0, "another's")
    spoiled = spoil(draws, one)
    if spoiled is None or spoiled[1] == one.answer:
        return None
    if sort == 4:
        return _final(draws, one, spoiled[1], 0.0, "final of a wrong solution")
    return _whole(draws, one, spoiled[0], spoiled[1], 0.0, "carried on")


def spoil(draws: Draws, one: Worked) -> tuple[tuple[str, ...], Fraction] | None:
    """The solution with one computation done wrongly, and all that follows from it done anew; with its last value.

    None where the chain of its computations cannot be followed to the answer.
    """
    results = _results(one.lines)
    if not results or results[-1] != one.answer:
        return None
    at = draws.between(0, len(results) - 1)
    renamed: dict[Fraction, Fraction] = {}
    lines: list[str] = []
    place = -1
    for line in one.lines:
        done: list[str] = []
        end = 0
        for mark in _MARK.finditer(line):
            place += 1
            before = _renumber(line[end : mark.start()], renamed)
            expression = _renumber(mark[1], renamed)
            old, new = _value(mark[2]), evaluate(expression)
            if old is None or new is None:
                return None
            if place == at:
                new += Fraction(draws.pick((-10, -5, -2, -1, 1, 2, 3, 10, 20)))
            if new < 0 or (new.denominator != 1 and old.denominator == 1):
                return None
            if new != old:
                renamed[old] = new
            done.append(f"{before}<<{expression}={_short(new)}>>")
            end = mark.end()
        done.append(_renumber(line[end:], renamed))
        lines.append("".join(done))
    last = renamed.get(one.answer, one.answer)
    return tuple(lines), last


def evaluate(expression: str) -> Fraction | None:
    """The value of sums, products and quotients of numbers; None for anything else."""
    try:
        return _computed(ast.parse(expression.replace(",", "").replace("$", "").strip(), mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError):
        return None


def _computed(node: ast.expr) -> Fraction:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return Fraction(str(node.value))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_computed(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](_computed(node.left), _computed(node.right))
    raise ValueError(f"not a computation: {ast.dump(node)[:40]}")


def _results(lines: Iterable[str]) -> list[Fraction]:
    found = [_value(mark[2]) for line in lines for mark in _MARK.finditer(line)]
    return [value for value in found if value is not None]


def _renumber(text: str, renamed: dict[Fraction, Fraction]) -> str:
    """The text with every number that has another value now."""

    def now(match: re.Match[str]) -> str:
        value = _value(match[0])
        return match[0] if value is None or value not in renamed else _short(renamed[value])

    return _NUMBER.sub(now, text) if renamed else text


def _near(draws: Draws, one: Worked) -> Fraction:
    """A number that is close to the answer, by value or by look."""
    value = one.answer
    sort = draws.between(0, 4)
    if sort == 0:
        return value + draws.pick((-2, -1, 1, 2))
    if sort == 1:
        return value * 10 if draws.chance(0.5) or value.denominator > 1 or value % 10 else value / 10
    if sort == 2:
        return value + draws.pick((-100, -50, -20, -10, -5, 5, 10, 20, 50, 100))
    if sort == 3:
        return value * 2 if draws.chance(0.5) or value.denominator > 1 or value % 2 else value / 2
    digits = list(str(abs(value.numerator)))
    at = draws.between(0, len(digits) - 1)
    digits[at] = draws.pick([digit for digit in "123456789" if digit != digits[at]])
    return Fraction(int("".join(digits)), value.denominator)


def _final(draws: Draws, one: Worked, value: Fraction, gold: float, form: str) -> Candidate:
    _, frame = draws.text(FRAMES["en"])
    return _candidate(frame.replace("{x}", _dressed(draws, value)), one, value, gold, form)


def _whole(draws: Draws, one: Worked, lines: Sequence[str], value: Fraction, gold: float, form: str) -> Candidate:
    _, end = draws.text(_ENDS)
    if draws.chance(0.5):
        lines = [_MARK.sub("", line) for line in lines]
    return _candidate("\n".join([*lines, end.replace("{x}", _dressed(draws, value))]), one, value, gold, form)


def _candidate(text: str, one: Worked, value: Fraction, gold: float, form: str) -> Candidate:
    said = f"it ends in {plain(value)}; the reference is {plain(one.answer)}"
    return Candidate(text, gold, form, (Finding(bool(gold), said),))


def _dressed(draws: Draws, value: Fraction) -> str:
    dress = draws.pick(_DRESSES)
    shown = _short(value)
    if ".0" in dress and value.denominator > 1:
        dress = "{x}"
    if value.denominator == 1 and abs(value) >= 1000 and draws.chance(0.5):
        shown = f"{value.numerator:,}"
    return dress.replace("{x}", shown)


def _short(value: Fraction) -> str:
    said = plain(value)
    return said if "/" not in said else f"{float(value):.2f}"


def _value(text: str) -> Fraction | None:
    try:
        return Fraction(text.strip().lstrip("$").replace(",", ""))
    except (ValueError, ZeroDivisionError):
        return None
