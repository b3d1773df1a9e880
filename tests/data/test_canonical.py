import json

from hypothesis import given
from hypothesis import strategies as st

from assay.core.types import Candidate, Item, Message
from assay.data import item_from_row, item_to_row

scalars = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=5))
contents = st.one_of(
    st.text(max_size=20),
    st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": st.text(max_size=5)}), min_size=1).map(tuple),
)
messages = st.builds(Message, role=st.sampled_from(["system", "user", "assistant"]), content=contents)


@st.composite
def items(draw):
    candidates = draw(
        st.lists(st.builds(Candidate, text=st.text(max_size=20), author=st.none() | st.text(max_size=3)), min_size=1)
    )
    gold = st.tuples(*[st.floats(0, 1) for _ in candidates])
    return Item(
        id=draw(st.text(min_size=1, max_size=8)),
        messages=tuple(draw(st.lists(messages, min_size=1, max_size=3))),
        candidates=tuple(candidates),
        reference=draw(st.none() | st.text(min_size=1, max_size=8)),
        gold=draw(st.none() | gold),
        metadata=draw(st.dictionaries(st.text(max_size=4), scalars | st.lists(scalars), max_size=3)),
    )


@given(items())
def test_an_item_comes_back_through_json(item):
    row = json.loads(json.dumps(item_to_row(item), allow_nan=False))
    assert item_from_row(row) == item


def test_the_row_is_as_plain_as_it_can_be():
    item = Item(id="a", messages=(Message(role="user", content="q"),), candidates=(Candidate(text="x"),))
    assert item_to_row(item) == {"id": "a", "prompt": "q", "candidates": ["x"]}
