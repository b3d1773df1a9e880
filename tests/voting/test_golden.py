"""The worked figures of DeepSeek-GRM: eq. 10 and 11, figure 3, table 17, 9k + 1 sums, PairRM eq. 5."""

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from assay.core.types import Draw, Verdict, Vote
from assay.voting.correct import is_correct, pair_choice, reward
from assay.voting.decide import decide, sort_out
from assay.voting.plan import VotePlan
from assay.voting.reducers import reduce_votes

Votes = list[Vote]


def scores_of(votes: Votes, plan: VotePlan) -> tuple[float, ...] | None:
    outcome = decide(votes, plan, "sum", 2).outcome
    assert isinstance(outcome, Verdict)
    return outcome.scores


def test_rewards_of_eq_11(golden: dict[str, Any]) -> None:
    for case in golden["eq11"]:
        scores = None if case["S"] is None else tuple(map(float, case["S"]))
        if "gt" in case:
            gold: tuple[float, ...] = (float(case["gt"]),)
        else:
            gold = tuple(float(index == case["j"]) for index in range(len(scores or (0, 0))))
        assert reward(scores, gold) == case["r"], case


def test_figure_3(golden: dict[str, Any], make_votes: Callable[..., Votes]) -> None:
    case = golden["vote"]["fig3"]
    samples = [tuple(map(float, sample)) for sample in case["samples"]]
    assert scores_of(make_votes(*samples), VotePlan(k=4)) == tuple(case["sum"])
    metas = tuple(1.0 if index in case["meta_keep"] else -1.0 for index in range(4))
    guided = decide(make_votes(*samples, metas=metas), VotePlan(k=4, meta="rm"), "sum", 2)
    assert guided.kept == tuple(case["meta_keep"])
    assert isinstance(guided.outcome, Verdict)
    assert guided.outcome.scores == tuple(case["meta_sum"])


def test_table_17(golden: dict[str, Any], make_votes: Callable[..., Votes]) -> None:
    case = golden["vote"]["table17"]
    samples = [tuple(map(float, sample)) for sample in case["samples"]]
    votes = make_votes(*samples, metas=tuple(case["meta"]))
    assert scores_of(votes, VotePlan(k=3)) == tuple(case["sum"])
    assert scores_of(votes, VotePlan(k=3, meta="rm", k_meta=2)) == tuple(case["k_meta_2_sum"])
    assert scores_of(votes, VotePlan(k=3, meta="rm", k_meta=1)) == tuple(case["k_meta_1_sum"])
    # The last two were shown the other way round: the judge wrote 9, 5 and 10, 7.
    assert [Draw(vote=0, seed=0, order=(1, 0)).undo(shown) for shown in ((9.0, 5.0), (10.0, 7.0))] == samples[1:]


def test_k_sums_take_9k_plus_1_values(golden: dict[str, Any]) -> None:
    assert golden["value_space"]["formula"] == "9k+1"
    for key, size in golden["value_space"].items():
        if not key.startswith("k="):
            continue
        k = int(key.removeprefix("k="))
        # Raising one vote by one point at a time walks through every sum there is.
        votes = [1.0] * k
        sums: set[float] = set()
        for index, value in product(range(k), range(1, 11)):
            votes[index] = float(value)
            sums.update(reduce_votes("sum", [Verdict(scores=(vote,)) for vote in votes], 1))
        assert len(sums) == size == 9 * k + 1


def test_pairrm_eq_5(golden: dict[str, Any]) -> None:
    for sign, value in (("S>0", 0.3), ("S=0", 0.0), ("S<0", -0.3)):
        assert pair_choice(value) + 1 == golden["pairrm_eq5"][sign]


def test_correctness_by_hand() -> None:
    """The same without the shared data: a tie is wrong, a single answer must hit its gold, no scores are wrong."""
    assert is_correct((7, 5), (1, 0))
    assert not is_correct((7, 7), (1, 0))
    assert not is_correct((6, 9, 9), (0, 1, 0))
    assert is_correct((6, 9, 8), (0, 1, 0))
    assert is_correct((6, 9, 8), (0.2, 0.9, 0.9 - 1e-6))
    assert is_correct((1,), (1,))
    assert not is_correct((10,), (1,))
    assert reward(None, (1, 0)) == -1
    assert reward((7, 5), (1, 0)) == 1


@pytest.mark.parametrize(("scores", "gold"), [((1, 2), (1,)), ((), ()), ((1, 2), (1, 1))])
def test_gold_that_names_no_best_is_an_error(scores: tuple[float, ...], gold: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="gold"):
        is_correct(scores, gold)


def test_the_meta_rm_keeps_half_rounded_up(make_votes: Callable[..., Votes]) -> None:
    votes = make_votes(*[(1.0, 2.0)] * 5, metas=(0.1, 0.5, None, 0.5, 0.2))
    assert VotePlan(k=5, meta="rm").kept_by_meta == 3
    assert [vote.draw.vote for vote in sort_out(votes, 3)] == [1, 3, 4]
    assert [vote.draw.vote for vote in sort_out(votes, 1)] == [1]
    assert [vote.draw.vote for vote in sort_out(votes, 5)] == [0, 1, 3, 4]
    assert sort_out(votes, None) == votes
    assert VotePlan(k=1, meta="rm").kept_by_meta is None
    assert VotePlan(k=8).kept_by_meta is None
