from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.audit.kappa import alpha, kappa
from assay.core.intervals import bootstrap

# The reliability data of Krippendorff (2011), section C and D: four observers, twelve units, gaps.
OBSERVERS = (
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
)

APART = [("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15


def textbook() -> list[tuple[int, ...]]:
    rows = [line.split() for line in OBSERVERS]
    return [tuple(int(label) for label in unit if label != ".") for unit in zip(*rows, strict=True)]


@pytest.mark.parametrize(("metric", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_of_the_textbook(metric: str, value: float) -> None:
    assert alpha(textbook(), metric) == pytest.approx(value, abs=5e-4)  # type: ignore[arg-type]


def test_alpha_by_hand() -> None:
    # Two observers, ten units, 0 or 1: four units differ, so o01 = o10 = 4 of 20 values; n0 = 14, n1 = 6.
    # Observed 8/20, expected 2 * 14 * 6 / (20 * 19), alpha = 1 - 0.4 * 380 / 168.
    one, other = "0100000010", "1110010000"
    units = list(zip(one, other, strict=True))
    assert alpha(units) == pytest.approx(1 - 0.4 * 380 / 168)
    assert alpha(units) == pytest.approx(0.095, abs=5e-4)


def test_kappa_by_hand() -> None:
    # Both yes 20, both no 15, 5 and 10 apart: observed 0.7; expected (25 * 30 + 25 * 20) / 50^2 = 0.5.
    assert kappa(APART) == pytest.approx(0.4)


def test_where_there_is_no_variation_there_is_nothing_beyond_chance() -> None:
    same = [("a", "a")] * 9
    assert kappa([]) is None
    assert kappa(same) is None
    assert alpha([]) is None
    assert alpha(same) is None
    assert alpha([("a",), ("b",)]) is None
    assert bootstrap([], kappa) is None
    assert bootstrap(same, kappa) is None


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=40))
def test_agreement_does_not_depend_on_who_is_named_first(pairs: list[tuple[str, str]]) -> None:
    turned = [(other, one) for one, other in pairs]
    for statistic in (kappa, alpha):
        one, other = statistic(pairs), statistic(turned)
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert one == pytest.approx(other)
            assert one <= 1 + 1e-9


def test_the_bootstrap_is_seeded_and_holds_the_value() -> None:
    found = bootstrap(APART, kappa, seed=3)
    assert found == bootstrap(APART[::-1], kappa, seed=3) != bootstrap(APART, kappa, seed=4)
    assert found is not None
    low, high = found
    assert 0.05 < low < 0.3 < 0.5 < high < 0.75
