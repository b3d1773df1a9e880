import pytest

from assay.core.errors import InputError
from assay.core.types import ChatPrompt, Failure, FailureKind, Item, RulePrompt, Shortcut, Verdict
from assay.judges.base import content_hash
from assay.judges.verifier import VerifierJudge

JUDGE = VerifierJudge()


def prompt(judge, item, draw):
    (request,) = judge.plan(item, draw)
    assert isinstance(request.prompt, ChatPrompt)
    (message,) = request.prompt.messages
    assert message.role == "user"
    return message.text


def test_it_looks_at_the_question_the_reference_and_the_final_answer_only(make_item):
    one, two = make_item("so 40 + 2. Answer: 42"), make_item("7 * 6, hence Answer: 42")
    assert JUDGE.content(one) == {"question": "What is 6 times 7?", "reference": "42", "answer": "42"}
    assert content_hash(JUDGE, one) == content_hash(JUDGE, two)
    assert content_hash(JUDGE, one) != content_hash(JUDGE, make_item("Answer: 41"))


def test_equal_contents_give_equal_plans(make_item, make_draw):
    one, two = make_item("so 40 + 2. Answer: 42"), make_item("7 * 6, hence Answer: 42")
    assert JUDGE.plan(one, make_draw()) == JUDGE.plan(two, make_draw())


def test_the_request_carries_id_seed_and_the_three_texts(make_item, make_draw):
    (request,) = JUDGE.plan(make_item("Answer: forty-two"), make_draw(seed=11))
    assert request.id == "11-0"
    assert request.sampling.seed == 11
    assert request.sampling.max_new_tokens is None
    assert request.choices is None
    text = prompt(JUDGE, make_item("Answer: forty-two"), make_draw())
    for part in ("What is 6 times 7?", "forty-two", "1 if they agree", "0 if they do not"):
        assert part in text


def test_prompts_of_one_question_share_all_but_the_answer(make_item, make_draw):
    one, two = (prompt(JUDGE, make_item(f"Answer: {answer}"), make_draw()) for answer in ("41", "42"))
    shared = next(i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b)
    assert one[:shared].rstrip().endswith("[[answer")


@pytest.mark.parametrize("judge", [JUDGE, VerifierJudge(forms=True), VerifierJudge(language="zh")])
def test_all_that_no_item_changes_stands_before_the_blocks(judge, make_item, make_draw):
    one, two = (prompt(judge, make_item(text, question=text, reference=text), make_draw()) for text in ("7", "x"))
    cut = one.index("[[question" if judge.language == "en" else "[[问题")
    assert one[:cut] == two[:cut]
    closing = one.rpartition("]]\n\n")[2]
    assert two.endswith(closing)
    assert "\n" not in closing
    assert len(closing) <= 25
    assert {"1", "0"} <= set(closing)


@pytest.mark.parametrize(("text", "score"), [("1", 1.0), ("0", 0.0), ("<think>1 or 0?</think>\n\n1", 1.0)])
def test_reading(make_item, make_draw, reply, text, score):
    outcome = JUDGE.read(make_item("42"), make_draw(), reply(text))
    assert isinstance(outcome, Verdict)
    assert outcome.scores == (score,)
    assert outcome.text == text


@pytest.mark.parametrize("text", ["1.", "yes", "The answer is 1", "10", "", "1 0"])
def test_anything_else_is_a_parse_error_not_a_zero(make_item, make_draw, reply, text):
    outcome = JUDGE.read(make_item("42"), make_draw(), reply(text))
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.PARSE_ERROR


@pytest.mark.parametrize("reference", [None, "", "  "])
def test_a_missing_reference_is_an_error_that_names_the_field(make_item, reference):
    with pytest.raises(InputError, match="'i1' has no reference"):
        JUDGE.content(make_item("42", reference=reference))


def test_other_bad_items(make_item):
    with pytest.raises(InputError, match="no question"):
        JUDGE.content(make_item("42", question=" "))
    with pytest.raises(InputError, match="2 candidates"):
        JUDGE.content(make_item("42", "43"))
    with pytest.raises(InputError, match="no candidates"):
        JUDGE.content(Item(id="i2", messages=(), candidates=(), reference="42"))


def test_labels_and_language_go_into_the_prompt_and_the_reading(make_item, make_draw, reply):
    judge = VerifierJudge(labels=("对", "错"), language="zh")
    assert "一致写 对" in prompt(judge, make_item("42"), make_draw())
    outcome = judge.read(make_item("42"), make_draw(), reply("错"))
    assert isinstance(outcome, Verdict)
    assert outcome.scores == (0.0,)


@pytest.mark.parametrize("labels", [("1", "1"), ("", "0"), ("1 ", "0")])
def test_bad_labels_are_refused(labels):
    with pytest.raises(InputError, match="labels"):
        VerifierJudge(labels=labels)


def test_choices_ask_for_the_labels_and_read_their_probability(make_item, make_draw, reply):
    judge = VerifierJudge(choices=True, min_mass=0.5)
    (request,) = judge.plan(make_item("42"), make_draw())
    assert request.choices == ("1", "0")
    outcome = judge.read(make_item("42"), make_draw(), reply("", choice_logprobs=(-2.0, -0.5), mass=0.74))
    assert isinstance(outcome, Verdict)
    assert (outcome.scores, outcome.mass, outcome.text) == ((0.0,), 0.74, "0")


def test_identity_changes_with_everything_that_shapes_a_verdict():
    judges = [
        VerifierJudge(),
        VerifierJudge(lenient=True),
        VerifierJudge(choices=True),
        VerifierJudge(choices=True, min_mass=0.2),
        VerifierJudge(language="zh"),
        VerifierJudge(labels=("yes", "no")),
    ]
    assert len({judge.identity for judge in judges}) == len(judges)
    assert VerifierJudge().identity == VerifierJudge(min_mass=0.3).identity
    assert all(judge.identity.startswith("verifier-") for judge in judges)


def test_a_rule_first_compares_what_the_verifier_is_shown(make_item, make_draw):
    judge = VerifierJudge(first="math", labels=("A", "B"))
    one, two = make_item(r"\boxed{41} no. Answer: \boxed{42}"), make_item(r"Hence Answer: \boxed{42}")
    (request,) = judge.plan(one, make_draw())
    assert request.first == Shortcut(
        rule=RulePrompt(rule="math", arguments={"reference": "42", "answer": "42", "whole": True}),
        answer="1",
        reply="A",
    )
    assert judge.plan(one, make_draw()) == judge.plan(two, make_draw())
    (plain,) = VerifierJudge(labels=("A", "B")).plan(one, make_draw())
    assert plain.first is None
    assert request.prompt == plain.prompt
    assert judge.asks != VerifierJudge(labels=("A", "B")).asks
