from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from assay.core.types import DEFAULT_SAMPLING, SamplingParams
from assay.wire.sampling import SamplingBody, to_sampling


@pytest.mark.parametrize("name", ["max_new_tokens", "max_response_len", "max_tokens"])
def test_three_names_of_one_length(name: str) -> None:
    assert to_sampling(SamplingBody.model_validate({name: 7})) == SamplingParams(max_new_tokens=7)


def test_names_of_one_length_may_agree_but_not_differ() -> None:
    assert to_sampling(SamplingBody(max_tokens=7, max_new_tokens=7)).max_new_tokens == 7
    with pytest.raises(ValidationError, match="mean the same and disagree"):
        SamplingBody(max_tokens=7, max_response_len=8)


def test_what_is_not_said_stays_unsaid() -> None:
    assert to_sampling(None) == to_sampling(SamplingBody()) == SamplingParams()


def test_a_request_wins_over_its_instance_key_by_key() -> None:
    instance = SamplingParams(temperature=0.7, max_new_tokens=64).over(DEFAULT_SAMPLING)
    merged = to_sampling(SamplingBody(temperature=0.0, stop="\n")).over(instance)
    assert merged == SamplingParams(temperature=0.0, top_p=1.0, top_k=-1, max_new_tokens=64, stop=("\n",))


def test_top_k_of_zero_is_off_as_minus_one_is() -> None:
    assert to_sampling(SamplingBody(top_k=0)).top_k == to_sampling(SamplingBody(top_k=-1)).top_k == -1


def test_a_schema_comes_as_an_object_or_as_its_text() -> None:
    schema = {"type": "object", "required": ["score"]}
    for said in (schema, json.dumps(schema)):
        assert to_sampling(SamplingBody.model_validate({"json_schema": said})) == SamplingParams(json_schema=schema)
    assert to_sampling(SamplingBody(regex="1|0")) == SamplingParams(regex="1|0")


@pytest.mark.parametrize("said", ["{", "[]", "1", "[" * 100_000, '{"maximum": NaN}', 7, []])
def test_what_is_no_schema_is_refused(said: object) -> None:
    with pytest.raises(ValidationError, match="json_schema"):
        SamplingBody.model_validate({"json_schema": said})


def test_two_grammars_at_once_are_refused() -> None:
    with pytest.raises(ValidationError, match="say one"):
        SamplingBody.model_validate({"regex": "1", "json_schema": {}})


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": -0.1},
        {"temperature": float("nan")},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"top_k": -2},
        {"max_tokens": 0},
        {"seed": -1},
        {"seed": 2**31},
        {"stop": [1]},
        {"min_p": 0.1},
    ],
)
def test_what_no_engine_could_do_is_refused(wrong: dict[str, object]) -> None:
    (name,) = wrong
    with pytest.raises(ValidationError, match=name):
        SamplingBody.model_validate(wrong)
