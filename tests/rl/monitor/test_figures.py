from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.rl.monitor.figures import agreement, consistency, share

NUMBERS = st.floats(-1e3, 1e3).map(lambda value: round(value, 3))


def test_agreement_by_hand() -> None:
    # Pairs of the first item: (a, b) right, (a, c) a tie in the score, (b, c) equal in gold; of the second: wrong.
    items = [((3.0, 1.0, 3.0), (1.0, 0.0, 0.0)), ((1.0, 2.0), (1.0, 0.0))]
    assert agreement(items) == pytest.approx((1 + 0.5 + 0) / 3)


def test_single_answers_are_compared_across_items() -> None:
    singles = [((0.9,), (1.0,)), ((0.2,), (1.0,)), ((0.4,), (0.0,)), ((0.1,), (0.0,))]
    assert agreement(singles) == pytest.approx(0.75)
    assert agreement([((0.9,), (1.0,))]) is None
    assert agreement([]) is None


@given(st.lists(st.tuples(NUMBERS, st.sampled_from([0.0, 1.0])), min_size=2, max_size=8))
def test_a_judge_turned_upside_down_disagrees_as_much(pairs: list[tuple[float, float]]) -> None:
    scores, gold = zip(*pairs, strict=True)
    found, turned = agreement([(scores, gold)]), agreement([([-s for s in scores], gold)])
    assert (found is None) == (turned is None)
    if found is not None and turned is not None:
        assert found + turned == pytest.approx(1.0)


def test_consistency_asks_for_the_same_best() -> None:
    kept = ((8.0, 2.0, 5.0), (4.0, 1.0, 9.0))
    lost_ = ((8.0, 2.0), (8.0, 2.0))
    tied = ((5.0, 5.0), (6.0, 6.0))
    assert consistency([kept, lost_, tied]) == pytest.approx(2 / 3)
    assert consistency([]) is None


def test_a_share_is_of_the_answers_that_are_known() -> None:
    assert share([True, None, False, False]) == pytest.approx(1 / 3)
    assert share([None]) is None
