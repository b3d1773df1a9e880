"""The judge as the policy: prompts out of items, what is left out of them, and a whole run on a tiny model."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from assay.core.types import ChatPrompt, Draw
from assay.judges import Judge
from assay.rl.config import TrainConfig
from assay.rl.run import RunResult, train
from assay.spct.plan import RftPlan
from assay.spct.prompts import Said
from assay.spct.run import Settings, write_prompts
from assay.tracking.lines import NAME, read_lines

from .scripted import PAIRWISE, POINTWISE, SINGLE, alone, item, sample, settings, sort

SAID = {"samples": Said(judge="pointwise"), "single": Said(judge="pointwise", options={"mode": "0-1"})}
WORDS = ("<pad>", "<bos>", "<eos>", "GOOD", "BAD", "\\boxed{9,2}", "\\boxed{2,9}", "\\boxed{1}", "\\boxed{2}")
ITEMS = [item(f"q{place}", "mixed", 2, best=place % 2) for place in range(8)]


def prompts(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "rl.jsonl").read_text().splitlines()]


def test_a_prompt_is_what_the_judge_is_asked_with_what_is_right(tmp_path: Path) -> None:
    found = sort([*ITEMS, alone("s", "mixed", 1)])
    how = Settings(folder=tmp_path, plan=RftPlan(prompts_per_item=3))
    assert write_prompts(found, SAID, how, tmp_path) == 27 == len(prompts(tmp_path))
    by_id = {one.id: one for one in [*ITEMS, alone("s", "mixed", 1)]}
    orders = set()
    for row in prompts(tmp_path):
        one, told = by_id[row["metadata"]["item"]], row["metadata"]["verdict"]
        judge = SINGLE if one.n == 1 else POINTWISE
        (request,) = judge.plan(one, Draw(vote=0, seed=0, order=tuple(told["order"])))
        assert isinstance(request.prompt, ChatPrompt)
        assert [turn["content"] for turn in row["prompt"]] == [turn.text for turn in request.prompt.messages]
        assert tuple(told["gold"]) == one.gold
        if one.n == 2:
            shown = [one.candidates[index].text for index in told["order"]]
            assert shown[int(row["label"]) - 1].startswith("GOOD")
            orders.add(tuple(told["order"]))
    assert orders == {(0, 1), (1, 0)}
    first = (tmp_path / "rl.jsonl").read_bytes()
    write_prompts(found, SAID, how, tmp_path)
    assert (tmp_path / "rl.jsonl").read_bytes() == first


def test_what_a_recorded_run_finds_too_easy_is_left_out(tmp_path: Path) -> None:
    items = [item("e", "easy"), item("h", "hard"), item("m", "mute")]
    found, how = sort(items), settings(tmp_path / "run", hint=False)
    sample(found, how)
    here = Settings(folder=tmp_path, plan=RftPlan())
    assert write_prompts(found, SAID, here, tmp_path / "run") == 2
    assert {row["metadata"]["item"] for row in prompts(tmp_path)} == {"h", "m"}
    assert write_prompts(found, SAID, here, tmp_path) == 3
    assert write_prompts(found, SAID, Settings(folder=tmp_path, plan=RftPlan(keep_easy=True)), tmp_path / "run") == 3


def save_words(folder: Path) -> Path:
    """A random Llama whose words are verdicts: every answer of one word is one of the right form, or none."""
    torch.manual_seed(0)
    vocabulary = {word: index for index, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<pad>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<bos>", eos_token="<eos>", pad_token="<pad>", unk_token="<pad>"
    )
    fast.chat_template = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
    config = LlamaConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=2048,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
        tie_word_embeddings=True,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("judge", [POINTWISE, PAIRWISE])
def test_the_same_loop_trains_a_policy_that_is_a_judge(judge: Judge, tmp_path: Path) -> None:
    """GRPO in groups of 4, with the KL: out of words at random it learns to write verdicts that this judge can read."""
    said = {"samples": Said(judge=judge.name)}
    write_prompts(sort(ITEMS, judge), said, Settings(folder=tmp_path, plan=RftPlan()), tmp_path)
    config = TrainConfig(
        hf_checkpoint=str(save_words(tmp_path / "policy")),
        prompt_data=str(tmp_path / "rl.jsonl"),
        rm_type="grm-outcome",
        device="cpu",
        lr=0.02,
        use_kl_loss=True,
        kl_loss_coef=0.01,
        rollout_batch_size=4,
        n_samples_per_prompt=4,
        rollout_max_response_len=1,
        num_rollout=16,
        rollout_engine_options={"threads": 1},
        tracker="none",
        run_dir=tmp_path / "run",
        max_dead_steps=0,
    )
    asyncio.run(train(config, RunResult(run_dir=config.run_dir)))
    lines = [line for line in read_lines(config.run_dir / NAME) if line["step"] >= 0]
    assert [line["rollout/samples"] for line in lines] == [16] * 16
    assert all(line["reward/failed"] == 0 for line in lines)
    assert any(line["train/kl"] > 0 for line in lines)
    earned = [line["reward/mean"] for line in lines]
    assert sum(earned[-4:]) / 4 > sum(earned[:4]) / 4 + 0.4
