import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.report.intervals import Rate, auc_interval, balanced_accuracy


def test_a_rate_of_nothing_has_no_interval():
    assert Rate(hits=0, n=0).interval is None


def test_a_rate_has_the_wilson_interval():
    # 8 of 10, z = 1.96: centre (0.8 + 0.19208) / 1.38416, half width sqrt(0.016 + 0.0096040) * 1.96 / 1.38416.
    found = Rate(hits=8, n=10).interval
    assert found.value == 0.8
    assert found.low == pytest.approx(0.4902, abs=1e-4)
    assert found.high == pytest.approx(0.9433, abs=1e-4)


def test_balanced_accuracy_adds_the_distances_as_squares():
    one, other = Rate(hits=8, n=10), Rate(hits=8, n=10)
    found = balanced_accuracy(one, other)
    # Both distances are 0.3098 down and 0.1433 up; half of the root of twice their square.
    assert found.value == pytest.approx(0.8)
    assert found.low == pytest.approx(0.8 - 0.30984 / math.sqrt(2), abs=1e-4)
    assert found.high == pytest.approx(0.8 + 0.14331 / math.sqrt(2), abs=1e-4)
    assert balanced_accuracy(one, Rate(hits=0, n=0)) is None


@pytest.mark.parametrize(("area", "m", "n"), [(0.5, 20, 20), (0.75, 12, 30), (0.9, 50, 5)])
def test_the_limits_of_an_auc_solve_their_equation(area, m, n):
    found = auc_interval(area, m, n)
    for limit in (found.low, found.high):
        spread = 1 + ((m + n) / 2 - 1) * ((1 - limit) / (2 - limit) + limit / (1 + limit))
        deviation = math.sqrt(limit * (1 - limit) * spread / (m * n))
        assert abs(area - limit) == pytest.approx(1.96 * deviation, abs=1e-6)
    assert found.low < area < found.high


def test_a_perfect_auc_still_has_a_width():
    found = auc_interval(1.0, 10, 10)
    assert found.high == pytest.approx(1.0)
    assert 0.6 < found.low < 0.9
    assert auc_interval(1.0, 1000, 1000).low > 0.99
    assert auc_interval(0.0, 10, 10).high == pytest.approx(1 - found.low)


@given(st.floats(0, 1), st.integers(1, 2000), st.integers(1, 2000))
def test_an_auc_lies_inside_its_interval(area, m, n):
    found = auc_interval(area, m, n)
    assert -1e-9 <= found.low <= area + 1e-6
    assert area - 1e-6 <= found.high <= 1 + 1e-9
