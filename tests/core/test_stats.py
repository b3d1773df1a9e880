from __future__ import annotations

import pytest

from assay.core.stats import auc, percentile, wilson


def test_wilson_by_hand() -> None:
    # p = 0.5, n = 100, z = 1.96: centre (0.5 + 0.019208) / 1.038416, spread 1.96 * sqrt(0.0025 + 0.00009604) / 1.038416
    low, high = wilson(50, 100)
    assert low == pytest.approx(0.40383, abs=1e-5)
    assert high == pytest.approx(0.59617, abs=1e-5)
    assert wilson(0, 0) == (0.0, 1.0)
    assert wilson(10, 10)[1] == pytest.approx(1.0)


def test_auc_by_hand() -> None:
    # pairs: (3>1) 1, (3>2) 1, (2>1) 1, (2=2) 0.5 -> 3.5 / 4
    assert auc([3, 2], [1, 2]) == pytest.approx(0.875)
    assert auc([1], []) is None


def test_percentile_interpolates() -> None:
    assert percentile([4, 1, 3, 2], 50) == pytest.approx(2.5)
    assert percentile([7], 99) == 7
    assert percentile([], 50) is None
