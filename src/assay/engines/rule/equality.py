"""Are two final answers equal? The rule ``math``: text first, then math-verify. Runs in a child, which may be killed.

1 means *shown* equal. 0 means not shown equal: an answer that holds no expression, or one that math-verify cannot
follow, is simply not the reference. What needs too much time or memory is neither: the child dies, which is a failure.

How a reference is read decides the comparison (``form.read_form``):

- an expression or a quantity is compared as mathematics. math-verify gets the whole of it in ``$...$``; left to itself
  it would take the last number out of ``x^2+1``. Units are compared by name where both sides have one.
- words, dates, times of day and numerals in a named base are compared as text: ``2024-03-01`` is not 2020.
- an expression that math-verify cannot read is compared as text too.
"""

from __future__ import annotations

import logging
import re
import sys
from functools import lru_cache
from typing import Any

from .form import Form, read_form, same_text

_WHOLE = re.compile(r"(?P<minus>-?)\+?(?=[0-9])0*(?P<digits>[0-9]*)")
"""A whole number, compared digit by digit: numbers of any length at once."""


def warm() -> None:
    """Import and build what the first question would otherwise pay for."""
    # math-verify warns, once and for all, that its own time limit is off. Ours is the kernel's.
    logging.getLogger("math_verify").setLevel(logging.ERROR)
    # A number of 100,000 digits is read and compared; the limit that Python sets would make it "no expression".
    sys.set_int_max_str_digits(0)
    equal("\\frac{x}{2}", "$0.5x$")


def obvious(gold: Form, given: Form) -> bool | None:
    """What the written forms alone decide; None where it takes algebra."""
    if gold.text == given.text:
        return True
    if gold.sort in ("text", "prose"):
        return same_text(gold.text, given.text)
    if given.sort == "text" or (gold.unit and given.unit and gold.unit != given.unit):
        return False
    one, other = _WHOLE.fullmatch(gold.math), _WHOLE.fullmatch(given.math)
    if one is None or other is None:
        return None
    return one["digits"] == other["digits"] and (one["minus"] == other["minus"] or not one["digits"])


def equal(reference: str, answer: str) -> bool:
    """Whether ``answer`` is shown to equal ``reference``. The order matters to math-verify."""
    gold, given = _reference(reference), read_form(answer)
    if (decided := obvious(gold, given)) is not None:
        return decided
    from math_verify import verify

    return bool(verify(_parsed_reference(gold), _parse(given, answer), timeout_seconds=None))


@lru_cache(maxsize=4096)
def _reference(reference: str) -> Form:
    return read_form(reference)


@lru_cache(maxsize=4096)
def _parsed_reference(form: Form) -> list[Any]:
    return _parse(form, form.text)


def _parse(form: Form, whole: str) -> list[Any]:
    """What math-verify reads: the expression if the answer is one as a whole, else whatever it finds in the text."""
    from math_verify import parse

    # 0 switches off math-verify's own limit, which needs signal.alarm and the main thread.
    return parse(f"${form.math}$" if form.math else whole, parsing_timeout=0)
