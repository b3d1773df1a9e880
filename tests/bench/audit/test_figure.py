from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.audit.figure import difference, measured, paired_difference, share


def test_a_share_by_hand() -> None:
    # Wilson at 8 of 10: centre (0.8 + 0.19208) / 1.38416, the limits as in any table.
    found = share("x", [True] * 8 + [False] * 2, failed=3)
    assert (found.value, found.hits, found.n, found.failed) == (0.8, 8, 10, 3)
    assert (found.low, found.high) == (pytest.approx(0.490, abs=1e-3), pytest.approx(0.943, abs=1e-3))
    assert share("x", []).value is None


def test_a_difference_by_hand() -> None:
    # Newcombe 1998, table II, contrast (a): 56/70 - 48/80, method 10: 0.0524 to 0.3339.
    found = difference("x", share("a", [True] * 56 + [False] * 14), share("b", [True] * 48 + [False] * 32))
    assert found.value == pytest.approx(0.2)
    assert found.low == pytest.approx(0.0524, abs=2e-4)
    assert found.high == pytest.approx(0.3339, abs=2e-4)
    assert difference("x", share("a", []), share("b", [True])).value is None


def test_a_paired_difference_by_hand() -> None:
    # 12 lost, 4 gained, of 40: (12.5 - 4.5) / 42 = 0.19048, variance (17 / 42 - 0.19048^2) / 42 = 0.0087735.
    pairs = [(True, False)] * 12 + [(False, True)] * 4 + [(True, True)] * 20 + [(False, False)] * 4
    found = paired_difference("x", pairs)
    assert found.value == pytest.approx(0.2)
    assert found.low == pytest.approx(0.19048 - 1.96 * 0.0087735**0.5, abs=1e-4)
    assert found.high == pytest.approx(0.19048 + 1.96 * 0.0087735**0.5, abs=1e-4)
    assert paired_difference("x", []).value is None


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_intervals_hold_what_they_are_of(pairs: list[tuple[bool, bool]]) -> None:
    one, other = share("a", [a for a, _ in pairs]), share("b", [b for _, b in pairs])
    for found in (one, other, difference("x", one, other)):
        assert found.value is not None
        assert found.low is not None
        assert found.high is not None
        assert found.low - 1e-9 <= found.value <= found.high + 1e-9
    paired = paired_difference("x", pairs)
    assert paired.low is not None
    assert paired.high is not None
    assert -1 <= paired.low <= paired.high <= 1


def test_what_is_over_nothing_is_left_out() -> None:
    seen, failed = share("a", [True]), share("b", [], failed=2)
    assert measured(seen, failed, share("c", [])) == (seen, failed)
