"""Settings of a run that cannot be meant are refused before anything begins, with what to write instead."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from assay.rl.config import TrainConfig

BASE: dict[str, Any] = {"prompt_data": "prompts.jsonl", "rm_type": "math"}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"cluster": "banana"}, "write nodes x GPUs x card, such as 1x8xH200"),
        ({"cluster": "1x8xFOO"}, "card 'FOO' is not known"),
        ({"n_samples_per_prompt": 1}, "grpo compares the answers to one prompt"),
        ({"n_samples_per_prompt": 1, "advantage_estimator": "rloo"}, "rloo compares"),
        ({"colocate": True, "resource": {"actor": 8}}, r"'actor' is 8: write \[groups, GPUs of each\]"),
        ({"colocate": True, "resource": {"actor": [1, 2, 3]}}, r"'actor' is \[1, 2, 3\]"),
    ],
)
def test_refused(said: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        TrainConfig(**BASE, **said)


def test_one_answer_a_prompt_is_enough_where_the_batch_is_compared_with() -> None:
    config = TrainConfig(**BASE, n_samples_per_prompt=1, advantage_estimator="reinforce_plus_plus")
    assert config.n_samples_per_prompt == 1
