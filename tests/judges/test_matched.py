from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.types import Candidate, Item, Message
from assay.data.demo import load_demo
from assay.judges.extract import final_answer, math_answer
from assay.judges.matched import (
    dressed,
    filled,
    length_matched,
    lengthened,
    near,
    plain,
    style_matched,
    styled,
)

PAIR = Item(
    id="sum",
    messages=(Message(role="user", content="2 + 2?"),),
    candidates=(Candidate(text="Two and two make four.\nAnswer: 4", author="a"), Candidate(text="Answer: 5")),
    gold=(1.0, 0.0),
)


def texts(item: Item | None) -> list[str]:
    assert item is not None
    return [candidate.text for candidate in item.candidates]


def test_the_shorter_answer_is_filled_up_to_the_longer_one() -> None:
    long = replace(PAIR, candidates=(Candidate(text="x" * 400), Candidate(text="Answer: 5")))
    better, worse = texts(length_matched(long))
    assert better == "x" * 400
    assert worse.endswith("\nAnswer: 5")
    assert near(len(better), len(worse))
    assert length_matched(replace(long, candidates=(Candidate(text="x" * 95), Candidate(text="y" * 100)))) is None


def test_the_worse_answer_is_made_twice_as_long_as_the_better_one() -> None:
    better, worse = texts(lengthened(replace(PAIR, candidates=(Candidate(text="x" * 300), Candidate(text="short")))))
    assert better == "x" * 300
    assert 560 <= len(worse) <= 640
    assert lengthened(replace(PAIR, candidates=(Candidate(text="x"), Candidate(text="yy")))) is None
    turned = replace(PAIR, gold=(0.0, 1.0), candidates=(Candidate(text="short"), Candidate(text="x" * 300)))
    assert texts(lengthened(turned))[0].endswith("short")


def test_markup_is_taken_off_but_not_out_of_code_and_maths() -> None:
    marked = "# Title\n\n- **one** and 2 ** 3\n> said\n---\n```python\n# a comment\n- x\n```\n\\boxed{4}"
    assert plain(marked) == "Title\n\none and 2 ** 3\nsaid\n```python\n# a comment\n- x\n```\n\\boxed{4}"
    assert plain("-7 is below 0") == "-7 is below 0"


def test_only_the_worse_answer_is_dressed_up() -> None:
    marked = replace(PAIR, candidates=(Candidate(text="**4**", author="a"), Candidate(text="It is\nAnswer: 5")))
    made = styled(marked)
    assert texts(made) == ["4", "## Overview\n\n- **It** is\n\n## Conclusion\n\nAnswer: 5"]
    assert made is not None
    assert (made.id, made.gold, made.candidates[0].author) == ("sum/styled", (1.0, 0.0), "a")
    assert texts(style_matched(marked)) == ["4", "It is\nAnswer: 5"]
    assert style_matched(PAIR) is None


@pytest.mark.parametrize("make", [length_matched, lengthened, style_matched, styled])
def test_where_no_answer_is_the_better_one_there_is_no_probe(make: object) -> None:
    assert callable(make)
    for item in (replace(PAIR, gold=(0.5, 0.5)), replace(PAIR, gold=None), PAIR.only(0)):
        assert make(item) is None


@pytest.mark.parametrize("text", ["短", "Fine."])
def test_filler_speaks_the_language_of_the_answer(text: str) -> None:
    assert ("回答" in filled(text, 200)) == (text == "短")


@given(st.text(max_size=80), st.integers(0, 400))
def test_filler_only_adds_in_front(text: str, length: int) -> None:
    made = filled(text, length)
    assert made.endswith(text)
    assert len(made) <= max(length, len(text)) + 60


@given(st.text(max_size=200))
def test_taking_markup_off_never_lengthens(text: str) -> None:
    assert len(plain(text)) <= len(text)


def test_final_answers_of_the_demo_stay_where_they_are() -> None:
    for item in load_demo():
        for candidate in item.candidates:
            before = math_answer(candidate.text)
            assert math_answer(filled(candidate.text, 2 * len(candidate.text))) == before or len(before) > 60
            assert math_answer(dressed(candidate.text)).strip("*") == before.strip("*") or len(before) > 60
            if "Answer:" in candidate.text:
                kept = final_answer(plain(candidate.text)).strip("* ")
                assert kept == final_answer(candidate.text).replace("**", "").strip("* ")
