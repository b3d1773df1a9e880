from __future__ import annotations

from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from assay.training.fit.held import split
from assay.training.fit.order import Order


@given(st.integers(1, 40), st.integers(1, 50), st.integers(0, 3), st.integers(1, 4))
def test_every_pass_has_every_example_once(size: int, batch: int, seed: int, epochs: int) -> None:
    order = Order(size, batch, seed=seed, epochs=epochs)
    assert order.updates == -(-size * epochs // batch)
    drawn = list(chain.from_iterable(order.batch(number) for number in range(order.updates)))
    assert len(drawn) == size * epochs
    for start in range(0, len(drawn), size):
        assert sorted(drawn[start : start + size]) == list(range(size))
    assert order.batch(order.updates) == []


def test_an_update_follows_from_its_number_alone() -> None:
    one, other = (Order(10, 4, seed=1, epochs=None) for _ in range(2))
    assert one.updates is None
    forwards = [one.batch(number) for number in range(20)]
    assert [other.batch(number) for number in reversed(range(20))] == forwards[::-1]
    assert Order(10, 4, seed=2, epochs=None).batch(0) != forwards[0]


def test_half_a_pass_is_half_of_the_examples() -> None:
    order = Order(10, 4, seed=0, epochs=0.5)
    assert [len(order.batch(number)) for number in range(3)] == [4, 1, 0]


def test_all_of_a_prompt_is_on_one_side_whatever_else_there_is() -> None:
    examples = [(prompt, answer) for prompt in range(200) for answer in range(3)]
    train, held = split(examples, lambda one: one[0], 0.2, seed=0)
    assert {p for p, _ in train}.isdisjoint({p for p, _ in held})
    assert 20 <= len({p for p, _ in held}) <= 60
    fewer = split(examples[::2], lambda one: one[0], 0.2, seed=0)[1]
    assert set(fewer) <= set(held)
    assert split(examples, lambda one: one[0], 0.0, seed=0) == (examples, [])
