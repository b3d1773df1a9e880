from __future__ import annotations

import math
from collections import Counter

import pytest
import torch

from assay.engines.embedded.sampling import Knobs, broken, pick, token_logprobs

# P = 0.5, 0.3, 0.15, 0.05 for tokens 2, 0, 3, 1.
LOGITS = torch.tensor([[math.log(0.3), math.log(0.05), math.log(0.5), math.log(0.15)]])


def one(draw: float, **knobs: float) -> int:
    settings = {"temperature": 1.0} | knobs
    return pick(LOGITS, [Knobs(**settings)], [draw])[0]  # pyright: ignore[reportArgumentType]


def test_temperature_zero_is_the_likeliest_token_whatever_the_draw() -> None:
    assert {one(draw, temperature=0.0) for draw in (0.0, 0.5, 0.999)} == {2}


@pytest.mark.parametrize(
    ("draw", "token"), [(0.0, 0), (0.29, 0), (0.31, 1), (0.36, 2), (0.84, 2), (0.86, 3), (0.9999, 3)]
)
def test_the_draw_inverts_the_distribution(draw: float, token: int) -> None:
    assert one(draw) == token


@pytest.mark.parametrize(("draw", "token"), [(0.0, 2), (0.62, 2), (0.63, 0), (0.9999, 0)])
def test_top_k_keeps_the_likeliest(draw: float, token: int) -> None:
    # Of 0.5 and 0.3, renormalised: 0.625 and 0.375.
    assert one(draw, top_k=2) == token


@pytest.mark.parametrize(
    ("top_p", "reachable"), [(0.4, {2}), (0.5, {2}), (0.51, {2, 0}), (0.9, {2, 0, 3}), (1.0, {0, 1, 2, 3})]
)
def test_top_p_keeps_the_smallest_set_that_reaches_it(top_p: float, reachable: set[int]) -> None:
    assert {one(draw / 200, top_p=top_p) for draw in range(200)} == reachable


def test_top_p_is_taken_of_what_top_k_left() -> None:
    # 0.5 of (0.5 + 0.3) is 62.5 %: enough for a top_p of 0.6.
    assert {one(draw / 100, top_k=2, top_p=0.6) for draw in range(100)} == {2}


def test_temperature_sharpens() -> None:
    # At temperature 1/2 the weights are squared: 0.25 of 0.365 is 68 % for token 2.
    counts = Counter(one((i + 0.5) / 1000, temperature=0.5) for i in range(1000))
    assert counts[2] == pytest.approx(1000 * 0.25 / 0.365, abs=2)


def test_top_p_over_a_wide_vocabulary() -> None:
    logits = torch.zeros(1, 5000)
    seen = {pick(logits, [Knobs(temperature=1.0, top_p=0.5)], [i / 4000])[0] for i in range(4000)}
    assert 2400 <= len(seen) <= 2501


def test_rows_do_not_change_each_other() -> None:
    torch.manual_seed(0)
    logits = torch.randn(6, 50)
    knobs = [
        Knobs(temperature=t, top_p=p, top_k=k) for t, p, k in [(0, 1, -1), (1, 1, -1), (0.7, 0.8, -1)] * 2 for _ in [0]
    ]
    draws = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    alone = [pick(logits[i : i + 1], [knobs[i]], [draws[i]])[0] for i in range(6)]
    assert pick(logits, knobs, draws) == alone


def test_logprobs_by_hand() -> None:
    own, top = token_logprobs(LOGITS + 7.0, [3], 2)
    assert own == pytest.approx([math.log(0.15)], abs=1e-6)
    assert [token for token, _ in top[0]] == [2, 0]
    assert [value for _, value in top[0]] == pytest.approx([math.log(0.5), math.log(0.3)], abs=1e-6)


def test_rows_without_a_distribution_are_found() -> None:
    nan, inf = float("nan"), float("inf")
    assert broken(torch.tensor([[0.0, 1.0], [0.0, nan], [-inf, 0.0], [-inf, -inf], [0.0, inf]])) == [
        False,
        True,
        False,
        True,
        True,
    ]
