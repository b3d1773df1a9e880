"""The table of rules. A rule is pure functions of its JSON arguments; to add one, write them and name it in ``RULES``.

``check`` and ``shortcut`` run in the parent and must be instant. ``answer`` runs in a child that is killed when it
takes too long or too much memory, so it may be as slow, or as fragile, as the question makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version

from assay.core.types import Json

from . import equality
from .form import read_form

Arguments = Mapping[str, Json]

SHORT = 400
"""Characters of an answer up to which the parent looks at it; a longer one is read by a child, which can be killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule by its functions.

    ``check``: raises ValueError, naming the argument, when the arguments are not those of the rule.
    ``shortcut``: the answer where it is obvious, else None. ``answer``: the answer as text. ``warm``: called once in
    each child, before it is ready. ``version``: changes when an answer may; it goes into cache keys.
    """

    check: Callable[[Arguments], None]
    shortcut: Callable[[Arguments], str | None]
    answer: Callable[[Arguments], str]
    warm: Callable[[], None]
    version: Callable[[], str]


def _math_texts(arguments: Arguments) -> tuple[str, str]:
    reference, answer = arguments.get("reference"), arguments.get("answer")
    if not isinstance(reference, str) or not reference.strip():
        raise ValueError(f"rule 'math' needs a 'reference' that is a non-empty text, got {reference!r:.80}")
    if not isinstance(answer, str):
        raise ValueError(f"rule 'math' needs an 'answer' that is a text, got {answer!r:.80}")
    if not isinstance(arguments.get("whole", False), bool):
        raise ValueError(f"rule 'math' takes true or false as 'whole', got {arguments['whole']!r:.80}")
    if unknown := arguments.keys() - {"reference", "answer", "whole"}:
        raise ValueError(f"rule 'math' takes 'reference', 'answer' and 'whole'; it does not know {sorted(unknown)}")
    return reference, answer


def _refused(arguments: Arguments, answer: str) -> bool:
    """With ``whole``: words around a number may take back what it says ("7 or 8"), so they are never shown equal.

    Nor is a long answer, of which nobody has read whether it is words.
    """
    return bool(arguments.get("whole", False)) and (len(answer) > SHORT or read_form(answer).sort == "prose")


def _math_check(arguments: Arguments) -> None:
    _math_texts(arguments)


def _math_shortcut(arguments: Arguments) -> str | None:
    """What the written forms decide (equal spellings, words, whole numbers); algebra is for a child."""
    reference, answer = _math_texts(arguments)
    if len(reference) > SHORT or len(answer) > SHORT:
        return None
    if _refused(arguments, answer):
        return "0"
    decided = equality.obvious(read_form(reference), read_form(answer))
    return None if decided is None else str(int(decided))


def _math_answer(arguments: Arguments) -> str:
    reference, answer = _math_texts(arguments)
    return str(int(not _refused(arguments, answer) and equality.equal(reference, answer)))


def _math_version() -> str:
    return f"math-1/math-verify-{version('math-verify')}/sympy-{version('sympy')}"


RULES: Mapping[str, Rule] = {
    "math": Rule(
        check=_math_check, shortcut=_math_shortcut, answer=_math_answer, warm=equality.warm, version=_math_version
    ),
}
