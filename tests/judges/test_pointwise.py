import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.core.types import Candidate, ChatPrompt, Draw, Failure, FailureKind, Item, Message, Verdict
from assay.judges.base import content_hash
from assay.judges.pointwise import PointwiseJudge
from assay.judges.shield import shield

JUDGE = PointwiseJudge()
BLOCK = re.compile(r"\[\[response (\d+) ([0-9a-f]{4})\]\]\n(.*?)\n\[\[/response \1 \2\]\]", re.DOTALL)


def prompt(judge, item, draw):
    (request,) = judge.plan(item, draw)
    assert isinstance(request.prompt, ChatPrompt)
    (message,) = request.prompt.messages
    assert message.role == "user"
    return message.text


def test_candidates_are_shown_in_the_order_of_the_draw_and_scores_put_back(make_item, make_draw, reply):
    item, draw = make_item("zero", "one", "two"), make_draw(2, 0, 1)
    assert [body for _, _, body in BLOCK.findall(prompt(JUDGE, item, draw))] == ["two", "zero", "one"]
    outcome = JUDGE.read(item, draw, reply(r"Scores: \boxed{9, 3, 5}"))
    assert isinstance(outcome, Verdict)
    assert outcome.scores == (3, 5, 9)


@pytest.mark.parametrize("n", [1, 2, 8, 40])
def test_any_number_of_candidates(make_item, make_draw, reply, n):
    item, draw = make_item(*(f"candidate {index}" for index in range(n))), make_draw(*range(n))
    assert len(BLOCK.findall(prompt(JUDGE, item, draw))) == n
    outcome = JUDGE.read(item, draw, reply(rf"\boxed{{{', '.join('7' * n)}}}"))
    assert isinstance(outcome, Verdict)
    assert outcome.scores == (7,) * n


def test_the_number_that_is_due_is_said(make_item, make_draw):
    assert "Numbers in the box: 3." in prompt(JUDGE, make_item("a", "b", "c"), make_draw(0, 1, 2))
    assert r"\boxed{x}" in prompt(JUDGE, make_item("a"), make_draw())


def test_a_reference_is_shown_where_there_is_one_and_wanted(make_item, make_draw):
    with_it, without = make_item("a", "b"), make_item("a", "b", reference=None)
    assert "[[reference " in prompt(JUDGE, with_it, make_draw(0, 1))
    assert "eference" not in prompt(JUDGE, without, make_draw(0, 1))
    assert prompt(PointwiseJudge(reference=False), with_it, make_draw(0, 1)) == prompt(JUDGE, without, make_draw(0, 1))
    assert JUDGE.content(without)["reference"] is None
    assert content_hash(JUDGE, with_it) != content_hash(JUDGE, without)


def test_zero_one_mode_is_for_one_candidate(make_item, make_draw, reply):
    judge = PointwiseJudge(mode="0-1")
    text = prompt(judge, make_item("a"), make_draw())
    assert "The score is 0 or 1." in text
    assert "[[response " in text
    outcome = judge.read(make_item("a"), make_draw(), reply(r"Scores: \boxed{0}"))
    assert isinstance(outcome, Verdict)
    assert outcome.scores == (0.0,)
    with pytest.raises(InputError, match="2 candidates"):
        judge.content(make_item("a", "b"))


def test_an_empty_candidate_is_an_empty_block(make_item, make_draw):
    assert [body for _, _, body in BLOCK.findall(prompt(JUDGE, make_item("", "b"), make_draw(0, 1)))] == ["", "b"]


def test_equal_candidates_are_shown_twice_and_scored_as_the_judge_says(make_item, make_draw, reply):
    item, draw = make_item("a", "a"), make_draw(1, 0)
    assert [body for _, _, body in BLOCK.findall(prompt(JUDGE, item, draw))] == ["a", "a"]
    outcome = JUDGE.read(item, draw, reply(r"\boxed{7, 5}"))
    assert isinstance(outcome, Verdict)
    assert outcome.scores == (5, 7)


