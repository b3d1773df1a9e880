"""Figures worked out by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.report.bench.significance import Signs, bootstrap_p, sign_test, signs, worth


@pytest.mark.parametrize(
    ("better", "worse", "p"),
    [
        (0, 0, 1.0),
        (5, 5, 1.0),
        (6, 0, 2 / 64),  # 2 * 1 / 2**6
        (1, 5, 2 * (1 + 6) / 64),
        (2, 8, 2 * (1 + 10 + 45) / 1024),
    ],
)
def test_the_sign_test(better: int, worse: int, p: float) -> None:
    assert sign_test(better, worse) == pytest.approx(p, abs=1e-15)
    assert sign_test(worse, better) == pytest.approx(p, abs=1e-15)


def test_many_cases_are_no_trouble() -> None:
    # The normal approximation with continuity correction: (300 - 1) / sqrt(20,000) = 2.114.
    assert sign_test(10_150, 9_850) == pytest.approx(math.erfc(2.1142 / math.sqrt(2)), abs=2e-4)


@given(st.integers(0, 60), st.integers(0, 60))
def test_a_p_is_a_probability(better: int, worse: int) -> None:
    assert 0 < sign_test(better, worse) <= 1


def test_cases_are_counted_and_mcnemar_needs_right_or_wrong() -> None:
    found = signs([(0, 1), (0, 1), (1, 0), (1, 1)])
    assert found == Signs(better=2, worse=1, same=1, binary=True)
    assert found.p == 1.0
    assert not signs([(0.5, 1)]).binary


def test_the_bootstrap_counts_each_side_with_one_more() -> None:
    assert bootstrap_p([1.0] * 99) == 2 / 100
    assert bootstrap_p([0.0] * 10) == 1.0
    assert bootstrap_p([-1.0, 1.0, 1.0, 1.0]) == pytest.approx(2 * 2 / 5)
    assert bootstrap_p([]) is None


def test_what_a_case_is_worth() -> None:
    assert worth({"right": 0.5}) == 0.5
    assert worth({"right": 3.0, "pairs": 4.0}) == 0.75
    assert worth({"easy": 1.0, "normal": 1.0, "hard": 0.25}) == 0.75
    assert worth({"score": 7.0, "good": 1.0}) is None
