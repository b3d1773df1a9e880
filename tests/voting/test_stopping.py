"""When no more votes are drawn: certain is exact, budgets count, and what cannot be applied is refused."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import pytest

from assay.core.errors import InputError
from assay.core.types import Draw, Failure, FailureKind, Outcome, Reduce, Usage, Verdict, Vote
from assay.voting.decide import decide
from assay.voting.plan import Budget, Certain, Confident, Stop, VotePlan
from assay.voting.stopping import check_stop, enough
from assay.voting.ties import best_of

Votes = list[Vote]
FAILED = Failure(kind=FailureKind.PARSE_ERROR, detail="")


def votes_of(outcomes: Sequence[Outcome]) -> Votes:
    return [Vote(draw=Draw(vote=index, seed=0, order=(0,)), outcome=outcome) for index, outcome in enumerate(outcomes)]


def best_by(votes: Votes, plan: VotePlan, how: Reduce, n: int) -> Any:
    """The decision as it is compared: the best candidates, the side of 1/2, or the failure."""
    outcome = decide(votes, plan, how, n).outcome
    if isinstance(outcome, Failure):
        return "failure"
    assert outcome.scores is not None
    if n > 1:
        return best_of(outcome.scores)
    value = outcome.scores[0] / (len([v for v in votes if isinstance(v.outcome, Verdict)]) if how == "sum" else 1)
    return (value > 0.5) - (value < 0.5)


SMALL: list[tuple[Reduce, int, int, tuple[float, float], list[Outcome]]] = [
    ("sum", 2, 4, (1, 3), [FAILED, *(Verdict(scores=s) for s in product((1.0, 2.0, 3.0), repeat=2))]),
    ("mean", 2, 4, (1, 2), [FAILED, *(Verdict(scores=s) for s in product((1.0, 2.0), repeat=2))]),
    ("median", 2, 5, (1, 2), [FAILED, *(Verdict(scores=s) for s in product((1.0, 2.0), repeat=2))]),
    ("median", 2, 4, (1, 3), [FAILED, *(Verdict(scores=s) for s in product((1.0, 2.0, 3.0), repeat=2))]),
    ("sum", 3, 4, (1, 2), [FAILED, *(Verdict(scores=s) for s in product((1.0, 2.0), repeat=3))]),
    ("majority", 3, 5, (0, 0), [FAILED, *(Verdict(choice=c) for c in range(3)), Verdict(scores=(2.0, 2.0, 1.0))]),
    ("majority", 2, 6, (0, 0), [FAILED, *(Verdict(choice=c) for c in range(2)), Verdict(scores=(1.0, 1.0))]),
    ("sum", 1, 6, (0, 1), [FAILED, *(Verdict(scores=(s,)) for s in (0.0, 0.5, 1.0))]),
    ("median", 1, 6, (0, 1), [FAILED, *(Verdict(scores=(s,)) for s in (0.0, 0.5, 1.0))]),
]


@pytest.mark.parametrize(("how", "n", "k", "scale", "said"), SMALL)
def test_certain_is_right_for_all_that_may_come_and_as_early_as_can_be(
    how: Reduce, n: int, k: int, scale: tuple[float, float], said: list[Outcome]
) -> None:
    """Against brute force: certain exactly where every continuation comes to the one best of the votes so far."""
    plan = VotePlan(k=k, stop=Certain())
    decisions: dict[tuple[int, ...], set[Any]] = {}
    for indices in product(range(len(said)), repeat=k):
        decision = best_by(votes_of([said[i] for i in indices]), plan, how, n)
        for length in range(1, k):
            decisions.setdefault(indices[:length], set()).add(decision)
    open_ends: set[Any] = {"failure", 0}
    for prefix, ends in decisions.items():
        votes = votes_of([said[i] for i in prefix])
        stops = enough(plan, votes, how=how, n=n, scale=scale, elapsed_s=0)
        (end, *others) = ends
        one_best = not others and end not in open_ends and (n == 1 or len(end) == 1)
        assert stops == one_best, (prefix, ends)
        assert not stops or best_by(votes, plan, how, n) == end


def test_the_lead_on_figures_worked_by_hand(make_votes: Callable[..., Votes]) -> None:
    """1 to 10, k = 8: after 6 votes 2 are left, which can move a lead by 2 x 9 = 18; 18 would be a tie."""
    plan = VotePlan(k=8, stop=Certain())
    ahead = [(9.0, 6.0)] * 6
    assert not enough(plan, make_votes(*ahead), how="sum", n=2, scale=(1, 10), elapsed_s=0)
    ahead[0] = (10.0, 6.0)
    assert enough(plan, make_votes(*ahead), how="sum", n=2, scale=(1, 10), elapsed_s=0)
    ballots = make_votes(1, 1, 1, 1, 0)
    assert not enough(plan, ballots, how="majority", n=2, scale=None, elapsed_s=0)
    assert enough(plan, [*ballots, *make_votes(1)], how="majority", n=2, scale=None, elapsed_s=0)


def test_no_rule_no_votes_and_too_few_verdicts_go_on(make_votes: Callable[..., Votes]) -> None:
    same = make_votes(1, 1, 1, 1)
    assert not enough(VotePlan(k=4), same, how="majority", n=2, scale=None, elapsed_s=9e9)
    for stop in (Certain(), Budget(seconds=1)):
        assert not enough(VotePlan(k=4, stop=stop), [], how="majority", n=2, scale=None, elapsed_s=9e9)
        plan = VotePlan(k=4, stop=stop, min_valid=4)
        assert not enough(plan, same[:3], how="majority", n=2, scale=None, elapsed_s=9e9)
        assert enough(plan, same, how="majority", n=2, scale=None, elapsed_s=9e9)


def test_a_budget_counts_prompt_and_completion_tokens_or_seconds(make_vote: Callable[..., Vote]) -> None:
    votes = [make_vote(i, (1.0, 1.0), usage=Usage(prompt_tokens=80, completion_tokens=20)) for i in range(3)]

    def ends(stop: Stop, elapsed_s: float = 0.0) -> bool:
        plan = VotePlan(k=8, stop=stop)
        return enough(plan, votes, how="sum", n=2, scale=None, elapsed_s=elapsed_s)

    assert ends(Budget(tokens=300))
    assert not ends(Budget(tokens=301))
    assert not ends(Budget(tokens=301, seconds=2), 1.9)
    assert ends(Budget(tokens=301, seconds=2), 2.0)


@pytest.mark.parametrize(
    ("stop", "how", "n", "scale", "says"),
    [
        (Certain(), "sum", 1, (1, 10), "scores a single candidate"),
        (Confident(), "mean", 1, None, "scores a single candidate"),
        (Certain(), "sum", 2, None, "no scale"),
        (Confident(), "mean", 3, None, "no scale"),
        (Confident(), "median", 2, (1, 10), "use stop 'certain'"),
    ],
)
def test_a_rule_that_cannot_apply_is_refused(stop: Stop, how: Reduce, n: int, scale: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        check_stop(VotePlan(k=8, stop=stop), judge="mine", how=how, n=n, scale=scale)


def test_a_rule_that_can_apply_is_not_refused() -> None:
    cases: list[tuple[Stop | None, Reduce, int, tuple[float, float] | None]] = [
        (None, "sum", 1, None),
        (Budget(tokens=9), "sum", 1, None),
        (Certain(), "median", 1, (0, 1)),
        (Certain(), "majority", 2, None),
        (Confident(), "majority", 4, None),
        (Confident(), "mean", 1, (0, 1)),
    ]
    for stop, how, n, scale in cases:
        check_stop(VotePlan(k=8, stop=stop), judge="mine", how=how, n=n, scale=scale)
