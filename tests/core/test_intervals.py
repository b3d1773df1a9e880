import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.intervals import Rate, auc_interval, bootstrap, difference, paired_difference, weighted_mean


def test_a_rate_of_nothing_has_no_interval():
    assert Rate(hits=0, n=0).interval is None


def test_a_rate_has_the_wilson_interval():
    # 8 of 10, z = 1.96: centre (0.8 + 0.19208) / 1.38416, half width sqrt(0.016 + 0.0096040) * 1.96 / 1.38416.
    found = Rate(hits=8, n=10).interval
    assert found.value == 0.8
    assert found.low == pytest.approx(0.4902, abs=1e-4)
    assert found.high == pytest.approx(0.9433, abs=1e-4)


def test_a_mean_adds_the_distances_as_squares():
    one = Rate(hits=8, n=10).interval
    found = weighted_mean([(one, 1), (one, 1)])
    # Both distances are 0.3098 down and 0.1433 up; half of the root of twice their square.
    assert found.value == pytest.approx(0.8)
    assert found.low == pytest.approx(0.8 - 0.30984 / math.sqrt(2), abs=1e-4)
    assert found.high == pytest.approx(0.8 + 0.14331 / math.sqrt(2), abs=1e-4)


def test_parts_count_by_their_weights():
    one, other = Rate(hits=8, n=10).interval, Rate(hits=2, n=10).interval
    found = weighted_mean([(one, 3), (other, 1)])
    # The limits of 2 of 10 are those of 8 of 10 seen from the other side: 0.1433 down, 0.3098 up.
    assert found.value == pytest.approx(0.65)
    assert found.low == pytest.approx(0.65 - math.hypot(0.75 * 0.30984, 0.25 * 0.14331), abs=1e-4)
    assert found.high == pytest.approx(0.65 + math.hypot(0.75 * 0.14331, 0.25 * 0.30984), abs=1e-4)
    with pytest.raises(ValueError, match="nothing"):
        weighted_mean([])


def test_a_difference_by_hand():
    # Newcombe 1998, table II, contrast (a): 56/70 - 48/80, method 10: 0.0524 to 0.3339.
    found = difference(Rate(hits=56, n=70).interval, Rate(hits=48, n=80).interval)
    assert found.value == pytest.approx(0.2)
    assert (found.low, found.high) == (pytest.approx(0.0524, abs=2e-4), pytest.approx(0.3339, abs=2e-4))


def test_a_paired_difference_by_hand():
    # 12 lost, 4 gained, of 40: (12.5 - 4.5) / 42 = 0.19048, variance (17 / 42 - 0.19048^2) / 42 = 0.0087735.
    pairs = [(True, False)] * 12 + [(False, True)] * 4 + [(True, True)] * 20 + [(False, False)] * 4
    found = paired_difference(pairs)
    assert found.value == pytest.approx(0.2)
    assert found.low == pytest.approx(0.19048 - 1.96 * 0.0087735**0.5, abs=1e-4)
    assert found.high == pytest.approx(0.19048 + 1.96 * 0.0087735**0.5, abs=1e-4)
    assert paired_difference([]) is None


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


def test_a_bootstrap_knows_no_order_and_needs_a_value():
    flips = [True] * 60 + [False] * 40
    found = bootstrap(flips, lambda drawn: sum(drawn) / len(drawn), seed=3)
    assert found == bootstrap(flips[::-1], lambda drawn: sum(drawn) / len(drawn), seed=3)
    # Standard error 0.049.
    assert found == (pytest.approx(0.504, abs=0.02), pytest.approx(0.696, abs=0.02))
    assert bootstrap(flips, lambda drawn: None) is None
    assert bootstrap([], len) is None
