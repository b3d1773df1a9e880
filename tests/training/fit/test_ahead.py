"""Numbers are made one ahead, in order, and no further than there are any."""

from __future__ import annotations

import pytest

from assay.training.fit.ahead import Ahead


def test_each_is_made_once_and_none_behind_the_end() -> None:
    made: list[int] = []

    def make(number: int) -> int:
        made.append(number)
        return 10 * number

    ahead = Ahead(make, lambda number: number < 5, begin=True)
    assert [ahead.take(number) for number in (2, 3, 4)] == [20, 30, 40]
    ahead.close()
    assert made == [2, 3, 4]


def test_an_error_comes_where_its_number_is_taken() -> None:
    def make(number: int) -> int:
        return 6 // (3 - number)

    ahead = Ahead(make, lambda _: True, begin=True)
    assert [ahead.take(number) for number in (0, 1, 2)] == [2, 3, 6]
    with pytest.raises(ZeroDivisionError):
        ahead.take(3)
    ahead.close()


def test_without_beginning_ahead_it_is_made_when_taken() -> None:
    made: list[int] = []
    ahead = Ahead(made.append, lambda _: True, begin=False)
    ahead.take(7)
    ahead.close()
    assert made == [7]
