from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.seeds import canonical, derive_order, derive_seed, digest


def test_canonical_does_not_depend_on_key_order() -> None:
    assert canonical({"b": 1, "a": [1.5, "ü", None]}) == '{"a":[1.5,"ü",null],"b":1}'
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})


def test_nan_has_no_canonical_form() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical(float("nan"))


def test_a_lone_surrogate_has_a_hash() -> None:
    assert digest("\udc80") != digest("\udc81")


def test_every_part_of_the_key_changes_the_seed() -> None:
    one = derive_seed("c", "j", 0, "sample")
    others = [
        derive_seed("d", "j", 0, "sample"),
        derive_seed("c", "k", 0, "sample"),
        derive_seed("c", "j", 1, "sample"),
        derive_seed("c", "j", 0, "order"),
        derive_seed("c", "j", 0, "sample", base=1),
    ]
    assert len({one, *others}) == 6
    assert one == derive_seed("c", "j", 0, "sample")


@given(st.text(), st.text(), st.integers(0, 100))
def test_seeds_fit_every_engine(content: str, judge: str, vote: int) -> None:
    assert 0 <= derive_seed(content, judge, vote, "sample") < 2**31


@given(st.integers(0, 2**31 - 1), st.integers(0, 12))
def test_an_order_is_a_permutation(seed: int, n: int) -> None:
    assert sorted(derive_order(seed, n)) == list(range(n))
    assert derive_order(seed, n) == derive_order(seed, n)


def test_orders_are_uniform() -> None:
    counts: dict[tuple[int, ...], int] = {}
    for content in range(6000):
        order = derive_order(derive_seed(str(content), "j", 0, "order"), 3)
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 6
    # 1,000 expected each, standard deviation 29.
    assert all(870 < count < 1130 for count in counts.values())
