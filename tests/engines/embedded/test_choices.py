from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from assay.core.errors import GenerationError
from assay.core.types import FailureKind
from assay.engines.embedded.engine import EmbeddedEngine
from assay.engines.embedded.filling import spread

from .conftest import ask, request


@torch.no_grad()
def direct(model: Any, tok: Any, prompt: str, reply: str) -> float:
    text = tok.apply_chat_template([{"role": "user", "content": prompt}], tokenize=False, add_generation_prompt=True)
    start, own = (tok(t, add_special_tokens=False)["input_ids"] for t in (text, reply))
    logits = model(torch.tensor([start + own])).logits[0].log_softmax(-1)
    return sum(float(logits[len(start) - 1 + i, token]) for i, token in enumerate(own))


CHOICES = ("1", "0", "yes", "the other one")


def test_each_choice_gets_the_log_prob_of_the_whole_reply(engine: EmbeddedEngine, plain: Any, tok: Any) -> None:
    ((answer,),) = ask(engine, request("Is it so?", choices=CHOICES))
    expected = [direct(plain, tok, "Is it so?", choice) for choice in CHOICES]
    assert answer.choice_logprobs == pytest.approx(expected, abs=1e-4)
    assert answer.mass == pytest.approx(math.fsum(map(math.exp, expected)), rel=1e-4)


def test_the_text_is_the_likeliest_choice_at_any_temperature(engine: EmbeddedEngine) -> None:
    (cold,), (hot,) = ask(
        engine, request("Is it so?", choices=CHOICES), request("Is it so?", choices=CHOICES, temperature=2.0, seed=1)
    )
    assert cold.choice_logprobs is not None
    best = max(range(4), key=cold.choice_logprobs.__getitem__)
    assert cold.text == hot.text == CHOICES[best]
    assert cold.logprobs is not None
    assert sum(cold.logprobs) == pytest.approx(cold.choice_logprobs[best])
    assert len(cold.token_ids) == len(cold.logprobs)


def test_many_at_once_are_as_one_alone(engine: EmbeddedEngine) -> None:
    prompts = [f"Question {i}: is it so?" for i in range(12)]
    crowd = ask(engine, *(request(p, choices=CHOICES) for p in prompts))
    for prompt, (answer,) in zip(prompts, crowd, strict=True):
        ((alone,),) = ask(engine, request(prompt, choices=CHOICES))
        assert answer.choice_logprobs == pytest.approx(alone.choice_logprobs, abs=1e-4)


@pytest.mark.parametrize("choices", [(), ("",), ("a", ""), ("a", "a")])
def test_choices_must_differ_and_not_be_empty(engine: EmbeddedEngine, choices: tuple[str, ...]) -> None:
    with pytest.raises(GenerationError, match="choices must be different, non-empty") as caught:
        ask(engine, request("Hi", choices=choices))
    assert caught.value.kind is FailureKind.BAD_REQUEST


def test_spread_keeps_groups_within_the_cost() -> None:
    assert spread([3, 3, 3], 6) == [[0, 1], [2]]
    assert spread([9, 1, 1], 6) == [[0], [1, 2]]
    assert spread([], 6) == []
