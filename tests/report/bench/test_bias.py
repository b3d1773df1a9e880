"""Figures worked out by hand."""

from __future__ import annotations

import pytest

from assay.core.intervals import Rate
from assay.report.bench.bias import Answered, length_bias, length_correlation, spearman


def pair(right: int, wrong: int, *scores: float, choice: int | None = None) -> Answered:
    return Answered(gold=(1.0, 0.0), lengths=(right, wrong), scores=scores or None, choice=choice)


def test_length_bias_of_pairs() -> None:
    found = length_bias(
        [
            pair(10, 5, 2, 1),  # right, longer, liked
            pair(10, 5, choice=1),  # wrong: likes the shorter
            pair(5, 10, 1, 2),  # wrong: likes the longer
            pair(5, 10, 3, 3),  # a tie says nothing
            pair(5, 5, 2, 1),  # as long
            Answered(gold=(1.0, 0.0), lengths=(9, 1), scores=None, choice=None),  # failed
        ]
    )
    assert found is not None
    assert (found.liked, found.right) == (Rate(hits=2, n=3), Rate(hits=2, n=3))
    assert (found.when_longer, found.when_shorter) == (Rate(hits=1, n=2), Rate(hits=0, n=1))
    assert found.left_out == 3


def test_in_a_list_an_answer_is_longer_than_the_mean_of_the_others() -> None:
    one = Answered(gold=(0.0, 1.0, 0.0), lengths=(30, 12, 2), scores=(5.0, 9.0, 1.0), choice=None)
    found = length_bias([one])
    assert found is not None
    # 12 against the mean of 30 and 2, which is 16.
    assert (found.liked, found.right, found.when_shorter) == (Rate(hits=0, n=1), Rate(hits=0, n=1), Rate(hits=1, n=1))


def test_nothing_to_see_it_in() -> None:
    assert length_bias([]) is None
    assert length_bias([Answered(gold=(1.0,), lengths=(3,), scores=(1.0,), choice=None)]) is None
    assert length_bias([Answered(gold=(1.0, 0.0), lengths=(), scores=(1.0, 0.0), choice=None)]) is None
    assert length_correlation([pair(1, 2, 1, 0)]) is None


def test_rank_correlation() -> None:
    assert spearman([1, 2, 3], [10, 20, 900]) == pytest.approx(1.0)
    assert spearman([1, 2, 3], [3, 2, 1]) == pytest.approx(-1.0)
    # Ranks 1, 2.5, 2.5, 4 with 1, 2, 3, 4: the sum of products is 4.5, the squares are 4.5 and 5.
    assert spearman([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(4.5 / (4.5 * 5) ** 0.5)
    assert spearman([1, 1], [1, 2]) is None


def test_length_and_score_of_single_answers() -> None:
    single = [
        Answered(gold=(gold,), lengths=(length,), scores=scores, choice=None)
        for gold, length, scores in ((1.0, 3, (1.0,)), (0.0, 5, (4.0,)), (0.0, 9, (7.0,)), (1.0, 2, None))
    ]
    found = length_correlation(single)
    assert found is not None
    assert (found.score, found.n, found.left_out) == (pytest.approx(1.0), 3, 1)
    # Gold 1, 0, 0 has the ranks 3, 1.5, 1.5; lengths 1, 2, 3: products -1.5, squares 2 and 1.5.
    assert found.gold == pytest.approx(-1.5 / 3**0.5)
