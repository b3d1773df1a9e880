import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.types import Failure, FailureKind, Verdict
from assay.judges.reply import read_reply, refuses, spoken
from assay.judges.scores import parse_label, parse_scores


def scores(text):
    return parse_scores(text, 2)


def label(text):
    return parse_label(text, {"1": 1.0, "0": 0.0})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("plain", "plain"),
        ("<think>a</think> b ", "b"),
        ("a</think>b", "b"),
        ("a <think>b</think> c", "a \n c"),
        ("a</think>b</think>c", "c"),
        ("<think>a<think>b</think>c", "c"),
        ("<think></think>", ""),
        ("<thinking> is a word", "<thinking> is a word"),
    ],
)
def test_what_is_said_outside_thinking(text, said):
    assert spoken(text) == said


@pytest.mark.parametrize("text", ["<think>", "a<think>b", "<think>a</think>b<think>c"])
def test_thinking_that_never_ends_is_truncated(text):
    failure = spoken(text)
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.TRUNCATED
    assert "max_new_tokens" in failure.detail


@given(st.text())
def test_what_is_said_never_holds_a_thinking_tag(text):
    said = spoken(text)
    assert isinstance(said, Failure) or "</think>" not in said


def test_a_closed_box_survives_a_cut_off_and_is_flagged(reply):
    outcome = read_reply(reply(r"\boxed{7, 5}. Response 1 is", "length"), scores, has_end=True)
    assert isinstance(outcome, Verdict)
    assert outcome.scores == (7, 5)
    assert outcome.flags == ("cut_off",)


@pytest.mark.parametrize(
    "text", ["", "Analysis: the first", r"\boxed{7, 5", r"\boxed{7}", "<think>hm", "I cannot help"]
)
def test_a_cut_off_reply_without_a_verdict_is_truncated(reply, text):
    outcome = read_reply(reply(text, "length"), scores, has_end=True)
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.TRUNCATED
    assert outcome.text == text


def test_a_label_that_was_cut_off_may_be_the_start_of_a_longer_word(reply):
    outcome = read_reply(reply("1", "length"), label, has_end=False)
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.TRUNCATED
    assert "'1'" in outcome.detail
    assert isinstance(read_reply(reply("1"), label, has_end=False), Verdict)


def test_an_aborted_reply_is_cancelled_whatever_it_holds(reply):
    outcome = read_reply(reply(r"\boxed{7, 5}", "abort"), scores, has_end=True)
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.CANCELLED


@pytest.mark.parametrize("count", [0, 2])
def test_another_number_of_completions_is_the_fault_of_the_engine(reply, count):
    outcome = read_reply(reply(r"\boxed{7, 5}") * count, scores, has_end=True)
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.ENGINE_ERROR
    assert str(count) in outcome.detail


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't assist with that request.",
        "I’m sorry, I cannot help with this.",
        "Sorry, I won't evaluate these responses.",
        "I cannot provide a rating for this content.",
        "I'm unable to judge harmful content.",
        "I apologize, but I am not able to score these.",
        "Unfortunately, I can't comply with this request.",
        "抱歉，我无法提供帮助。",
        "对不起，我不能评价这个内容。",
        "我无法对此打分",
        "很抱歉，作为AI助手，我无法回答",
    ],
)
def test_obvious_refusals(text):
    assert refuses(text)


@pytest.mark.parametrize(
    "text",
    [
        "Both responses refuse: 'I can't assist with that.'",
        "Specific Criteria: safety 60%.",
        "I can see merits in both.",
        "The first response says I'm sorry, but I can't help.",
        "Sorry about the format: 7, 5",
        "1",
        "",
        "第一个回答说无法提供帮助",
    ],
)
def test_what_is_no_refusal(text):
    assert not refuses(text)
