"""What an answer kind draws: a question, forms of the right value, and near misses, each with its normal form.

The normal form decides: two answers are equal if their normal forms are. ``work`` is how a text becomes its normal
form where that takes a computation (``3 h x 3600 = 10800 s``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ..draws import Draws


@dataclass(frozen=True, slots=True)
class Written:
    """One answer as written. ``form`` names the surface form or the error, for tables."""

    form: str
    text: str
    normal: str
    work: str = ""

    @property
    def line(self) -> str:
        """The normal form, after the computation that gives it where there is one."""
        return self.work or self.normal


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A question with forms of its answer (``same``; any of the first ``references`` may be the reference) and misses.

    A miss whose normal form happens to be that of the right value is dropped by whoever uses the case.
    """

    question: str
    template: str
    same: tuple[Written, ...]
    other: tuple[Written, ...]
    references: int


MakeCase: TypeAlias = Callable[[Draws], Case]


def forms(normal: str, *pairs: tuple[str, str] | tuple[str, str, str]) -> tuple[Written, ...]:
    """``(form, text)`` or ``(form, text, work)`` of one normal form, as records."""
    return tuple(Written(pair[0], pair[1], normal, *pair[2:]) for pair in pairs)
