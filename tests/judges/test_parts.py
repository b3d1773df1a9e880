import pytest

from assay.core.errors import InputError
from assay.core.types import Failure, FailureKind, Verdict
from assay.judges import join, parts
from assay.judges.math_rule import MathJudge
from assay.judges.pointwise import PointwiseJudge


def verdict(score, *flags, mass=None, text="t"):
    return Verdict(scores=(score,), flags=flags, text=text, mass=mass)


def failure(kind, detail):
    return Failure(kind=kind, detail=detail, text="f")


def test_a_judge_of_one_candidate_gets_one_item_each(make_item):
    item = make_item("a", "b")
    assert [[c.text for c in part.candidates] for part in parts(MathJudge(), item)] == [["a"], ["b"]]
    assert parts(PointwiseJudge(), item) == (item,)


def test_an_item_without_candidates_has_no_parts(make_item):
    for judge in (MathJudge(), PointwiseJudge()):
        with pytest.raises(InputError, match="no candidates"):
            parts(judge, make_item())


def test_verdicts_are_joined_in_order():
    outcome = join(
        [verdict(1.0, "lenient", mass=0.9), verdict(0.0, mass=0.4, text="u"), verdict(1.0, "lenient", mass=1)]
    )
    assert outcome == Verdict(scores=(1.0, 0.0, 1.0), flags=("lenient",), text="t\n\nu\n\nt", mass=0.4)


def test_mass_is_known_only_where_it_is_known_for_all():
    outcome = join([verdict(1.0, mass=0.9), verdict(0.0)])
    assert isinstance(outcome, Verdict)
    assert outcome.mass is None


def test_a_single_outcome_is_left_as_it_is():
    one = Verdict(scores=(3.0, 4.0), text="t")
    assert join([one]) is one


def test_failures_name_their_candidates_and_win_over_verdicts():
    timeout, low = failure(FailureKind.TIMEOUT, "after 5 s"), failure(FailureKind.LOW_MASS, "0.01")
    assert join([verdict(1.0), timeout, verdict(0.0)]) == Failure(
        kind=FailureKind.TIMEOUT, detail="candidate 2 of 3: after 5 s", text="t\n\nf\n\nt"
    )
    outcome = join([verdict(1.0), verdict(1.0), timeout, low])
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.TIMEOUT
    assert outcome.detail == "candidate 3 of 4: after 5 s; 2 of 4 failed (also 4)"


def test_a_verdict_without_one_score_cannot_be_joined():
    outcome = join([verdict(1.0), Verdict(choice=1)])
    assert isinstance(outcome, Failure)
    assert "candidate 2 of 2" in outcome.detail


def test_nothing_cannot_be_joined():
    with pytest.raises(InputError):
        join([])
