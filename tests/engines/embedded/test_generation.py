"""What the engine computes, beside transformers' own ``generate`` and a direct forward pass."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, Gemma3TextConfig, MistralConfig, Qwen3Config

from assay.core.deadline import Deadline
from assay.core.types import ChatPrompt, Completion, TokenPrompt
from assay.engines.embedded.config import EmbeddedConfig
from assay.engines.embedded.engine import EmbeddedEngine

from .conftest import ask, request, running, save_model, tiny_config

PROMPTS = ["Hi", "What is 2 + 2?", "a" * 70, "The other one, and then another", "x " * 150]


def ids_of(tok: Any, prompt: str | ChatPrompt) -> list[int]:
    text = tok.apply_chat_template([{"role": "user", "content": prompt}], tokenize=False, add_generation_prompt=True)
    return tok(text, add_special_tokens=False)["input_ids"]


@torch.no_grad()
def generated(model: Any, ids: list[int], new: int) -> list[int]:
    batch = torch.tensor([ids])
    out = model.generate(batch, attention_mask=torch.ones_like(batch), max_new_tokens=new, do_sample=False)
    return out[0, len(ids) :].tolist()


@torch.no_grad()
def direct_logprobs(model: Any, prompt: list[int], reply: list[int]) -> list[float]:
    logits = model(torch.tensor([prompt + reply])).logits[0].log_softmax(-1)
    return [float(logits[len(prompt) - 1 + i, token]) for i, token in enumerate(reply)]


def test_greedy_is_that_of_transformers_at_every_length_and_in_one_batch(
    engine: EmbeddedEngine, plain: Any, tok: Any
) -> None:
    # 140 new tokens carry the short prompts out of their first bank.
    answers = ask(engine, *(request(p, max_new_tokens=140) for p in PROMPTS))
    for prompt, (answer,) in zip(PROMPTS, answers, strict=True):
        assert list(answer.token_ids) == generated(plain, ids_of(tok, prompt), 140)
        assert answer.prompt_tokens == len(ids_of(tok, prompt))
        assert answer.completion_tokens == len(answer.token_ids)


def test_logprobs_are_those_of_a_direct_forward(engine: EmbeddedEngine, plain: Any, tok: Any) -> None:
    ((answer,),) = ask(engine, request(PROMPTS[1], temperature=0.9, top_p=0.8, seed=3, logprobs=3))
    expected = direct_logprobs(plain, ids_of(tok, PROMPTS[1]), list(answer.token_ids))
    assert answer.logprobs == pytest.approx(expected, abs=1e-4)
    assert answer.top_logprobs is not None
    assert [len(place) for place in answer.top_logprobs] == [3] * len(answer.token_ids)
    best = answer.top_logprobs[0][0]
    logits = plain(torch.tensor([ids_of(tok, PROMPTS[1])])).logits[0, -1].log_softmax(-1)
    assert best.token_id == int(logits.argmax())
    assert best.logprob == pytest.approx(float(logits.max()), abs=1e-4)
    assert best.text == tok.decode([best.token_id])


def test_logprobs_come_only_when_asked_for(engine: EmbeddedEngine) -> None:
    (plain_answer,), (own,) = ask(engine, request("Hi"), request("Hi", logprobs=0))
    assert plain_answer.logprobs is None
    assert own.logprobs is not None
    assert own.top_logprobs is None


def test_tokens_in_are_taken_as_they_are(engine: EmbeddedEngine, plain: Any, tok: Any) -> None:
    ids = ids_of(tok, "Hi")
    ((begun,),) = ask(engine, request("Hi", max_new_tokens=6))
    resumed = TokenPrompt(token_ids=tuple(ids) + begun.token_ids)
    ((rest,),) = ask(engine, request(resumed, max_new_tokens=6))
    assert list(begun.token_ids + rest.token_ids) == generated(plain, ids, 12)


def test_samples_of_one_prompt_differ_follow_their_seed_and_pay_one_prefill(engine: EmbeddedEngine) -> None:
    long = "Say something. " * 5
    ((*first,), (*again,)) = ask(
        engine,
        request(long, n=4, temperature=1.0, seed=7, max_new_tokens=8),
        request(long, n=2, temperature=1.0, seed=7, max_new_tokens=8),
    )
    assert [c.index for c in first] == [0, 1, 2, 3]
    assert len({c.token_ids for c in first}) > 1
    assert [c.token_ids for c in first[:2]] == [c.token_ids for c in again]
    assert [c.cached_tokens for c in first[1:]] == [c.prompt_tokens for c in first[1:]]
    assert {c.seed for c in first} == {7}
    ((other,),) = ask(engine, request(long, temperature=1.0, seed=8, max_new_tokens=8))
    assert other.token_ids != first[0].token_ids


def test_more_samples_than_places(engine: EmbeddedEngine) -> None:
    (answers,) = ask(engine, request("Hi", n=21, temperature=1.0, seed=1, max_new_tokens=3))
    assert [c.index for c in answers] == list(range(21))


def test_a_seed_is_made_up_and_reported_where_none_is_given(engine: EmbeddedEngine) -> None:
    ((a,),) = ask(engine, request("Hi", temperature=1.0))
    ((b,),) = ask(engine, request("Hi", temperature=1.0, seed=a.seed))
    assert a.token_ids == b.token_ids


def test_the_sampled_share_follows_the_distribution(engine: EmbeddedEngine, plain: Any, tok: Any) -> None:
    (answers,) = ask(engine, request("Hi", n=400, temperature=1.0, seed=5, max_new_tokens=1))
    probs = plain(torch.tensor([ids_of(tok, "Hi")])).logits[0, -1].softmax(-1)
    best = int(probs.argmax())
    share = sum(c.token_ids == (best,) for c in answers) / 400
    spread = math.sqrt(float(probs[best]) * (1 - float(probs[best])) / 400)
    assert share == pytest.approx(float(probs[best]), abs=4 * spread)


def test_end_of_text_ends_the_reply_and_is_its_last_id(engine: EmbeddedEngine, tok: Any) -> None:
    (answers,) = ask(engine, request("Hi", n=30, temperature=2.0, seed=2, max_new_tokens=120))
    ended = [c for c in answers if c.finish_reason == "stop"]
    assert ended
    for answer in ended:
        assert answer.token_ids[-1] == tok.eos_token_id
        assert tok.eos_token not in answer.text
    assert all(len(c.token_ids) == 120 for c in answers if c.finish_reason == "length")


def test_stop_strings_cut_text_and_ids(engine: EmbeddedEngine) -> None:
    ((free,),) = ask(engine, request("a" * 70, max_new_tokens=30))
    stop = free.text[6:8]
    ((cut,),) = ask(engine, request("a" * 70, max_new_tokens=30, stop=(stop,), logprobs=0))
    assert cut.finish_reason == "stop"
    assert cut.text == free.text[: free.text.index(stop)]
    assert cut.token_ids == free.token_ids[: len(cut.token_ids)]
    assert cut.logprobs is not None
    assert len(cut.logprobs) == len(cut.token_ids)


def test_shared_prefixes_change_nothing_but_the_cost(tiny: Path, plain: Any, tok: Any) -> None:
    shared = "Rules: be fair, be brief, and answer with one digit. " * 3
    prompts = [shared + tail for tail in ("one", "two", "two and more", "three", "two")]
    with running(EmbeddedConfig(model=str(tiny), device="cpu", prefix_cache_mb=0)) as bare:
        together = ask(bare, *(request(p) for p in prompts))
        assert bare.config.prefix_cache_mb == 0
        alone = [ask(bare, request(p))[0] for p in prompts]
    assert [a[0].token_ids for a in together] == [a[0].token_ids for a in alone]
    assert [list(a[0].token_ids) for a in alone] == [generated(plain, ids_of(tok, p), 12) for p in prompts]
    assert [a[0].cached_tokens for a in alone] == [0] * 5
    computed = [a[0].prompt_tokens - a[0].cached_tokens for a in together]
    assert sum(computed) < 1.6 * len(ids_of(tok, prompts[0]))


def test_a_prefix_is_remembered_across_time(tiny: Path, plain: Any, tok: Any) -> None:
    shared = "Some rules that all of the questions have in common. " * 2
    with running(EmbeddedConfig(model=str(tiny), device="cpu")) as engine:
        ((first,),) = ask(engine, request(shared + "one"))
        ((second,),) = ask(engine, request(shared + "two"))
        ((again,),) = ask(engine, request(shared + "two"))
    common = len(ids_of(tok, shared)) - 15
    assert first.cached_tokens == 0
    assert second.cached_tokens >= common
    assert again.cached_tokens == again.prompt_tokens - 1
    assert list(second.token_ids) == generated(plain, ids_of(tok, shared + "two"), 12) == list(again.token_ids)


@pytest.mark.parametrize("cache_mb", [0, 64])
def test_votes_on_one_prompt_compute_it_once(cache_mb: int, tmp_path: Path) -> None:
    """Requests with one prompt and a seed each, at once and while the first is under way: two chunks long here."""
    folder = save_model(tmp_path, tiny_config(max_position_embeddings=2048))
    prompt = TokenPrompt(token_ids=tuple(range(5, 205)) * 5)
    votes = [replace(request(prompt, temperature=1.0, max_new_tokens=3, seed=vote), id=str(vote)) for vote in range(6)]
    config = EmbeddedConfig(model=str(folder), device="cpu", max_context_len=2048, prefix_cache_mb=cache_mb)

    async def in_two_waves(engine: EmbeddedEngine) -> list[tuple[Completion, ...]]:
        first = [asyncio.create_task(engine.generate(vote, Deadline.after(60))) for vote in votes[:3]]
        await asyncio.sleep(0.01)
        rest = (engine.generate(vote, Deadline.after(60)) for vote in votes[3:])
        return [*await asyncio.gather(*first), *await asyncio.gather(*rest)]

    with running(config) as engine:
        together = ask(engine, *votes)
    found = [together]
    if cache_mb:
        with running(config) as engine:
            found.append(asyncio.run(in_two_waves(engine)))
    for answers in found:
        computed = [answer.prompt_tokens - answer.cached_tokens for (answer,) in answers]
        # The last token of a prompt is its owner's: its logits begin the reply.
        assert sum(computed) == len(prompt.token_ids) + len(votes) - 1


def test_prompts_longer_than_a_chunk_beside_short_ones(tiny: Path, tmp_path: Path) -> None:
    folder = save_model(tmp_path, tiny_config(max_position_embeddings=2048))
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    prompts = [tuple(range(5, 205)) * 6, tuple(range(5, 205)) * 6 + (7, 8, 9), (1, 2, 3)]
    with running(EmbeddedConfig(model=str(folder), device="cpu", max_context_len=2048)) as engine:
        answers = ask(engine, *(request(TokenPrompt(token_ids=ids), max_new_tokens=5) for ids in prompts))
    assert [list(a.token_ids) for (a,) in answers] == [generated(model, list(ids), 5) for ids in prompts]


def with_windows() -> Any:
    settings = tiny_config().to_dict()
    keep = {k: settings[k] for k in ("vocab_size", "hidden_size", "intermediate_size", "max_position_embeddings")}
    keep |= {k: settings[k] for k in ("bos_token_id", "eos_token_id", "pad_token_id", "initializer_range")}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16}
    return {
        "mistral": MistralConfig(num_hidden_layers=2, sliding_window=16, **heads, **keep),
        "qwen3": Qwen3Config(num_hidden_layers=2, **heads, **keep),
        "gemma3": Gemma3TextConfig(
            num_hidden_layers=2, sliding_window=16, layer_types=["sliding_attention", "full_attention"], **heads, **keep
        ),
    }


@pytest.mark.parametrize("family", ["mistral", "qwen3", "gemma3"])
def test_other_families_and_sliding_windows(family: str, tmp_path: Path, tok: Any) -> None:
    folder = save_model(tmp_path, with_windows()[family])
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    prompts = ["Hello there", "A longer prompt than the window, by far. " * 2, "Hello them"]
    with running(EmbeddedConfig(model=str(folder), device="cpu")) as engine:
        answers = ask(engine, *(request(p, max_new_tokens=20) for p in prompts))
    assert [list(a.token_ids) for (a,) in answers] == [generated(model, ids_of(tok, p), 20) for p in prompts]


def test_half_precision_runs(tiny: Path) -> None:
    with running(EmbeddedConfig(model=str(tiny), device="cpu", dtype="bfloat16")) as engine:
        ((answer,),) = ask(engine, request("Hi", logprobs=0))
    assert answer.logprobs is not None
    assert all(math.isfinite(value) for value in answer.logprobs)


def bare(answers: list[tuple[Completion, ...]]) -> list[list[Completion]]:
    """Without what a prefix saved, which is no part of the reply."""
    return [[replace(c, cached_tokens=0) for c in answer] for answer in answers]


def test_batch_invariance_is_bitwise_and_reuses_whole_blocks(tiny: Path) -> None:
    prompts = ["Rules that are shared. " * 8 + tail for tail in ("one", "two", "three", "four")] + ["short"]
    wanted = [request(p, temperature=0.8, seed=i, logprobs=2, max_new_tokens=20) for i, p in enumerate(prompts)]
    picking = request(prompts[0], choices=("yes", "no", "maybe"))
    with running(EmbeddedConfig(model=str(tiny), device="cpu", batch_invariant=True)) as engine:
        assert engine.info.batch_invariant
        alone = [ask(engine, r)[0] for r in [*wanted, picking]]
        crowd = ask(engine, *[request("noise " * i, n=2, temperature=1.0) for i in range(1, 5)], *wanted, picking)
        with running(EmbeddedConfig(model=str(tiny), device="cpu", batch_invariant=True, prefix_cache_mb=0)) as fresh:
            uncached = [ask(fresh, r)[0] for r in wanted]
    assert bare(crowd[4:]) == bare(alone)
    assert bare(uncached) == bare(alone[:-1])
    assert [c[0].cached_tokens for c in alone] == [0, 128, 128, 128, 0, 128]
