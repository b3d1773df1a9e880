"""A problem as a chain of computations, and a solution of it as it is written down, right or with one error in it.

An error carries on: what is computed after it is computed with the wrong value, as people do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Literal, TypeAlias

from ..draws import Draws
from ..numerals import plain

Operation: TypeAlias = Literal["+", "-", "x", ":"]


@dataclass(frozen=True, slots=True)
class Ref:
    """The result of an earlier step, from 0."""

    step: int


Operand: TypeAlias = "int | Fraction | Ref"


@dataclass(frozen=True, slots=True)
class Step:
    """``said``: a sentence with ``{eq}`` where the computation stands."""

    said: str
    operation: Operation
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A question, the steps that solve it, and the unit of the result as it is written behind a number."""

    question: str
    steps: tuple[Step, ...]
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """A step as it was carried out: what is written, and what it should be given the numbers of the problem."""

    said: str
    equation: str
    result: Fraction
    computed: Fraction
    """What the written computation really gives."""
    due: str
    """The computation that the problem asks for here, with the values written before."""


Error: TypeAlias = Literal["slip", "operation", "operand", "final", "unfinished"]
_PLAUSIBLE = 12
"""After so many tries any error will do."""
ERRORS: tuple[Error, ...] = ("slip", "operation", "operand", "final", "unfinished")


@dataclass(frozen=True, slots=True)
class Solution:
    """``answer``: the value that it ends in. ``error``: None for a right one. ``at``: the wrong step, from 0."""

    steps: tuple[Done, ...]
    answer: Fraction
    error: Error | None = None
    at: int | None = None


def apply(operation: Operation, left: Fraction, right: Fraction) -> Fraction:
    """The exact result of one operation."""
    if operation == "+":
        return left + right
    if operation == "-":
        return left - right
    return left * right if operation == "x" else left / right


def solve(problem: Problem) -> Solution:
    """The right solution."""
    return _carry_out(problem, None, None, Fraction(0))


def spoil(draws: Draws, problem: Problem, truth: Fraction) -> Solution:
    """A solution with one error, which ends in another value than ``truth``; in a plausible one where there is any."""
    for tries in count():
        error = draws.pick(ERRORS)
        at = draws.between(0, len(problem.steps) - 1)
        if error == "unfinished" and len(problem.steps) < 2:
            continue
        try:
            solution = _carry_out(problem, error, at, _slip(draws, error))
        except ZeroDivisionError:
            continue
        # A fraction of a person or a negative number would give the error away without any reading.
        plausible = all(step.result.denominator == 1 and step.result >= 0 for step in solution.steps)
        if solution.answer != truth and ((plausible and solution.answer >= 0) or tries >= _PLAUSIBLE):
            return solution
    raise AssertionError("unreachable: the count never ends")


def _slip(draws: Draws, error: Error) -> Fraction:
    many = (-100, -20, -10, -9, -3, -2, -1, 1, 2, 3, 9, 10, 20, 100)
    return Fraction(draws.pick(many if error in ("slip", "final") else (-2, -1, 1, 2, 10)))


_SWAPPED: dict[Operation, Operation] = {"+": "-", "-": "+", "x": "+", ":": "x"}


def _carry_out(problem: Problem, error: Error | None, at: int | None, by: Fraction) -> Solution:
    results: list[Fraction] = []
    done: list[Done] = []
    for place, step in enumerate(problem.steps):
        left, right = _value(step.left, results), _value(step.right, results)
        due = _equation(step.operation, left, right)
        operation = step.operation
        if place == at and error == "operation":
            operation = _SWAPPED[operation]
        if place == at and error == "operand" and right + by != 0:
            right += by
        computed = apply(operation, left, right)
        result = computed + by if place == at and error == "slip" else computed
        equation = f"{_equation(operation, left, right)} = {plain(result)}"
        done.append(Done(step.said.replace("{eq}", equation), equation, result, computed, due))
        results.append(result)
    if error == "unfinished":
        done.pop()
        return Solution(tuple(done), results[-2], error, len(done))
    answer = results[-1] + by if error == "final" else results[-1]
    return Solution(tuple(done), answer, error, at if error != "final" else None)


def _value(operand: Operand, results: Sequence[Fraction]) -> Fraction:
    return results[operand.step] if isinstance(operand, Ref) else Fraction(operand)


def _equation(operation: Operation, left: Fraction, right: Fraction) -> str:
    shown = f"({plain(right)})" if right < 0 else plain(right)
    return f"{plain(left)} {operation} {shown}"
