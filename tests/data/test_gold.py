import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.data.gold import read_gold


@pytest.mark.parametrize(
    ("value", "n", "expected"),
    [
        ([True, False, True], 3, (1.0, 0.0, 1.0)),
        (["1", "0"], 2, (1.0, 0.0)),
        ([0.25, 7], 2, (0.25, 7.0)),
        (True, 1, (1.0,)),
        ("correct", 1, (1.0,)),
        ("error", 1, (0.0,)),
        ("no_error", 1, (1.0,)),
        (0.5, 1, (0.5,)),
        (1, 3, (0.0, 1.0, 0.0)),
        ("2", 3, (0.0, 0.0, 1.0)),
        ("A>B", 2, (1.0, 0.0)),
        ("B>A", 2, (0.0, 1.0)),
        ("A<B", 2, (0.0, 1.0)),
        ("[[B>>A]]", 2, (0.0, 1.0)),
        ("A=B", 2, (0.5, 0.5)),
        ("tie", 2, (0.5, 0.5)),
        ("model_b", 2, (0.0, 1.0)),
        ("C", 4, (0.0, 0.0, 1.0, 0.0)),
    ],
)
def test_read_gold(value, n, expected):
    assert read_gold(value, n) == expected


@pytest.mark.parametrize(
    ("value", "n", "reason"),
    [
        ([1, 0], 3, "2 values for 3 candidates"),
        (3, 3, "counted from 0"),
        (-1, 3, "counted from 0"),
        (0.5, 2, "counted from 0"),
        (True, 2, "one boolean"),
        ("D", 3, "unknown gold label"),
        ("A>C", 2, "unknown gold label"),
        ("A>B", 3, "unknown gold label"),
        ("maybe", 1, "finite number"),
        ("nan", 1, "finite number"),
        ("1_0", 1, "finite number"),
        ([None], 1, "finite number"),
        ([float("inf")], 1, "finite number"),
        ({"a": 1}, 1, "finite number"),
    ],
)
def test_read_gold_refuses(value, n, reason):
    with pytest.raises(ValueError, match=reason):
        read_gold(value, n)


@given(st.one_of(st.text(max_size=8), st.floats(), st.integers(), st.booleans(), st.none()), st.integers(1, 5))
def test_any_value_gives_n_numbers_or_a_reason(value, n):
    try:
        gold = read_gold(value, n)
    except ValueError:
        return
    assert len(gold) == n
    assert all(g == g and abs(g) != float("inf") for g in gold)
