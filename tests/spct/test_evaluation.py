"""Figures out of recorded votes, by numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from assay.core.errors import InputError
from assay.core.types import Failure, FailureKind, Verdict
from assay.data import ResultRow
from assay.spct.evaluation import (
    Measured,
    Worth,
    by_kind,
    difference,
    gain,
    interval,
    measure,
    sizes,
    worth_of,
)

ITEM = {"id": "", "prompt": "?", "candidates": ["a", "b"], "gold": [1.0, 0.0]}
PLAN = {"k": 4, "orders": "shuffle", "reduce": "sum", "ties": "random"}


def votes(
    item: str, scores: Sequence[tuple[float, float] | None], metas: Sequence[float] | None = None, kind: str = "units"
) -> list[ResultRow]:
    """The rows of one judgment; None: a vote without a verdict."""
    plan = PLAN if metas is None else {**PLAN, "meta": "m"}
    return [
        ResultRow(
            item_id=item,
            judge="pointwise",
            outcome="verdict" if found else "parse_error",
            scores=found,
            text="t",
            vote=place,
            order=(0, 1),
            gold=(1.0, 0.0),
            n=2,
            voting=plan,
            drawn=len(scores),
            decision={"scores": [0.0, 0.0]},
            meta=None if metas is None else metas[place],
            completion_tokens=10 + place,
            item={**ITEM, "id": item, "metadata": {"kind": kind}},
        )
        for place, found in enumerate(scores)
    ]


def greedy(item: str, scores: tuple[float, float] | None, **more: Any) -> ResultRow:
    own = {"outcome": "verdict" if scores else "truncated", "scores": scores, "gold": (1.0, 0.0), "n": 2}
    return ResultRow(item_id=item, judge="pointwise", **own, **more)


def test_a_tie_is_worth_a_random_draw_and_a_failure_nothing() -> None:
    assert worth_of(Verdict(scores=(8.0, 3.0)), (1, 0)) == Worth(value=1.0, tied=0.0, read=1.0)
    assert worth_of(Verdict(scores=(8.0, 8.0)), (1, 0)) == Worth(value=0.5, tied=1.0, read=1.0)
    assert worth_of(Verdict(scores=(1.0, 8.0, 8.0)), (1, 0, 0)) == Worth(value=0.0, tied=1.0, read=1.0)
    assert worth_of(Verdict(choice=1), (0, 1)) == Worth(value=1.0, tied=0.0, read=1.0)
    failed = Failure(kind=FailureKind.PARSE_ERROR, detail="")
    assert worth_of(failed, (1, 0)) == Worth(value=0.0, tied=0.0, read=0.0)


def test_k_doubles_up_to_all_votes() -> None:
    assert [sizes(k) for k in (1, 2, 6, 8)] == [(1,), (1, 2), (1, 2, 4, 6), (1, 2, 4, 8)]


def test_voting_counts_every_group_of_k_votes() -> None:
    # One by one: right, wrong, a tie, none, (1 + 0 + 0.5 + 0) / 4. In twos: 10 to 12 is wrong, (5, 5) alone a tie, so
    # 0.25. All: 15 to 17.
    rows = votes("i", [(8, 3), (2, 9), (5, 5), None])
    found = measure([greedy("i", (9, 1))], rows)
    assert found.mean("greedy", "value") == 1.0
    assert found.mean("voting@1", "value") == pytest.approx(0.375)
    assert found.mean("voting@1", "read") == 0.75
    assert found.mean("voting@1", "tied") == 0.25
    assert found.mean("voting@2", "value") == pytest.approx(0.25)
    assert found.mean("voting@4", "value") == 0.0
    assert found.tokens == 11.5
    assert "meta@4" not in found.series


def test_the_meta_rm_keeps_half_of_the_votes_or_as_many_as_it_is_told() -> None:
    rows = votes("i", [(8, 3), (2, 9), (5, 6), (1, 9)], metas=[3.0, -1.0, 2.0, -2.0])
    found = measure([greedy("i", (1, 9))], rows)
    # The best two of all are votes 0 and 2: 13 to 9. Of each pair the better one: right, wrong.
    assert found.mean("voting@4", "value") == 0.0
    assert found.mean("meta@4", "value") == 1.0
    assert found.mean("meta@2", "value") == 0.5
    three = measure([greedy("i", (1, 9))], rows, k_meta=3)
    assert three.mean("meta@4", "value") == 0.0, "15 to 18"


def test_too_few_verdicts_are_no_verdict() -> None:
    found = measure([greedy("i", None)], votes("i", [(8, 3), None, None, None]))
    assert found.mean("voting@4", "read") == 0.0
    assert found.mean("greedy", "read") == 0.0


def test_items_that_only_one_pass_has_are_left_out_and_none_is_an_error() -> None:
    rows = [*votes("a", [(8, 3)] * 4), *votes("b", [(3, 8)] * 4)]
    assert measure([greedy("b", (1, 2))], rows).items == ("b",)
    with pytest.raises(InputError, match="no item in common"):
        measure([greedy("c", (1, 2))], rows)


def made(values: dict[str, float]) -> Measured:
    worths = tuple(Worth(value=value, tied=0.0, read=1.0) for value in values.values())
    kinds = tuple("units" if place % 2 else "equation" for place in range(len(values)))
    return Measured(items=tuple(values), kinds=kinds, series={"greedy": worths, "voting@8": worths}, tokens=1.0)


def test_intervals_hold_their_value_and_gains_are_paired() -> None:
    values = np.array([1.0] * 30 + [0.0] * 10)
    found = interval(values)
    assert (found.value, found == interval(values)) == (0.75, True)
    assert 0.60 <= found.low < 0.68
    assert 0.82 < found.high <= 0.90
    same = made({str(n): float(n % 3 == 0) for n in range(30)})
    assert (gain(same, "voting@8", "greedy").low, gain(same, "voting@8", "greedy").high) == (0.0, 0.0)


def test_models_are_compared_over_the_items_that_both_have() -> None:
    one, other = made({"a": 1.0, "b": 1.0, "c": 0.0}), made({"b": 0.0, "c": 0.0, "d": 1.0})
    found = difference(one, other)
    assert found is not None
    assert found.value == 0.5
    assert difference(one, made({"z": 1.0})) is None


def test_kinds_are_summed_up_by_their_group() -> None:
    found = by_kind(made({"a": 1.0, "b": 0.0, "c": 0.0, "d": 1.0}), {"units": "answers", "equation": "problems"})
    assert {name: (one.value, n) for name, (one, n) in found.items()} == {"answers": (0.5, 2), "problems": (0.5, 2)}


def test_an_item_for_which_no_text_came_is_left_out_and_counted() -> None:
    rows = [*votes("a", [(8, 3)] * 4), *votes("b", [(3, 8), None, (8, 3), (8, 3)])]
    rows[5] = replace(rows[5], outcome="engine_error", detail="it broke")
    both = [greedy("a", (8, 3)), greedy("b", (8, 3))]
    found = measure(both, rows)
    assert (found.items, found.lost) == (("a",), 1)
    with pytest.raises(InputError, match="no text came for any of 1 items"):
        measure([replace(both[0], outcome="timeout", scores=None)], rows[:4])
