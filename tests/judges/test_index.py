import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.types import Failure, FailureKind
from assay.judges.index import Named, parse_index


def place(text, n=3, **options):
    named = parse_index(text, n, **options)
    assert isinstance(named, Named), named
    return named.place


def kind(text, n=3, **options):
    named = parse_index(text, n, **options)
    assert isinstance(named, Failure), named
    assert named.text == text
    return named.kind


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"Choice: \boxed{1}", 0),
        (r"\boxed{ 3 }", 2),
        (r"I first thought \boxed{1}, but no: \boxed{2}", 1),
        (r"<think>\boxed{1}</think>\boxed{2}", 1),
    ],
)
def test_the_last_box_names_the_best_counted_from_one(text, expected):
    assert place(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Response 2 is best.",
        r"\boxed{0}",
        r"\boxed{4}",
        r"\boxed{-1}",
        r"\boxed{1.5}",
        r"\boxed{}",
        r"\boxed{1, 2}",
        r"\boxed{B}",
        r"\boxed{x}",
        r"\boxed{tie}",
        r"\boxed{1000}",
    ],
)
def test_what_names_no_candidate_is_no_verdict(text):
    assert kind(text) is FailureKind.PARSE_ERROR
    assert kind(text, lenient=True) is FailureKind.PARSE_ERROR


def test_a_box_or_a_thinking_block_that_never_ends_is_cut_off():
    assert kind(r"\boxed{2") is FailureKind.TRUNCATED
    assert kind(r"<think>\boxed{2}") is FailureKind.TRUNCATED


def test_a_refusal_is_told_apart():
    assert kind("I'm sorry, but I cannot judge these answers.") is FailureKind.REFUSED


@pytest.mark.parametrize(
    "text",
    [r"\boxed{Response 2}", r"\boxed{#2}", r"\boxed{\text{2}}", r"\boxed{**2**}", r"\boxed{2.0}", "\\boxed{回答 2}"],
)
def test_lenient_reading_forgives_how_the_number_is_written(text):
    strict = parse_index(text, 3)
    assert isinstance(strict, Failure)
    assert "(lenient reading would take 2)" in strict.detail
    loose = parse_index(text, 3, lenient=True)
    assert loose == Named(place=1, flags=("lenient",), text=text)


@pytest.mark.parametrize("text", [r"\boxed{Response 1: 2}", r"\boxed{A: 2}", r"\boxed{1 or 2}", r"\boxed{1; 2}"])
def test_lenient_reading_does_not_choose_between_two_numbers(text):
    assert kind(text, lenient=True) is FailureKind.PARSE_ERROR


def test_zero_is_a_tie_where_ties_are_allowed():
    assert place(r"\boxed{0}", tie=True) is None
    assert kind(r"\boxed{tie}", tie=True) is FailureKind.PARSE_ERROR
    assert place(r"\boxed{Tie}", tie=True, lenient=True) is None


def test_several_boxes_are_flagged():
    named = parse_index(r"\boxed{1} \boxed{2}", 2)
    assert isinstance(named, Named)
    assert named.flags == ("multiple_boxes",)


PIECES = st.sampled_from(
    [r"\boxed{", "}", "1", "2", "0", "Response ", "#", ",", "<think>", "</think>", "tie", " ", "\uff0e"]
)


@given(st.lists(st.one_of(PIECES, st.text(max_size=4)), max_size=14).map("".join), st.integers(1, 40), st.booleans())
def test_any_text_gives_a_candidate_that_there_is_or_a_failure(text, n, tie):
    for lenient in (False, True):
        named = parse_index(text, n, tie=tie, lenient=lenient)
        if isinstance(named, Failure):
            assert named.detail
        else:
            assert (tie and named.place is None) or (named.place is not None and 0 <= named.place < n)


@given(st.integers(1, 40).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n))))
def test_what_is_written_is_read_back(case):
    n, index = case
    assert place(rf"Analysis: fine. Choice: \boxed{{{index}}}", n) == index - 1
