"""What differs on CUDA: precision, where sleeping weights go, and memory that is really free."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import torch

from assay.engines.embedded.config import EmbeddedConfig
from assay.engines.embedded.engine import EmbeddedEngine

from .conftest import ask, request, running
from .test_generation import bare, generated, ids_of

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]

PROMPTS = [
    "Hi",
    "Rules that all share, said at some length. " * 4 + "One?",
    "Rules that all share, said at some length. " * 4,
]


def test_cuda_is_the_choice_of_auto_in_bfloat16(tiny: Path) -> None:
    with running(EmbeddedConfig(model=str(tiny))) as engine:
        loaded = engine._worker.loaded
        assert loaded is not None
        assert (loaded.device.type, loaded.dtype, engine.info.num_gpus) == ("cuda", torch.bfloat16, 1)
        answers = ask(engine, *(request(p, logprobs=0) for p in PROMPTS))
    assert all(len(a.token_ids) == 12 for (a,) in answers)


def test_greedy_in_float32_is_that_of_transformers(tiny: Path, plain: Any, tok: Any) -> None:
    with running(EmbeddedConfig(model=str(tiny), dtype="float32")) as engine:
        answers = ask(engine, *(request(p, max_new_tokens=140) for p in PROMPTS))
    assert [list(a.token_ids) for (a,) in answers] == [generated(plain, ids_of(tok, p), 140) for p in PROMPTS]


def test_sleep_moves_weights_off_the_device_and_wake_brings_them_back(tiny: Path) -> None:
    with running(EmbeddedConfig(model=str(tiny))) as engine:
        ((before,),) = ask(engine, request("Hi", logprobs=0))
        held = torch.cuda.memory_allocated()
        freed = asyncio.run(engine.sleep())
        assert freed > 0
        assert held - torch.cuda.memory_allocated() >= freed
        asyncio.run(engine.wake())
        ((after,),) = ask(engine, request("Hi", logprobs=0))
    assert (after.token_ids, after.logprobs) == (before.token_ids, before.logprobs)


def test_new_weights_reach_the_device(tiny: Path, other_weights: Path) -> None:
    def reply(engine: EmbeddedEngine) -> Any:
        return ask(engine, request("Hi"))[0][0].token_ids

    with running(EmbeddedConfig(model=str(other_weights), dtype="float32")) as engine:
        expected = reply(engine)
    with running(EmbeddedConfig(model=str(tiny), dtype="float32")) as engine:
        asyncio.run(engine.update_weights(str(other_weights), "v2"))
        assert reply(engine) == expected


def test_batch_invariance_is_bitwise_in_bfloat16(tiny: Path) -> None:
    wanted = [request(p, temperature=0.8, seed=i, logprobs=2, max_new_tokens=20) for i, p in enumerate(PROMPTS)]
    with running(EmbeddedConfig(model=str(tiny), batch_invariant=True)) as engine:
        alone = [ask(engine, r)[0] for r in wanted]
        crowd = ask(engine, *[request("noise " * i, n=2, temperature=1.0) for i in range(1, 5)], *wanted)
    assert bare(crowd[4:]) == bare(alone)
