"""Tiny random models and batches of made-up tokens, for exact comparisons on the CPU."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, Qwen2Config

from assay.training.batch import TrainBatch, TrainSequence

# Tiny products: a second thread only waits, and where others compute it waits long.
torch.set_num_threads(1)

VOCABULARY = 48
SHAPE: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    # Large, so that the distribution is far from uniform and a wrong mask shows.
    "initializer_range": 0.3,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
CONFIGS = {
    "llama": LlamaConfig(**SHAPE, tie_word_embeddings=True),
    "qwen2": Qwen2Config(**SHAPE, tie_word_embeddings=False),
}


def tiny(kind: str = "llama", *, dtype: torch.dtype = torch.float32, seed: int = 0) -> Any:
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(copy.deepcopy(CONFIGS[kind]), dtype=dtype)
    if dtype == torch.float64:
        _widen(model)
    return model


def _widen(module: torch.nn.Module) -> None:
    """Norms in double precision: those of transformers always round to float32."""
    for name, child in module.named_children():
        if type(child).__name__.endswith("RMSNorm"):
            setattr(module, name, torch.nn.RMSNorm(32, eps=1e-6, dtype=torch.float64))
        else:
            _widen(child)


def sample(
    draw: random.Random, prompt: tuple[int, ...], length: int, *, group: int = 0, masked: float = 0.0, **more: Any
) -> TrainSequence:
    """A response of made-up tokens; ``masked``: how often a token is not the policy's."""
    response = tuple(draw.randrange(3, VOCABULARY) for _ in range(length))
    mask = tuple(draw.random() >= masked for _ in response)
    return TrainSequence(
        prompt_ids=prompt, response_ids=response, loss_mask=mask, group=group, advantage=draw.gauss(0, 1), **more
    )


def batch(seed: int = 0, *, groups: int = 3, size: int = 4, longest: int = 9, masked: float = 0.2) -> TrainBatch:
    """Groups of unequal prompts and responses."""
    draw = random.Random(seed)
    made: list[TrainSequence] = []
    for group in range(groups):
        prompt = tuple(draw.randrange(3, VOCABULARY) for _ in range(draw.randint(1, 8)))
        made += [sample(draw, prompt, draw.randint(1, longest), group=group, masked=masked) for _ in range(size)]
    return TrainBatch(sequences=tuple(made))


@pytest.fixture
def saved(tmp_path: Path) -> Callable[..., Path]:
    """Writes a tiny model and returns its folder."""

    def save(kind: str = "llama", **more: Any) -> Path:
        folder = tmp_path / f"model-{kind}"
        tiny(kind, **more).save_pretrained(folder)
        return folder

    return save
