"""Orders of candidates: what can be undone, what is balanced, what follows from the draw alone."""

from collections import Counter
from itertools import pairwise, permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.types import Draw
from assay.voting.draws import make_draw
from assay.voting.orders import balanced_row, order_of
from assay.voting.plan import Orders


@pytest.mark.parametrize("n", range(1, 6))
def test_every_order_up_to_five_is_undone(n: int) -> None:
    own = tuple(10.0 + index for index in range(n))
    for order in permutations(range(n)):
        shown = tuple(own[index] for index in order)
        assert Draw(vote=0, seed=0, order=order).undo(shown) == own


@given(st.permutations(range(9)), st.lists(st.floats(-100, 100), min_size=9, max_size=9))
def test_any_order_is_undone(order: list[int], own: list[float]) -> None:
    shown = tuple(own[index] for index in order)
    assert Draw(vote=0, seed=0, order=tuple(order)).undo(shown) == tuple(own)


@pytest.mark.parametrize("n", range(1, 13))
def test_balanced_rows_are_a_latin_square(n: int) -> None:
    rows = [balanced_row(n, row) for row in range(n)]
    for line in (*rows, *zip(*rows, strict=True)):
        assert sorted(line) == list(range(n))


@pytest.mark.parametrize("n", [2, 4, 6, 8, 10])
def test_for_even_n_each_pair_of_neighbours_comes_once(n: int) -> None:
    """Williams: what a candidate stands behind is balanced too."""
    pairs = Counter(pair for row in range(n) for pair in pairwise(balanced_row(n, row)))
    assert set(pairs) == {(a, b) for a, b in product(range(n), repeat=2) if a != b}
    assert set(pairs.values()) == {1}


@given(st.integers(1, 8), st.integers(0, 2**31), st.integers(0, 40))
def test_any_n_successive_balanced_votes_hold_each_candidate_once_in_each_place(n: int, seed: int, start: int) -> None:
    rows = [order_of("balanced", n, start + step, item_seed=seed, vote_seed=0) for step in range(n)]
    assert all(sorted(line) == list(range(n)) for line in (*rows, *zip(*rows, strict=True)))
    assert order_of("balanced", n, start + n, item_seed=seed, vote_seed=9) == rows[0]


def test_balanced_begins_anywhere() -> None:
    """Which row comes first follows from the item, so that k = 1 is not the item's own order."""
    firsts = Counter(order_of("balanced", 3, 0, item_seed=seed, vote_seed=0) for seed in range(600))
    assert set(firsts) == set(permutations(range(3)))
    assert min(firsts.values()) > 60


def test_shuffle_is_uniform_and_fixed_is_fixed() -> None:
    seen = Counter(order_of("shuffle", 3, 0, item_seed=0, vote_seed=seed) for seed in range(600))
    assert set(seen) == set(permutations(range(3)))
    assert min(seen.values()) > 60
    assert order_of("fixed", 4, 7, item_seed=1, vote_seed=2) == (0, 1, 2, 3)


@pytest.mark.parametrize("orders", ["shuffle", "balanced", "fixed"])
def test_draws_follow_from_content_and_vote_alone(orders: Orders) -> None:
    def draws(content: str, base: int = 0) -> list[Draw]:
        return [make_draw("judge", content, 4, vote=vote, base=base, orders=orders) for vote in range(8)]

    assert draws("a") == draws("a")
    assert [draw.vote for draw in draws("a")] == list(range(8))
    assert len({draw.seed for draw in (*draws("a"), *draws("b"), *draws("a", base=1))}) == 24
    if orders == "balanced":
        assert len({draw.order for draw in draws("a")}) == 4
