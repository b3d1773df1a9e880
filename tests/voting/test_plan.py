"""What a voting plan refuses, and what it means where something is left out."""

from typing import Any

import pytest

from assay.core.errors import InputError
from assay.core.types import Reduce
from assay.voting.plan import Budget, Certain, Confident, VotePlan


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"k": 0}, "k must be between 1 and 4096, got 0"),
        ({"k": -3}, "got -3"),
        ({"k": 5000}, "got 5000"),
        ({"wave": 0}, "wave must be at least 1"),
        ({"k": 4, "min_valid": 5}, "min_valid must be between 1 and k=4, got 5"),
        ({"k": 4, "min_valid": 0}, "got 0"),
        ({"k": 4, "k_meta": 5, "meta": "rm"}, "k_meta must be between 1 and k=4, got 5"),
        ({"k": 4, "k_meta": 0, "meta": "rm"}, "got 0"),
        ({"k": 4, "k_meta": 2}, "needs a meta RM"),
        ({"k": 4, "meta": "rm", "stop": Certain()}, "cannot be combined"),
        ({"k": 4, "meta": "rm", "stop": Confident()}, "cannot be combined"),
    ],
)
def test_what_cannot_be_is_refused_by_name(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        VotePlan(**options)


def test_rules_of_stopping_refuse_what_cannot_be() -> None:
    for delta in (0.0, 0.5, -1.0, float("nan")):
        with pytest.raises(InputError, match="delta"):
            Confident(delta=delta)
    with pytest.raises(InputError, match="tokens or of seconds"):
        Budget()
    with pytest.raises(InputError, match="seconds must be above 0"):
        Budget(tokens=10, seconds=0)


@pytest.mark.parametrize(("k", "kept"), [(2, 1), (3, 2), (7, 4), (8, 4), (1, None)])
def test_half_of_odd_k_is_rounded_up(k: int, kept: int | None) -> None:
    assert VotePlan(k=k, meta="rm").kept_by_meta == kept


def test_a_budget_goes_with_a_meta_rm() -> None:
    assert VotePlan(k=8, meta="rm", stop=Budget(tokens=1000)).kept_by_meta == 4


@pytest.mark.parametrize(
    ("chosen", "default", "n", "alone", "used"),
    [
        (None, "sum", 2, False, "sum"),
        ("median", "sum", 2, False, "median"),
        ("majority", "sum", 3, False, "majority"),
        (None, "majority", 2, False, "majority"),
        ("mean", "sum", 3, True, "mean"),
        ("sum", "majority", 2, False, None),
        ("majority", "sum", 1, False, None),
        ("majority", "sum", 3, True, None),
    ],
)
def test_which_reducer_is_used(
    chosen: Reduce | None, default: Reduce, n: int, alone: bool, used: Reduce | None
) -> None:
    plan = VotePlan(k=4, reduce=chosen)
    if used is None:
        with pytest.raises(InputError, match="'mine'"):
            plan.reducer("mine", default, n, per_candidate=alone)
    else:
        assert plan.reducer("mine", default, n, per_candidate=alone) == used
