import pytest

from assay.data.decisions import judgments
from assay.report.summary import summarise
from assay.report.voting import settled, voting_of

PLAN = {"k": 4, "orders": "balanced", "reduce": "sum", "ties": "random", "meta": None, "stop": None}


@pytest.fixture
def votes(row):
    """The rows of one judgment out of what its votes said: scores, or the kind of a failure."""

    def make(item, said, decision, plan=PLAN, **more):
        return [
            row(
                item,
                None if isinstance(one, str) else one,
                vote=vote,
                outcome=one if isinstance(one, str) else "verdict",
                voting=plan,
                drawn=len(said),
                decision=decision,
                n=2,
                order=(0, 1) if vote % 2 == 0 else (1, 0),
                prompt_tokens=10,
                **more,
            )
            for vote, one in enumerate(said)
        ]

    return make


def verdict(scores, choice, *flags):
    return {"scores": scores, "choice": choice, "flags": list(flags)}


def test_a_judgment_counts_once_and_each_of_its_votes_costs(votes):
    rows = votes("a", [[8, 2], [7, 3], "parse_error", [6, 6]], verdict([21, 11], 0, "dropped_votes"), gold=[1, 0])
    rows += votes("b", ["timeout"] * 4, {"failure": "timeout", "detail": "all 4 votes failed"}, gold=[1, 0])
    (judge,) = summarise(rows).judges
    assert (judge.judgments, judge.verdicts, judge.failures) == (2, 1, {"timeout": 1})
    assert judge.voting.dropped == {"timeout": 4, "parse_error": 1}
    assert (judge.voting.each, judge.voting.votes) == (4, 8)
    assert judge.usage.prompt_tokens == 80
    assert judge.ranking.right.n == 1, "agreement is of judgments"
    assert judge.cost.tokens_each == 80


def test_votes_that_were_not_drawn_are_judgments_stopped_early(votes):
    plan = {**PLAN, "stop": "certain"}
    rows = votes("a", [[9, 1]] * 3, verdict([27, 3], 0), plan) + votes("b", [[9, 8]] * 4, verdict([36, 32], 0), plan)
    voting = voting_of(rows, judgments(rows))
    assert (voting.stopped.hits, voting.stopped.n, voting.each) == (1, 2, 3.5)
    assert voting.plan == "k=4, balanced, sum, ties random, stop certain"


def test_where_the_best_stood(votes):
    # Shown in the orders (0, 1), (1, 0), (0, 1), (1, 0): candidate 0 stands first, second, first; the tie is shared.
    rows = votes("a", [[9, 1], [9, 1], [8, 2], [5, 5]], verdict([31, 9], 0))
    voting = voting_of(rows, judgments(rows))
    assert [place.mean for place in voting.bias] == [2.5 / 4, 1.5 / 4]
    fixed = votes("a", [[9, 1]] * 4, verdict([36, 4], 0), {**PLAN, "orders": "fixed"})
    assert voting_of(fixed, judgments(fixed)).bias == ()


def test_what_the_meta_rm_kept(votes):
    plan = {**PLAN, "meta": "m", "k_meta": 2}
    rows = votes("a", [[9, 1], [9, 1], "parse_error"], verdict([9, 1], 0), plan, kept=False, meta=0.5)
    voting = voting_of(rows, judgments(rows))
    assert (voting.kept.hits, voting.kept.n, voting.unweighed) == (0, 2, 0)
    assert "meta RM m, k_meta=2" in voting.plan


@pytest.mark.parametrize(
    ("ties", "choice", "worth"), [("random", 0, 1.0), ("random", 1, 0.0), ("half", None, 0.5), ("wrong", None, 0.0)]
)
def test_a_tie_is_worth_what_its_policy_says_beside_eq_10_where_it_is_wrong(votes, ties, choice, worth):
    rows = votes("a", [[5, 5]] * 4, verdict([20, 20], choice, "tie"), {**PLAN, "ties": ties}, gold=[1, 0])
    (judge,) = summarise(rows).judges
    assert (judge.settled.accuracy, judge.settled.n, judge.settled.ties) == (worth, 1, ties)
    assert (judge.ranking.right.hits, judge.ranking.tied.hits) == (0, 1)
    assert (judge.voting.tied.hits, judge.voting.tied.n) == (1, 1)


def test_judgments_of_single_candidates_are_put_together_and_tied_as_the_scorer_does(row):
    def rows(first, second, ties):
        return [
            row("a", s, g, candidate=c, voting={**PLAN, "ties": ties}, content_hash=str(c))
            for c, (s, g) in enumerate(((first, 1), (second, 0)))
        ]

    assert settled(rows(1, 0, "random")).accuracy == 1
    assert settled(rows(1, 1, "first")).accuracy == 1
    assert settled(rows(1, 1, "half")).accuracy == 0.5
    assert settled(rows(0, 1, "half")).accuracy == 0


def test_without_voting_nothing_is_said_about_votes(row):
    (judge,) = summarise([row("a", [1, 0], [1, 0])]).judges
    assert (judge.voting, judge.settled) == (None, None)
