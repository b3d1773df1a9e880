"""Where the label stands: tokens are matched with the text, so that a neighbouring place is never read for it."""

import math
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.types import Completion, TokenLogprob
from assay.judges.spot import LOOK, label_place, weigh_place


def token(text, p, token_id=-1):
    return TokenLogprob(token_id=token_id, text=text, logprob=math.log(p))


def place(**texts):
    """Alternatives of one place, by text; ``_`` is a space."""
    return tuple(token(text.replace("_", " "), p) for text, p in texts.items())


def completion(text, *places, ids=()):
    return Completion(request_id="7-0", text=text, top_logprobs=tuple(places), token_ids=ids)


END = (token("<|im_end|>", 0.95), token("Yes", 0.02), token(".", 0.01))
BREAK = (token("\n\n", 0.97), token("Yes", 0.01))
CLOSE = (token("</think>", 0.9), token(" so", 0.1))
YES = place(Yes=0.6, No=0.3, _Yes=0.05)


@pytest.mark.parametrize(
    ("text", "places", "expected"),
    [
        ("Yes", [YES], 0),
        ("Yes", [YES, END], 0),
        ("<think>hm</think>\n\nYes", [place(hm=1.0), CLOSE, BREAK, YES, END], 3),
        ("<think>hm</think>Yes", [place(hm=1.0), CLOSE, BREAK, YES, END], 3),  # white space stripped by the server
        ("<think>hm</think>\n\nYes\n", [CLOSE, BREAK, YES, (token("\n", 0.9),), END], 2),
        ("Yes", [BREAK, YES], 1),
    ],
)
def test_the_place_is_found_with_and_without_what_engines_leave_out(text, places, expected):
    assert label_place(completion(text, *places), "Yes") == expected


def test_a_label_of_several_tokens_is_where_the_first_one_stands():
    said = completion("</think>\nYes", CLOSE, (token("\n", 0.9),), place(Y=0.8, N=0.2), place(es=1.0), END)
    assert label_place(said, "Yes") == 2


def test_ids_say_which_token_was_sampled():
    """Without ids the likelier reading wins: the label at the end, after a thought that ends in it."""
    places = (
        (token(" Yes", 0.9, 5), token("\n", 0.1, 9)),
        (token("Yes", 0.6, 6), token("\n", 0.3, 9), token("No", 0.1, 7)),
        (token("<|im_end|>", 0.5, 1), token("Yes", 0.5, 6)),
    )
    assert label_place(completion("\nYes", *places, ids=(9, 6, 1)), "Yes") == 1
    assert label_place(completion("Yes", *places, ids=(9, 9, 6)), "Yes") == 2


def test_a_sampled_token_that_is_none_of_the_likeliest_hides_nothing_else():
    places = ((token("a", 0.9, 1),), (token("Yes", 0.6, 6), token("No", 0.4, 7)))
    assert label_place(completion("thought Yes", *places, ids=(99, 6)), "Yes") == 1
    assert label_place(completion("thought Yes", *places, ids=(99, 98)), "Yes") is None


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("Yes", []),
        ("Yes", [place(No=1.0)]),
        ("No", [YES]),
        ("Yes", [(token("", 1.0),)]),  # ids for texts
        ("x>Yes", [place(x=1.0), (token(">Yes", 0.9), token("Yes", 0.1))]),  # no token begins where the label does
        ("Yes" + "\n" * LOOK, [YES, *[(token("\n", 1.0),)] * LOOK]),
    ],
)
def test_a_place_that_is_not_there_is_not_made_up(text, places):
    assert label_place(completion(text, *places), "Yes") is None


def test_no_alternatives_at_all():
    assert label_place(Completion(request_id="r", text="Yes"), "Yes") is None


def test_the_labels_are_weighed_by_the_tokens_that_begin_them():
    weighed, bounded = weigh_place(place(Yes=0.5, _Yes=0.1, No=0.2, Maybe=0.1), ("Yes", "No"))
    assert [math.exp(value) for value in weighed.logprobs] == pytest.approx([0.6, 0.2])
    assert weighed.mass == pytest.approx(0.8)
    assert weighed.shares == pytest.approx((0.75, 0.25))
    assert not bounded


def test_a_label_that_is_not_listed_has_the_last_ones_probability_at_most_and_no_mass():
    weighed, bounded = weigh_place(place(Yes=0.75, Well=0.2, So=0.05), ("Yes", "No"))
    assert bounded
    assert weighed.mass == pytest.approx(0.75)
    assert weighed.shares[0] == pytest.approx(0.75 / 0.8)


def test_a_token_that_begins_two_labels_is_nobodys():
    weighed, _ = weigh_place(place(o=0.9, ok=0.1), ("ok", "oh"))
    assert weighed.mass == pytest.approx(0.1)


def test_one_place_too_early_has_no_mass():
    for alternatives in (BREAK, CLOSE, END):
        assert weigh_place(alternatives, ("Yes", "No"))[0].mass < 0.05


NOISE = st.lists(st.sampled_from(["Yes", "No", "\n", " so", "</think>", "Y", "es", ".", "<|im_end|>"]), max_size=5)


@given(
    st.lists(st.sampled_from([" so", " Yes", " No", " the", "."]), max_size=6),
    st.sampled_from([["Yes"], ["Y", "es"], [" Yes"]]),
    st.sampled_from([[], ["<|im_end|>"], ["\n", "</s>"]]),
    st.lists(NOISE, min_size=14, max_size=14),
    st.booleans(),
)
def test_the_place_is_found_whatever_the_alternatives_are(thought, label, after, noise, with_ids):
    sampled = ["<think>", *thought, "</think>", "\n\n", *label, *after]
    ids = {text: index for index, text in enumerate(dict.fromkeys([*sampled, *chain.from_iterable(noise)]))}
    places = [
        (token(text, 0.9, ids[text]), *(token(n, 0.01, ids[n]) for n in dict.fromkeys(others) if n != text))
        for text, others in zip(sampled, noise, strict=False)
    ]
    text = "".join(t for t in sampled if t not in after or t == "\n")
    told = tuple(ids[text] for text in sampled) if with_ids else ()
    assert label_place(completion(text, *places, ids=told), "Yes") == len(thought) + 3


TOKENS = st.builds(
    TokenLogprob,
    token_id=st.integers(-1, 3),
    text=st.one_of(st.text(max_size=3), st.sampled_from(["1", "2", "\n", "</think>", "<|im_end|>"])),
    logprob=st.floats(-9999, 0),
)


@given(st.text(max_size=6), st.lists(st.lists(TOKENS, max_size=4), max_size=12), st.text(max_size=3))
def test_nothing_raises(text, places, label):
    said = completion(text + label, *(tuple(one) for one in places))
    found = label_place(said, label)
    assert found is None or 0 <= found < len(places)
    for one in places:
        weighed, _ = weigh_place(one, ("1", "2"))
        assert not any(math.isnan(value) for value in weighed.logprobs)