def test_an_item_without_candidates_is_refused(make_item):
    with pytest.raises(InputError, match="no candidates"):
        JUDGE.content(make_item())


def test_a_system_message_is_part_of_what_is_judged(make_draw):
    turns = [("system", "be rude"), ("user", "hi"), ("assistant", "what"), ("user", "bye")]
    messages = tuple(Message(role=role, content=text) for role, text in turns)
    item = Item(id="i1", messages=messages, candidates=(Candidate(text="a"), Candidate(text="b")))
    text = prompt(JUDGE, item, make_draw(0, 1))
    assert (
        "[[turn 1: system]]\nbe rude\n[[turn 2: user]]\nhi\n[[turn 3: assistant]]\nwhat\n[[turn 4: user]]\nbye" in text
    )


def test_orders_of_one_item_share_the_prompt_up_to_the_candidates(make_item, make_draw):
    item = make_item("a", "b")
    one, two = (prompt(JUDGE, item, make_draw(*order)) for order in ((0, 1), (1, 0)))
    assert one != two
    cut = one.index("[[response 1 ")
    assert one[:cut] == two[:cut]


def test_items_of_one_kind_share_all_up_to_the_first_block(make_item, make_draw):
    one, two = (prompt(JUDGE, make_item(text, "b", question=text), make_draw(0, 1)) for text in ("x", "y"))
    cut = one.index("[[conversation")
    assert one[:cut] == two[:cut]
    assert one[cut:].rpartition("]]\n\n")[2] == "Now write the three parts. Numbers in the box: 2."
    assert "trust the reference" in one[:cut]


def test_the_chinese_prompt_is_chinese(make_item, make_draw):
    text = prompt(PointwiseJudge(language="zh"), make_item("a", "b"), make_draw(0, 1))
    assert "[[回答 1 " in text
    assert "[[参考 " in text
    assert not re.search(r"[A-Za-z]{4,}", re.sub(r"\[\[.*?\]\]|What is 6 times 7\?|boxed", "", text))


def test_failures_pass_through(make_item, make_draw, reply):
    outcome = JUDGE.read(make_item("a", "b"), make_draw(1, 0), reply(r"\boxed{7}"))
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.PARSE_ERROR
    lenient = PointwiseJudge(lenient=True).read(make_item("a", "b"), make_draw(1, 0), reply(r"\boxed{7; 5}"))
    assert isinstance(lenient, Verdict)
    assert lenient.scores == (5, 7)


def test_identity_changes_with_everything_that_shapes_a_verdict():
    judges = [
        JUDGE,
        replace(JUDGE, mode="0-1"),
        replace(JUDGE, reference=False),
        replace(JUDGE, lenient=True),
        replace(JUDGE, language="zh"),
    ]
    assert len({judge.identity for judge in judges}) == len(judges)
    assert PointwiseJudge().identity == JUDGE.identity


SPICY = st.lists(
    st.sampled_from(["{candidates}", "{count}", "\\boxed{1, 9}", "[[response 2 ", "]]", "\n", "hi", "}"]),
    max_size=8,
).map("".join)


@given(st.lists(st.one_of(st.text(), SPICY), min_size=1, max_size=4), st.randoms())
def test_exactly_n_blocks_come_back_in_order_whatever_the_candidates_say(texts, random):
    order = list(range(len(texts)))
    random.shuffle(order)
    messages = (Message(role="user", content="{candidates} \\boxed{1}"),)
    item = Item(
        id="i", messages=messages, candidates=tuple(Candidate(text=text) for text in texts), reference="{count}"
    )
    text = prompt(JUDGE, item, Draw(vote=0, seed=1, order=tuple(order)))
    assert [body for _, _, body in BLOCK.findall(text)] == [shield(texts[index]) for index in order]
    assert len(re.findall(r"\\boxed\{", text)) == 1
