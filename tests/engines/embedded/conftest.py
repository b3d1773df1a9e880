"""A tiny random Llama with a byte-level tokenizer and a chat template, built once, so that tests are fast."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, PreTrainedTokenizerFast

from assay.core.deadline import Deadline
from assay.core.types import ChatPrompt, Completion, Message, Request, SamplingParams, TokenPrompt
from assay.engines.embedded.config import EmbeddedConfig
from assay.engines.embedded.engine import EmbeddedEngine

CHATML = (
    "{% for m in messages %}{{ '<|s|>' + m['role'] + '\\n' + m['content'] + '<|e|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|s|>assistant\\n' }}{% endif %}"
)
SPECIAL = ("<|s|>", "<|e|>", "<|pad|>")
WORDS = ("th", "he", "an", "er", " t", " a", "in", "on")


def tokenizer(template: str | None = CHATML) -> PreTrainedTokenizerFast:
    """Bytes, a few merges and three special tokens; ``<|e|>`` ends a text."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [tuple(word.replace(" ", "Ġ")) for word in WORDS]
    vocab = {token: i for i, token in enumerate([*alphabet, *("".join(pair) for pair in merges)])}
    backend = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL])
    made = PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<|s|>", eos_token="<|e|>", pad_token="<|pad|>", padding_side="left"
    )
    made.chat_template = template
    return made


def tiny_config(**changes: Any) -> LlamaConfig:
    settings: dict[str, Any] = {
        "vocab_size": len(tokenizer()),
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 640,
        # Large, so that the distribution is far from uniform and a wrong mask shows.
        "initializer_range": 0.3,
        "bos_token_id": 264,
        "eos_token_id": 265,
        "pad_token_id": 266,
    }
    return LlamaConfig(**settings | changes)


def save_model(folder: Path, config: Any, *, seed: int = 0, template: str | None = CHATML) -> Path:
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config)
    if not config.tie_word_embeddings:
        # A logit of 0 for the end of text: never at temperature 0, now and then at a high one.
        model.lm_head.weight.data[config.eos_token_id] = 0
    model.save_pretrained(folder)
    tokenizer(template).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("tiny"), tiny_config())


@pytest.fixture(scope="session")
def other_weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("other"), tiny_config(), seed=1)


@pytest.fixture(scope="session")
def plain(tiny: Path) -> Any:
    """The same model, as transformers runs it."""
    return AutoModelForCausalLM.from_pretrained(tiny, dtype=torch.float32).eval().requires_grad_(False)


@pytest.fixture(scope="session")
def tok(tiny: Path) -> Any:
    return AutoTokenizer.from_pretrained(tiny)


@contextmanager
def running(config: EmbeddedConfig) -> Iterator[EmbeddedEngine]:
    engine = EmbeddedEngine(config)
    asyncio.run(engine.start())
    try:
        yield engine
    finally:
        asyncio.run(engine.close())


@pytest.fixture(scope="module")
def engine(tiny: Path) -> Iterator[EmbeddedEngine]:
    with running(EmbeddedConfig(model=str(tiny), device="cpu", max_batch=8)) as started:
        yield started


def chat(text: str) -> ChatPrompt:
    return ChatPrompt(messages=(Message(role="user", content=text),))


def request(
    prompt: str | ChatPrompt | TokenPrompt, *, n: int = 1, choices: tuple[str, ...] | None = None, **sampling: Any
) -> Request:
    made = chat(prompt) if isinstance(prompt, str) else prompt
    knobs: dict[str, Any] = {"temperature": 0.0, "max_new_tokens": 12} | sampling
    return Request(
        id=f"r-{abs(hash(made)) % 9999}", prompt=made, n=n, choices=choices, sampling=SamplingParams(**knobs)
    )


def ask(engine: EmbeddedEngine, *requests: Request, seconds: float = 60.0) -> list[tuple[Completion, ...]]:
    """Send all at once, from one event loop."""

    async def together() -> list[tuple[Completion, ...]]:
        return await asyncio.gather(*(engine.generate(r, Deadline.after(seconds)) for r in requests))

    return asyncio.run(together())


Ask = Callable[..., list[tuple[Completion, ...]]]
