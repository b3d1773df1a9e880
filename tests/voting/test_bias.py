"""Position bias from recorded votes."""

import math
import random

import pytest

from assay.core.types import Draw, Failure, FailureKind, Verdict, Vote
from assay.voting.bias import bias_by_place
from assay.voting.draws import make_draw


def vote(order: tuple[int, ...], *shown: float) -> Vote:
    """A vote with the scores as they were given, place by place."""
    draw = Draw(vote=0, seed=0, order=order)
    return Vote(draw=draw, outcome=Verdict(scores=draw.undo(shown)))


def test_scores_and_wins_by_place_on_figures_worked_by_hand() -> None:
    items = [[vote((0, 1), 8, 6), vote((1, 0), 7, 7)], [vote((1, 0), 9, 3)]]
    first, second = bias_by_place(items, by="score")
    assert (first.place, first.fair, first.items, first.votes) == (0, 0.0, 2, 3)
    assert first.mean == (0.5 + 3) / 2 == -second.mean
    assert first.high - first.mean == pytest.approx(1.96 * 1.25)
    (won, lost) = bias_by_place(items)
    assert (won.mean, lost.mean, won.fair) == ((0.75 + 1) / 2, 0.125, 0.5)


def test_what_says_nothing_about_places_is_left_out() -> None:
    failed = Vote(draw=Draw(vote=0, seed=0, order=(0, 1)), outcome=Failure(kind=FailureKind.TIMEOUT, detail="late"))
    alone = Vote(draw=Draw(vote=0, seed=0, order=(0,)), outcome=Verdict(scores=(3.0,)))
    assert bias_by_place([[failed], [alone], []]) == ()
    named = Vote(draw=Draw(vote=0, seed=0, order=(1, 0)), outcome=Verdict(choice=1))
    assert bias_by_place([[named, failed]], by="score") == ()
    first, _ = bias_by_place([[named, failed]])
    assert (first.mean, first.votes, first.high) == (1.0, 1, math.inf)
    with pytest.raises(ValueError, match="different numbers"):
        bias_by_place([[vote((0, 1), 1, 2)], [vote((0, 1, 2), 1, 2, 3)]])


def test_a_bias_that_is_there_is_found_and_none_where_there_is_none() -> None:
    rng = random.Random(1)

    def items(bias: float) -> list[list[Vote]]:
        made: list[list[Vote]] = []
        for item in range(300):
            quality = [rng.gauss(6, 2) for _ in range(3)]
            draws = [make_draw("j", str(item), 3, vote=v, orders="shuffle") for v in range(4)]
            made.append(
                [
                    vote(
                        d.order,
                        *(quality[c] + rng.gauss(0, 1) + (bias if p == 0 else 0) for p, c in enumerate(d.order)),
                    )
                    for d in draws
                ]
            )
        return made

    biased, fair = bias_by_place(items(1.5), by="score"), bias_by_place(items(0), by="score")
    # 1.5 points for the first of three are 1 above the mean of the vote, and 0.5 below it for each other.
    assert [entry.low < expected < entry.high for entry, expected in zip(biased, (1, -0.5, -0.5), strict=True)] == [
        True
    ] * 3
    assert all(entry.low < 0 < entry.high for entry in fair)
    assert biased[0].low > 0
    assert bias_by_place(items(1.5))[0].low > 1 / 3
