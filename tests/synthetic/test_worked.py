"""Worked solutions: an error carries on as by hand, and gold is what a second reading of the text says."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from assay.core.errors import InputError
from assay.synthetic.draws import Draws
from assay.synthetic.stream import generate
from assay.synthetic.worked import evaluate, read_worked, spoil, worked_kind

CLIPS = read_worked(
    "How many clips in April and May?",
    "She sold 48/2 = <<48/2=24>>24 clips in May.\nIn all 48+24 = <<48+24=72>>72 clips.\n#### 72",
    "line 1",
)
PLANKS = read_worked("What do 1,200 planks cost?", "They cost 1200*2=$<<1200*2=2400>>2,400.\n#### 2,400", "line 2")


def draws(index: int) -> Draws:
    return Draws(kind="worked", side="train", language="en", shape="single", seed=0, index=index)


def test_sums_products_and_quotients_are_computed() -> None:
    assert evaluate("3*(4+.5)-6/4") == 12
    assert evaluate("1,200*2") == 2400
    assert (evaluate("2**9"), evaluate("x+1"), evaluate("1/0")) == (None, None, None)


def test_an_error_is_carried_on() -> None:
    """With x clips in May there are 48 + x in all, unless the slip is in that sum itself."""
    for index in range(40):
        found = spoil(draws(index), CLIPS)
        assert found is not None
        lines, last = found
        may, total = (Fraction(re.findall(r">>([0-9]+)", line)[0]) for line in lines)
        assert total == last != 72
        assert may == 24 or total == 48 + may


def test_gold_is_whether_the_text_ends_in_the_reference() -> None:
    kind = worked_kind([CLIPS, PLANKS])
    for index in range(200):
        one = generate(kind, index=index)
        numbers = re.findall(r"[0-9][0-9,]*(?:\.[0-9]+)?", one.item.candidates[0].text)
        assert (Fraction(numbers[-1].replace(",", "")) == Fraction(one.item.reference or "")) == (one.gold == (1.0,))
        left, right = (one.line((0,)) or "").split(" | ")
        assert (left == right) == (one.gold == (1.0,))


def test_what_is_no_worked_solution_is_refused() -> None:
    with pytest.raises(InputError, match="line 7: a worked solution must end in"):
        read_worked("q", "It is 5.", "line 7")
    with pytest.raises(InputError, match="too few"):
        worked_kind([CLIPS])
