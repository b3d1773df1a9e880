import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.core.types import Candidate, Completion, Draw, Failure, FailureKind, Item, Message, Verdict
from assay.judges.base import content_hash
from assay.judges.pairwise import PairwiseJudge
from assay.voting.reducers import ballot

JUDGE = PairwiseJudge()
BOTH = PairwiseJudge(both_orders=True)
BLOCK = re.compile(r"\[\[response (\d+) ([0-9a-f]{4})\]\]\n(.*?)\n\[\[/response \1 \2\]\]", re.DOTALL)


def shown(judge, item, draw):
    """The candidates' texts as each request shows them."""
    texts = [request.prompt.messages[0].text for request in judge.plan(item, draw)]
    return [[body for _, _, body in BLOCK.findall(text)] for text in texts]


def says(*texts):
    return tuple(Completion(request_id=f"7-{index}", text=text) for index, text in enumerate(texts))


def test_the_best_is_named_in_the_items_own_order(make_item, make_draw):
    item, draw = make_item("zero", "one", "two"), make_draw(2, 0, 1)
    assert shown(JUDGE, item, draw) == [["two", "zero", "one"]]
    text = r"Choice: \boxed{1}"
    assert JUDGE.read(item, draw, says(text)) == Verdict(choice=2, text=text)


@given(st.integers(2, 5).flatmap(lambda n: st.tuples(st.permutations(range(n)), st.integers(0, n - 1))))
def test_every_order_is_undone(case):
    order, best = case
    item = Item(
        id="i",
        messages=(Message(role="user", content="q"),),
        candidates=tuple(Candidate(text=f"c{index}") for index in range(len(order))),
    )
    draw = Draw(vote=0, seed=1, order=tuple(order))
    (texts,) = shown(JUDGE, item, draw)
    verdict = JUDGE.read(item, draw, says(rf"\boxed{{{texts.index(f'c{best}') + 1}}}"))
    assert isinstance(verdict, Verdict)
    assert verdict.choice == best
    assert verdict.scores is None


def test_it_says_how_many_there_are_and_knows_no_tie(make_item, make_draw, reply):
    (request,) = JUDGE.plan(make_item("a", "b", "c"), make_draw(0, 1, 2))
    assert "from 1 to 3" in request.prompt.messages[0].text
    outcome = JUDGE.read(make_item("a", "b"), make_draw(0, 1), reply(r"\boxed{0}"))
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.PARSE_ERROR


def test_one_candidate_cannot_be_compared(make_item):
    for judge in (JUDGE, BOTH):
        with pytest.raises(InputError, match=r"'i1' has 1 candidate.*'pairwise' compares.*2 or more.*'pointwise'"):
            judge.content(make_item("a"))
        with pytest.raises(InputError, match="no candidates"):
            judge.content(make_item())


def test_forty_candidates(make_item, make_draw, reply):
    item, draw = make_item(*(f"c{index}" for index in range(40))), make_draw(*reversed(range(40)))
    assert len(shown(JUDGE, item, draw)[0]) == 40
    outcome = JUDGE.read(item, draw, reply(r"\boxed{40}"))
    assert isinstance(outcome, Verdict)
    assert outcome.choice == 0


def test_an_empty_candidate_is_an_empty_block_and_equal_ones_are_shown_twice(make_item, make_draw):
    assert shown(JUDGE, make_item("", "b"), make_draw(0, 1)) == [["", "b"]]
    assert shown(BOTH, make_item("a", "a"), make_draw(0, 1)) == [["a", "a"], ["a", "a"]]


def test_both_orders_are_two_requests_with_ids_and_seeds_of_their_own(make_item, make_draw):
    item, draw = make_item("zero", "one"), make_draw(1, 0)
    assert shown(BOTH, item, draw) == [["one", "zero"], ["zero", "one"]]
    first, second = BOTH.plan(item, draw)
    assert (first.id, first.sampling.seed) == ("7-0", 7)
    assert (second.id, second.sampling.seed) == ("7-1", None)  # the scorer derives it


