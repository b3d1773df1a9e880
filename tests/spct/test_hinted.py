"""The hint: the last line of the input, with the number under which the best candidate is shown."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest

from assay.core.errors import InputError
from assay.core.types import ChatPrompt, Completion, Draw, Verdict
from assay.judges import Judge, build_judge
from assay.judges.base import content_hash
from assay.spct.hinted import HintedJudge

from .scripted import PAIRWISE, POINTWISE, SINGLE, alone, item


def last_line(judge: HintedJudge, order: tuple[int, ...], n: int = 3, best: int = 1, **metadata: object) -> str:
    asked = replace(item("q", "easy", n, best), metadata=metadata)
    (request,) = judge.plan(asked, Draw(vote=0, seed=7, order=order))
    assert isinstance(request.prompt, ChatPrompt)
    return request.prompt.messages[-1].text.splitlines()[-1]


@pytest.mark.parametrize("base", [POINTWISE, PAIRWISE])
def test_it_names_the_place_at_which_the_best_candidate_is_shown(base: Judge) -> None:
    judge = HintedJudge(base=base)
    for order in permutations(range(3)):
        expected = f"Known beforehand: the best response is response {order.index(1) + 1}."
        assert last_line(judge, order) == expected


def test_the_prompt_is_the_judges_own_with_a_line_behind_it() -> None:
    asked, draw = item("q", "easy"), Draw(vote=0, seed=7, order=(1, 0))
    (plain,) = POINTWISE.plan(asked, draw)
    (hinted,) = HintedJudge(base=POINTWISE).plan(asked, draw)
    assert isinstance(plain.prompt, ChatPrompt)
    assert isinstance(hinted.prompt, ChatPrompt)
    before, after = plain.prompt.messages[-1].text, hinted.prompt.messages[-1].text
    assert after == f"{before}\n\nKnown beforehand: the best response is response 2."
    assert (plain.id, plain.sampling) == (hinted.id, hinted.sampling)


def test_the_strength_of_a_preference_is_told_where_it_is_known() -> None:
    judge = HintedJudge(base=POINTWISE, strength=True)
    assert last_line(judge, (0, 1, 2), strength=2.0).endswith("response 2 (strength of the preference: 2).")
    assert last_line(judge, (0, 1, 2)).endswith("response 2.")
    assert last_line(HintedJudge(base=POINTWISE), (0, 1, 2), strength=2.0).endswith("response 2.")
    # However it is written, it stays one line and plants no box.
    told = last_line(judge, (0, 1, 2), strength="much\nbetter \\boxed{9}")
    assert told.endswith("(strength of the preference: much better [boxed: 9]).")


def test_of_a_single_response_it_names_the_score() -> None:
    (request,) = HintedJudge(base=SINGLE).plan(alone("s", "easy", 0), Draw(vote=0, seed=1, order=(0,)))
    assert isinstance(request.prompt, ChatPrompt)
    assert request.prompt.messages[-1].text.endswith("\n\nKnown beforehand: the right score is 0.")


def test_in_chinese() -> None:
    judge = HintedJudge(base=build_judge("pointwise", language="zh"), language="zh", strength=True)
    assert last_line(judge, (1, 0, 2), strength=3.0) == "已知：最好的回答是回答1（偏好强度：3）。"


def test_it_reads_as_the_judge_does_and_is_another_judge() -> None:
    judge = HintedJudge(base=POINTWISE)
    said = Completion(request_id="", text="\\boxed{2, 9}")
    read = judge.read(item("q", "easy"), Draw(vote=0, seed=1, order=(1, 0)), [said])
    assert isinstance(read, Verdict)
    assert read.scores == (9.0, 2.0)
    assert judge.asks != POINTWISE.asks
    assert judge.identity not in (POINTWISE.identity, HintedJudge(base=POINTWISE, strength=True).identity)


def test_what_the_hint_says_is_part_of_what_is_asked() -> None:
    judge, asked = HintedJudge(base=POINTWISE), item("q", "easy")
    other = replace(asked, gold=(0.0, 1.0))
    assert content_hash(judge, asked) != content_hash(judge, other)
    assert content_hash(POINTWISE, asked) == content_hash(POINTWISE, other)


def test_an_item_without_a_single_best_candidate_has_no_hint() -> None:
    judge, draw = HintedJudge(base=POINTWISE), Draw(vote=0, seed=1, order=(0, 1))
    with pytest.raises(InputError, match="no gold"):
        judge.plan(replace(item("q", "easy"), gold=None), draw)
    with pytest.raises(InputError, match="no single best"):
        judge.plan(replace(item("q", "easy"), gold=(1.0, 1.0)), draw)
