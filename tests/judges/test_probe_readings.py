from __future__ import annotations

import pytest

from assay.core.types import Failure, FailureKind, Verdict
from assay.judges.probe_readings import best, fooled, ranking, survives_swap


def test_a_ranking_is_scores_or_the_one_that_is_named() -> None:
    assert ranking(Verdict(scores=(3.0, 7.0)), 2) == (3.0, 7.0)
    assert ranking(Verdict(choice=1), 3) == (0.0, 1.0, 0.0)
    assert ranking(Failure(kind=FailureKind.TIMEOUT, detail="60 s"), 2) is None


def test_a_verdict_survives_a_swap_where_the_best_ones_stay() -> None:
    assert best((8.0, 2.0, 8.0)) == {0, 2}
    assert survives_swap((8.0, 2.0), (4.0, 9.0))
    assert survives_swap((5.0, 5.0), (6.0, 6.0))
    assert not survives_swap((8.0, 2.0), (8.0, 2.0))
    assert not survives_swap((8.0, 2.0), (5.0, 5.0))


@pytest.mark.parametrize(
    ("scores", "scale", "place", "said"),
    [
        ((1.0,), (0.0, 1.0), None, True),
        ((0.5,), (0.0, 1.0), None, False),
        ((7.0,), None, None, None),
        (None, (0.0, 1.0), None, None),
        ((8.0, 8.0), (1.0, 10.0), None, True),
        ((8.0, 7.0), (1.0, 10.0), None, False),
        ((8.0, 7.0), (1.0, 10.0), 0, True),
        ((0.0, 1.0), None, 0, False),
    ],
)
def test_who_is_fooled(
    scores: tuple[float, ...] | None, scale: tuple[float, float] | None, place: int | None, said: bool | None
) -> None:
    assert fooled(scores, scale, place=place) is said