@pytest.mark.parametrize(
    ("first", "second", "choice", "flags"),
    [
        (1, 2, 0, ()),
        (2, 1, 1, ()),
        (1, 1, None, ("inconsistent",)),
        (2, 2, None, ("inconsistent",)),
        (0, 0, None, ("tie",)),
        (0, 1, None, ("inconsistent",)),
        (2, 0, None, ("inconsistent",)),
    ],
)
def test_only_a_winner_in_both_orders_is_one(make_item, make_draw, first, second, choice, flags):
    item = make_item("zero", "one")
    outcome = BOTH.read(item, make_draw(0, 1), says(rf"\boxed{{{first}}}", rf"\boxed{{{second}}}"))
    assert isinstance(outcome, Verdict)
    assert (outcome.choice, outcome.flags) == (choice, flags)
    assert outcome.scores == (None if choice is not None else (0.5, 0.5))
    share = {None: (0.5, 0.5), 0: (1.0, 0.0), 1: (0.0, 1.0)}[choice]
    assert ballot(outcome, 2) == share


def test_equal_candidates_have_no_winner_whatever_a_biased_judge_says(make_item, make_draw):
    always_first = says(r"\boxed{1}", r"\boxed{1}")
    outcome = BOTH.read(make_item("a", "a"), make_draw(0, 1), always_first)
    assert isinstance(outcome, Verdict)
    assert outcome.choice is None


def test_both_orders_need_both_answers(make_item, make_draw):
    item, draw = make_item("a", "b"), make_draw(0, 1)
    outcome = BOTH.read(item, draw, says(r"\boxed{1}", "neither"))
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.PARSE_ERROR
    assert outcome.detail.startswith("order 2 of 2: ")
    assert outcome.text == "\\boxed{1}\n\nneither"
    for texts in ((), (r"\boxed{1}",), (r"\boxed{1}", r"\boxed{2}", r"\boxed{1}")):
        outcome = BOTH.read(item, draw, says(*texts))
        assert isinstance(outcome, Failure)
        assert outcome.kind is FailureKind.ENGINE_ERROR


def test_both_orders_are_for_two(make_item):
    with pytest.raises(InputError, match=r"3 candidates.*both_orders compares exactly 2"):
        BOTH.content(make_item("a", "b", "c"))


def test_flags_of_both_answers_are_united(make_item, make_draw):
    judge = replace(BOTH, lenient=True)
    outcome = judge.read(make_item("a", "b"), make_draw(0, 1), says(r"\boxed{#1}", r"\boxed{1} \boxed{2}"))
    assert isinstance(outcome, Verdict)
    assert (outcome.choice, outcome.flags) == (0, ("lenient", "multiple_boxes"))


def test_a_reference_is_shown_where_there_is_one_and_wanted(make_item, make_draw):
    item, draw = make_item("a", "b"), make_draw(0, 1)
    (request,) = JUDGE.plan(item, draw)
    assert "[[reference " in request.prompt.messages[0].text
    (request,) = PairwiseJudge(reference=False).plan(item, draw)
    assert "eference" not in request.prompt.messages[0].text
    assert content_hash(JUDGE, item) != content_hash(PairwiseJudge(reference=False), item)


@pytest.mark.parametrize("both", [False, True])
def test_the_chinese_prompt_is_chinese(make_item, make_draw, both):
    for request in PairwiseJudge(language="zh", both_orders=both).plan(make_item("a", "b"), make_draw(0, 1)):
        text = request.prompt.messages[0].text
        assert "[[回答 1 " in text
        assert not re.search(r"[A-Za-z]{4,}", re.sub(r"\[\[.*?\]\]|What is 6 times 7\?|boxed", "", text))


def test_identity_changes_with_everything_that_shapes_a_verdict():
    judges = [JUDGE, BOTH, replace(JUDGE, reference=False), replace(JUDGE, lenient=True), replace(JUDGE, language="zh")]
    assert len({judge.identity for judge in judges}) == len(judges)
    assert len({judge.asks for judge in judges}) == len(judges) - 1  # lenient reads the same texts
