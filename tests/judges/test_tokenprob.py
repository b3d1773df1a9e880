import asyncio
import math
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.codec import completions_from_json, completions_to_json
from assay.core.deadline import Deadline
from assay.core.errors import InputError
from assay.core.types import Candidate, Completion, Draw, Failure, FailureKind, Item, Message, TokenLogprob, Verdict
from assay.engines.fake.config import FakeConfig
from assay.engines.fake.engine import FakeEngine
from assay.judges.tokenprob import MOST, TokenProbJudge

SINGLE = TokenProbJudge()
LIST = TokenProbJudge(form="list")
THINKING = TokenProbJudge(thinking=True)


def chosen(*probabilities, mass=None):
    logprobs = tuple(math.log(p) if p else -math.inf for p in probabilities)
    return (Completion(request_id="7-0", text="", choice_logprobs=logprobs, mass=mass),)


def alternatives(**texts):
    return tuple(TokenLogprob(token_id=-1, text=text, logprob=math.log(p)) for text, p in texts.items())


def thought(last, text="<think>hm</think>\n\nYes", finish="stop"):
    """A reply whose last token has these alternatives."""
    places = tuple(alternatives(**{said: 1.0}) for said in ("<think>", "hm", "</think>", "\n\n"))
    return (Completion(request_id="7-0", text=text, finish_reason=finish, top_logprobs=(*places, last)),)


def test_the_score_is_the_share_of_yes(make_item, make_draw):
    outcome = SINGLE.read(make_item("a"), make_draw(), chosen(0.6, 0.2))
    assert isinstance(outcome, Verdict)
    assert outcome.scores == pytest.approx((0.75,))
    assert outcome.mass == pytest.approx(0.8)


def test_the_engines_own_mass_is_believed(make_item, make_draw):
    outcome = SINGLE.read(make_item("a"), make_draw(), chosen(0.6, 0.2, mass=0.6))
    assert isinstance(outcome, Verdict)
    assert outcome.mass == 0.6


def test_a_list_is_scored_by_the_probabilities_of_the_numbers_order_undone(make_item, make_draw):
    outcome = LIST.read(make_item("a", "b", "c"), make_draw(2, 0, 1), chosen(0.5, 0.2, 0.1))
    assert isinstance(outcome, Verdict)
    assert outcome.scores == pytest.approx((0.25, 0.125, 0.625))
    assert outcome.mass == pytest.approx(0.8)


@pytest.mark.parametrize("probabilities", [(0.05, 0.04), (1e-9, 1e-12), (0, 0)])
def test_labels_that_the_model_did_not_want_to_say_are_no_verdict(make_item, make_draw, probabilities):
    for judge in (SINGLE, replace(SINGLE, min_mass=0.0)) if probabilities == (0, 0) else (SINGLE,):
        outcome = judge.read(make_item("a"), make_draw(), chosen(*probabilities))
        assert isinstance(outcome, Failure)
        assert outcome.kind is FailureKind.LOW_MASS
        assert "'Yes'" in outcome.detail


def test_an_engine_without_log_probs_is_an_engine_error(make_item, make_draw, reply):
    for completions in (reply("Yes"), (), chosen(0.5), chosen(0.5, 0.4) * 2):
        outcome = SINGLE.read(make_item("a"), make_draw(), completions)
        assert isinstance(outcome, Failure)
        assert outcome.kind is FailureKind.ENGINE_ERROR


def test_labels_are_asked_for_as_choices(make_item, make_draw):
    (request,) = SINGLE.plan(make_item("a"), make_draw())
    assert request.choices == ("Yes", "No")
    assert "Yes if it is a good response, No if it is not" in request.prompt.messages[0].text
    (request,) = LIST.plan(make_item("a", "b", "c"), make_draw(0, 1, 2))
    assert request.choices == ("1", "2", "3")
    assert "from 1 to 3" in request.prompt.messages[0].text


def test_with_thinking_the_likeliest_tokens_are_asked_for(make_item, make_draw):
    (request,) = replace(THINKING, top=5).plan(make_item("a"), make_draw())
    assert request.choices is None
    assert request.sampling.logprobs == 5
    assert request.sampling.seed == 7


def test_after_thinking_the_labels_are_read_where_the_answer_stands(make_item, make_draw):
    outcome = THINKING.read(make_item("a"), make_draw(), thought(alternatives(Yes=0.6, No=0.2, Well=0.1)))
    assert isinstance(outcome, Verdict)
    assert outcome.scores == pytest.approx((0.75,))
    assert outcome.mass == pytest.approx(0.8)
    assert outcome.flags == ()


def test_the_soft_score_does_not_follow_the_sampled_label(make_item, make_draw):
    said = thought(alternatives(Yes=0.2, No=0.6), text="<think>hm</think>\n\nYes")
    outcome = THINKING.read(make_item("a"), make_draw(), said)
    assert isinstance(outcome, Verdict)
    assert outcome.scores == pytest.approx((0.25,))


def test_a_label_out_of_sight_is_bounded_and_flagged(make_item, make_draw):
    outcome = THINKING.read(make_item("a"), make_draw(), thought(alternatives(Yes=0.75, So=0.05)))
    assert isinstance(outcome, Verdict)
    assert outcome.scores == pytest.approx((0.75 / 0.8,))
    assert outcome.flags == ("bounded",)


