import pytest

from assay.core.errors import InputError
from assay.core.types import Failure, FailureKind, RulePrompt, Verdict
from assay.judges.base import content_hash
from assay.judges.math_rule import MathJudge

JUDGE = MathJudge()


def test_the_rule_gets_the_two_answers_and_nothing_else(make_item, make_draw):
    item = make_item("6 * 7 = 42\nA: 42", reference="6 * 7 = <<6*7=42>>42\nA: 42")
    assert JUDGE.content(item) == {"reference": "42", "answer": "42"}
    (request,) = JUDGE.plan(item, make_draw(seed=3))
    assert request.id == "3-0"
    assert request.prompt == RulePrompt(rule="math", arguments={"reference": "42", "answer": "42"})


def test_solutions_with_equal_answers_are_one_judgment(make_item):
    assert content_hash(JUDGE, make_item("\\boxed{42}")) == content_hash(JUDGE, make_item("Answer: 42", question="?"))


@pytest.mark.parametrize(("text", "score"), [("1", 1.0), ("0", 0.0)])
def test_reading(make_item, make_draw, reply, text, score):
    outcome = JUDGE.read(make_item("42"), make_draw(), reply(text))
    assert isinstance(outcome, Verdict)
    assert outcome.scores == (score,)


def test_another_reply_is_a_parse_error(make_item, make_draw, reply):
    outcome = JUDGE.read(make_item("42"), make_draw(), reply("True"))
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.PARSE_ERROR


def test_a_missing_reference_is_refused(make_item, make_draw):
    with pytest.raises(InputError, match="'i1' has no reference"):
        JUDGE.plan(make_item("42", reference=None), make_draw())


def test_it_is_a_rule_that_looks_at_one_candidate():
    assert (JUDGE.rule, JUDGE.per_candidate, JUDGE.name) == (True, True, "math")
    assert JUDGE.identity.startswith("math-")
