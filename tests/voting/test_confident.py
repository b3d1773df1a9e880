"""The sequential test ``confident``: how often it ends with another decision than all k votes, and its edges."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

from assay.core.stats import wilson
from assay.core.types import Draw, Reduce, Verdict, Vote
from assay.voting.confident import boundary
from assay.voting.confident_table import BALLOTS, DELTAS, SCORES, constant
from assay.voting.plan import Certain, Confident, VotePlan
from assay.voting.reducers import reduce_votes
from assay.voting.stopping import enough
from assay.voting.ties import best_of

Votes = list[Vote]
Say = Callable[[random.Random], Verdict]


@dataclass
class Counted:
    decided: int = 0
    wrong: int = 0
    votes: int = 0
    tied: int = 0

    def add(self, plan: VotePlan, how: Reduce, verdicts: Sequence[Verdict], n: int) -> None:
        final = best_of(reduce_votes(how, verdicts, n))
        if len(final) > 1:
            self.tied += 1
            return
        votes: Votes = []
        for index, verdict in enumerate(verdicts):
            votes.append(Vote(draw=Draw(vote=index, seed=0, order=tuple(range(n))), outcome=verdict))
            if enough(plan, votes, how=how, n=n, scale=(1, 10), elapsed_s=0):
                break
        here = best_of(reduce_votes(how, verdicts[: len(votes)], n))
        self.decided, self.votes = self.decided + 1, self.votes + len(votes)
        self.wrong += here != final


def scores(lead: float, sd: float = 1.5, n: int = 2) -> Say:
    """The first candidate leads the others; ``sd`` of the difference of two scores, before rounding."""

    def say(rng: random.Random) -> Verdict:
        means = (6 + lead / 2, *(6 - lead / 2,) * (n - 1))
        return Verdict(scores=tuple(float(min(10, max(1, round(rng.gauss(m, sd / 2**0.5))))) for m in means))

    return say


def ballots(rng: random.Random) -> Verdict:
    return Verdict(choice=rng.randrange(2))


def ran(
    say: Callable[[random.Random], Say], items: int, *, k: int, how: Reduce = "sum", n: int = 2, seed: int = 0
) -> Counted:
    rng, counted = random.Random(seed), Counted()
    plan = VotePlan(k=k, stop=Confident(delta=0.05))
    for _ in range(items):
        item = say(rng)
        counted.add(plan, how, [item(rng) for _ in range(k)], n)
    return counted


@pytest.mark.parametrize(
    ("say", "k", "how", "n"),
    [
        (scores(0), 16, "sum", 2),
        (scores(0, sd=0.5), 16, "mean", 2),
        (scores(0, sd=3), 8, "sum", 2),
        (scores(0, n=4), 16, "sum", 4),
        (ballots, 15, "majority", 2),
    ],
)
def test_the_bound_holds_where_candidates_are_equally_good(say: Say, k: int, how: Reduce, n: int) -> None:
    counted = ran(lambda _: say, 700, k=k, how=how, n=n)
    assert wilson(counted.wrong, counted.decided)[0] <= 0.05
    assert counted.votes < k * counted.decided


def test_leads_are_settled_early_and_rightly() -> None:
    counted = ran(lambda rng: scores(rng.gauss(0.4, 1)), 500, k=32)
    assert counted.wrong <= 0.05 * counted.decided
    assert counted.votes < 15 * counted.decided


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("mean", "item_sd"), [(0.4, 1.0), (0.4, 0.5), (0.4, 0.2), (0.0, 0.0)])
def test_the_bound_holds_over_200_seeds(mean: float, item_sd: float) -> None:
    """Lead ~ N(mean, item sd), sd 1.5 of a difference, whole scores from 1 to 10, k = 32: 200 x 60 items."""
    total = Counted()
    for seed in range(200):
        found = ran(lambda rng: scores(rng.gauss(mean, item_sd)), 60, k=32, seed=seed)
        total.decided, total.wrong = total.decided + found.decided, total.wrong + found.wrong
        total.votes, total.tied = total.votes + found.votes, total.tied + found.tied
    assert total.decided + total.tied == 200 * 60
    assert total.wrong <= 0.05 * total.decided
    if item_sd == 1.0:
        assert total.votes <= 13.3 * total.decided


def test_equal_votes_do_not_make_it_sure_at_once(make_votes: Callable[..., Votes]) -> None:
    """Scores are whole numbers, so the first may agree by chance: three of 32 are not enough, five are."""
    plan = VotePlan(k=32, stop=Confident(delta=0.05))

    def sure(*said: Any) -> bool:
        return enough(plan, make_votes(*said), how="sum", n=2, scale=(1, 10), elapsed_s=0)

    assert not sure(*[(7.0, 5.0)] * 3)
    assert sure(*[(7.0, 5.0)] * 5)
    assert not sure(*[(6.0, 6.0)] * 31)
    assert not sure(*[(7.0, 5.0)] * 3, *[None] * 4)
    assert sure(*[(7.0, 5.0)] * 5, *[None] * 3)


def test_what_is_certain_ends_it_too(make_votes: Callable[..., Votes]) -> None:
    said = [(10.0, 1.0), (1.0, 2.0), (10.0, 1.0), (2.0, 1.0), (10.0, 1.0), (10.0, 1.0)]
    votes = make_votes(*said)
    for stop in (Certain(), Confident(delta=0.001)):
        assert enough(VotePlan(k=8, stop=stop), votes, how="sum", n=2, scale=(1, 10), elapsed_s=0)


def test_one_candidate_is_held_against_one_half(make_votes: Callable[..., Votes]) -> None:
    plan = VotePlan(k=32, stop=Confident())
    for right in (0.0, 1.0):
        assert not enough(plan, make_votes((right,), (right,)), how="mean", n=1, scale=(0, 1), elapsed_s=0)
        assert enough(plan, make_votes(*[(right,)] * 6), how="mean", n=1, scale=(0, 1), elapsed_s=0)
    assert not enough(plan, make_votes(*[(0.0,), (1.0,)] * 8), how="mean", n=1, scale=(0, 1), elapsed_s=0)


def test_the_boundary_is_wider_for_less_risk_and_shut_at_the_end() -> None:
    for scored in (True, False):
        for k in (2, 7, 16, 33, 100, 1000, 4096):
            widths = [constant(k, delta, scored=scored) for delta in (0.49, 0.3, 0.1, 0.05, 0.01, 0.001, 0.0001)]
            assert all(a <= b + 0.01 for a, b in pairwise(widths)), (k, widths)
            assert boundary(k, k, 0.05, n=2, scored=scored) == 0
        assert constant(1000, 0.05, scored=scored) > constant(256, 0.05, scored=scored)
        assert constant(9, 1e-6, scored=scored) == float("inf")
    assert boundary(8, 32, 0.3, n=4, scored=True) == boundary(8, 32, 0.1, n=2, scored=True)


def test_the_table_is_whole() -> None:
    assert list(DELTAS) == sorted(DELTAS, reverse=True)
    for rows in (SCORES, BALLOTS):
        assert all(len(row) == len(DELTAS) for row in rows.values())
        assert rows.keys() == SCORES.keys()
        assert all(constant(k, delta, scored=rows is SCORES) == row[4] for k, row in rows.items() for delta in (0.05,))