def test_little_mass_at_the_place_of_the_answer_is_no_verdict(make_item, make_draw):
    outcome = THINKING.read(make_item("a"), make_draw(), thought(alternatives(So=0.95, Yes=0.03, No=0.02)))
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.LOW_MASS


def test_choices_read_one_token_early_are_low_mass(make_item, make_draw):
    """A model that thinks wants to say <think> first: at the first token of its reply the labels mean nothing."""
    engine = FakeEngine(FakeConfig(choices={"Yes": 0.0004, "No": 0.0001}))
    (request,) = SINGLE.plan(make_item("a"), make_draw())
    completions = asyncio.run(engine.generate(request, Deadline.after(5)))
    outcome = SINGLE.read(make_item("a"), make_draw(), completions)
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.LOW_MASS
    assert "0.0005" in outcome.detail


@pytest.mark.parametrize(
    ("text", "finish", "kind"),
    [
        ("<think>hm", "length", FailureKind.TRUNCATED),
        ("<think>hm</think>\n\nYes", "length", FailureKind.TRUNCATED),
        ("<think>hm</think>\n\nYes, it is", "stop", FailureKind.PARSE_ERROR),
        ("<think>hm</think>\n\nMaybe", "stop", FailureKind.PARSE_ERROR),
        ("", "stop", FailureKind.PARSE_ERROR),
        ("<think>hm</think>\n\nNo", "stop", FailureKind.ENGINE_ERROR),  # the tokens say something else
    ],
)
def test_an_answer_that_is_no_label_is_no_verdict(make_item, make_draw, text, finish, kind):
    outcome = THINKING.read(make_item("a"), make_draw(), thought(alternatives(Yes=0.9, Well=0.1), text, finish))
    assert isinstance(outcome, Failure)
    assert outcome.kind is kind


def test_it_works_through_an_engine_and_through_the_cache(make_item, make_draw):
    judge = TokenProbJudge(form="list", thinking=True)
    item, draw = make_item("a", "b"), make_draw(1, 0)
    (request,) = judge.plan(item, draw)
    engine = FakeEngine(FakeConfig(default="<think>hm 1 2</think>\n2"))
    completions = asyncio.run(engine.generate(request, Deadline.after(5)))
    outcome = judge.read(item, draw, completions)
    assert isinstance(outcome, Verdict)
    assert outcome.scores is not None
    assert outcome.scores[0] > 0.9
    assert judge.read(item, draw, completions_from_json(completions_to_json(completions))) == outcome


def test_each_form_takes_the_candidates_that_it_can(make_item):
    assert SINGLE.per_candidate
    assert not LIST.per_candidate
    with pytest.raises(InputError, match=r"2 candidates.*takes 1 at a time"):
        SINGLE.content(make_item("a", "b"))
    for n in (1, MOST + 1, 40):
        with pytest.raises(InputError, match=rf"has {n} candidates.*2 to 9: use the form 'single'"):
            LIST.content(make_item(*["x"] * n))
    LIST.content(make_item(*["x"] * MOST))


def test_an_empty_candidate_is_an_empty_block_and_equal_ones_are_both_shown(make_item, make_draw):
    (request,) = LIST.plan(make_item("", "b", "b"), make_draw(0, 1, 2))
    shown = re.findall(r"\[\[response \d \w+\]\]\n(.*)\n\[\[/", request.prompt.messages[0].text)
    assert shown == ["", "b", "b"]


@pytest.mark.parametrize("labels", [("Yes", "Yes"), ("ok", "okay"), ("", "no"), ("of course", "no"), (" yes", "")])
def test_labels_that_cannot_be_told_apart_are_refused(labels):
    with pytest.raises(InputError, match="labels: two words are needed"):
        TokenProbJudge(labels=labels)


def test_the_chinese_prompt_is_chinese(make_item, make_draw):
    for judge in (replace(SINGLE, labels=("是", "否"), language="zh"), replace(LIST, language="zh")):
        (request,) = judge.plan(make_item("a"), make_draw())
        text = re.sub(r"\[\[.*?\]\]|What is 6 times 7\?", "", request.prompt.messages[0].text)
        assert not re.search(r"[A-Za-z]{4,}", text)


def test_identity_changes_with_everything_that_shapes_a_verdict():
    judges = [
        SINGLE,
        LIST,
        THINKING,
        replace(THINKING, top=5),
        replace(SINGLE, labels=("yes", "no")),
        replace(SINGLE, min_mass=0.2),
        replace(SINGLE, reference=False),
        replace(SINGLE, language="zh"),
    ]
    assert len({judge.identity for judge in judges}) == len(judges)
    assert SINGLE.asks == judges[5].asks


@given(
    st.text(max_size=8),
    st.lists(st.dictionaries(st.text(max_size=3), st.floats(1e-9, 1), max_size=3), max_size=6),
    st.booleans(),
)
def test_any_completion_gives_a_share_or_a_failure(text, places, labelled):
    said = Completion(
        request_id="r",
        text=f"{text}</think>{'Yes' if labelled else ''}",
        top_logprobs=tuple(alternatives(**place) for place in places),
    )
    item = Item(id="i", messages=(Message(role="user", content="q"),), candidates=(Candidate(text="a"),))
    outcome = THINKING.read(item, Draw(vote=0, seed=1, order=(0,)), (said,))
    if isinstance(outcome, Verdict):
        assert outcome.scores is not None
        assert 0 <= outcome.scores[0] <= 1
        assert outcome.mass is not None
        assert outcome.mass >= 0.1
    else:
        assert outcome.detail
