"""Texts in batches are those of one prompt at a time, whatever leaves the batch and when."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from benchmarks.shipped_judge.decoding import Drawn, decode, first_logits
from transformers import LlamaConfig, LlamaForCausalLM

ENDS = (0, 7, 9)


@pytest.fixture(scope="module")
def lm() -> Any:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=40,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        initializer_range=0.6,
    )
    return LlamaForCausalLM(config).eval()


@pytest.fixture(scope="module")
def prompts() -> list[tuple[int, ...]]:
    draws = random.Random(0)
    return [(1, 2, 3, 4, *(draws.randrange(5, 40) for _ in range(draws.randrange(1, 9)))) for _ in range(23)]


@torch.inference_mode()
def alone(lm: Any, prompt: tuple[int, ...], new_tokens: int) -> list[int]:
    ids = list(prompt)
    for _ in range(new_tokens):
        ids.append(int(lm(torch.tensor([ids])).logits[0, -1].argmax()))
    return ids[len(prompt) :]


def test_greedy_texts_up_to_their_end(lm: Any, prompts: list[tuple[int, ...]]) -> None:
    found = decode(lm, prompts, ENDS, Drawn(new_tokens=24), batch=10)
    lengths = set[int]()
    for prompt, (ids, done) in zip(prompts, found, strict=True):
        whole = alone(lm, prompt, 24)
        end = next((at for at, token in enumerate(whole) if token in ENDS), None)
        assert (list(ids), done) == (whole[:end], end is not None)
        lengths.add(len(ids))
    assert len(lengths) > 5


def test_first_logits_are_those_of_the_prompt_alone(lm: Any, prompts: list[tuple[int, ...]]) -> None:
    with torch.inference_mode():
        for prompt, found in zip(prompts, first_logits(lm, prompts, [5, 6], batch=7), strict=True):
            assert found == pytest.approx(lm(torch.tensor([prompt])).logits[0, -1, [5, 6]].tolist(), abs=1e-4)


def test_samples_follow_from_the_seed(lm: Any, prompts: list[tuple[int, ...]]) -> None:
    def drawn(seed: int) -> Any:
        return decode(lm, prompts, ENDS, Drawn(new_tokens=8, temperature=1.0, seed=seed), batch=10)

    assert drawn(1) == drawn(1) != drawn(2)
