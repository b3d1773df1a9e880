from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import GenerationError
from assay.core.types import FailureKind
from assay.engines.base import Reward
from assay.engines.http_reward.reply import NotOneLogit, read_sglang, read_vllm, squeezed

SGLANG = {"embedding": [-15.78], "meta_info": {"id": "x", "prompt_tokens": 812, "e2e_latency": 0.1}}
VLLM = {
    "id": "classify-1",
    "object": "list",
    "model": "m",
    "data": [{"index": 0, "label": "LABEL_0", "probs": [1.31], "num_classes": 1}],
    "usage": {"prompt_tokens": 9, "total_tokens": 9, "completion_tokens": 0},
}
KEYS = ("embedding", "meta_info", "prompt_tokens", "data", "probs", "usage", "x")
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


def test_the_documented_replies() -> None:
    assert read_sglang(SGLANG) == Reward(logit=-15.78, prompt_tokens=812)
    assert read_sglang([SGLANG]) == Reward(logit=-15.78, prompt_tokens=812)
    assert read_vllm(VLLM) == Reward(logit=1.31, prompt_tokens=9)


@pytest.mark.parametrize("count", [2, 4096])
def test_a_vector_is_refused_by_its_length(count: int) -> None:
    for read, data in (
        (read_sglang, {"embedding": [0.5] * count}),
        (read_vllm, {"data": [{"probs": [0.5] * count}]}),
    ):
        with pytest.raises(NotOneLogit, match=f"{count} numbers instead of one logit.*num_labels=1"):
            read(data)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "not an object"),
        ([SGLANG, SGLANG], "not an object"),
        ({"error": {"message": "no"}}, "'embedding' is None"),
        ({"embedding": []}, "not a number"),
        ({"embedding": ["1"]}, "not a number"),
        ({"embedding": [True]}, "not a number"),
        ({"embedding": [None]}, "not a number"),
        ({"embedding": [[1.0]]}, "not a number"),
        ({"embedding": [-math.inf]}, "the logit is -inf"),
        ({"embedding": [10**400]}, "the logit is 10000"),
    ],
)
def test_what_sglang_may_not_say(data: Any, words: str) -> None:
    with pytest.raises(GenerationError, match=words) as caught:
        read_sglang(data)
    assert caught.value.kind is FailureKind.ENGINE_ERROR


@pytest.mark.parametrize("data", [{}, {"data": []}, {"data": [1]}, {"data": VLLM["data"] * 2}, {"data": [{}]}, "x"])
def test_what_vllm_may_not_say(data: Any) -> None:
    with pytest.raises(GenerationError, match="malformed"):
        read_vllm(data)


@given(JSON)
def test_any_json_is_one_finite_number_or_a_failure(data: Any) -> None:
    for read in (read_sglang, read_vllm):
        try:
            reward = read(data)
        except GenerationError:
            continue
        assert math.isfinite(reward.logit)
        assert reward.prompt_tokens >= 0


@pytest.mark.parametrize(
    ("off", "on", "is_squeezed"),
    [(1.0, 1.0, True), (0.73, 0.73, True), (-2.0, -2.0, False), (1.31, 0.7875, False), (0.4, 0.5987, False)],
)
def test_an_activation_that_cannot_be_turned_off_shows(off: float, on: float, is_squeezed: bool) -> None:
    assert squeezed(off, on) is is_squeezed
