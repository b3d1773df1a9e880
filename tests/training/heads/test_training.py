"""Heads that are trained in seconds, and what others make of their checkpoints."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from assay.core.deadline import Deadline
from assay.core.types import ChatPrompt, Message
from assay.engines.embedded.reward.config import EmbeddedRewardConfig
from assay.engines.embedded.reward.engine import EmbeddedRewardEngine
from assay.training.fit.loop import FitResult
from assay.training.fit.run import Fitted, run_fit
from assay.training.heads.config import HeadConfig
from assay.training.heads.task import HeadTask, load_task, logits_of
from assay.training.trainer import Trainer

from .conftest import preferences

Make = Callable[..., HeadConfig]


def fitted(config: HeadConfig) -> FitResult:
    result = FitResult()

    def make() -> Fitted:
        task, policy = load_task(config)
        return Fitted(task=task, policy=policy)

    assert run_fit(config, make, result)
    return result


def chat(prompt: str, reply: str) -> ChatPrompt:
    return ChatPrompt(messages=(Message(role="user", content=prompt), Message(role="assistant", content=reply)))


def engine_logits(model: Path, prompts: list[ChatPrompt]) -> list[float]:
    async def run() -> list[float]:
        engine = EmbeddedRewardEngine(EmbeddedRewardConfig(model=str(model), threads=1))
        await engine.start()
        try:
            return [(await engine.reward(prompt, Deadline.after(30))).logit for prompt in prompts]
        finally:
            await engine.close()

    return asyncio.run(run())


def plain_logits(model: Path, prompts: list[ChatPrompt]) -> list[float]:
    """As anybody loads it: padded beside each other, by the checkpoint's own tokenizer."""
    tokenizer: Any = AutoTokenizer.from_pretrained(model)
    net = AutoModelForSequenceClassification.from_pretrained(model).eval()
    turns = [[{"role": m.role, "content": m.text} for m in prompt.messages] for prompt in prompts]
    texts = [tokenizer.apply_chat_template(one, tokenize=False) for one in turns]
    ids = tokenizer(texts, add_special_tokens=False, padding=True, return_tensors="pt", return_token_type_ids=False)
    with torch.no_grad():
        return net(**ids).logits[:, 0].tolist()


@pytest.mark.parametrize("rank", [0, 4], ids=["full", "lora"])
def test_bradley_terry_learns_and_its_checkpoint_is_everybodys(config: Make, tmp_path: Path, rank: int) -> None:
    own = config("bt", epochs=3, eval_share=0.2, lora_rank=rank)
    result = fitted(own)
    assert result.done
    assert result.last["eval/held_out/accuracy"] > 0.9
    rows = preferences(40, seed=9)
    prompts = [chat(row["prompt"], row[name]) for row in rows for name in ("chosen", "rejected")]
    mine = engine_logits(own.run_dir / "model", prompts)
    assert sum(a > b for a, b in zip(mine[::2], mine[1::2], strict=True)) > 36
    assert mine == pytest.approx(plain_logits(own.run_dir / "model", prompts), abs=1e-5)

    task, policy = load_task(config("bt", rows, run_dir=tmp_path / "other", lora_rank=rank))
    trainer = Trainer(own.trainer(own.checkpoints), policy=policy)
    texts = [text for example in task._train for text in example.texts]
    assert logits_of(trainer, texts) == pytest.approx(mine, abs=1e-5)
    # Texts of unequal length, the shorter ones padded: they must not be cut where a turn ends.
    assert len({len(text) for text in texts}) > 3


def test_the_checkpoint_says_all_that_servers_read(config: Make) -> None:
    own = config("bt", max_updates=1)
    fitted(own)
    said = json.loads((own.run_dir / "model" / "config.json").read_text())
    assert said["architectures"] == ["LlamaForSequenceClassification"]
    assert (said["id2label"], said["label2id"], said["pad_token_id"]) == ({"0": "reward"}, {"reward": 0}, 0)
    weights = load_file(own.run_dir / "model" / "model.safetensors")
    assert weights["score.weight"].shape == (1, 32)
    assert "score.bias" not in weights
    assert "lm_head.weight" not in weights
    tokenizer: Any = AutoTokenizer.from_pretrained(own.run_dir / "model")
    assert (tokenizer.pad_token_id, tokenizer.padding_side) == (0, "right")
    assert tokenizer.chat_template


# peft asks transformers by a name that is on its way out.
@pytest.mark.filterwarnings("ignore:.*gradient_checkpointing.*:FutureWarning")
def test_the_adapter_is_peft_s_and_has_the_head_in_it(config: Make, base: Path) -> None:
    from peft import PeftModel

    own = config("bt", max_updates=8, lora_rank=4)
    fitted(own)
    head = AutoModelForSequenceClassification.from_pretrained(base, num_labels=1)
    model: Any = PeftModel.from_pretrained(head, str(own.run_dir / "adapter")).eval()
    merged = AutoModelForSequenceClassification.from_pretrained(own.run_dir / "model").eval()
    ids = torch.tensor([[3, 9, 12, 2, 4, 15]])
    with torch.no_grad():
        theirs, ours = model(input_ids=ids).logits, merged(input_ids=ids).logits
    assert abs(float(ours)) > 1e-3
    torch.testing.assert_close(theirs, ours, atol=1e-5, rtol=0)


def test_a_cut_into_micro_batches_changes_nothing(config: Make) -> None:
    losses: list[float] = []
    for budget in (4096, 24):
        own = config("bt", margin="gold", center=0.01, max_tokens_per_micro_batch=budget, dtype="float64")
        task, policy = load_task(own)
        trainer = Trainer(own.trainer(None), policy=policy)
        first = trainer.step(*task.batch(range(16)), lr=1e-2).updates[0]
        assert first.terms["accuracy"] == 0.5, "the head begins at 0"
        second = trainer.step(*task.batch(range(16)), lr=1e-2).updates[0]
        assert (second.micro_batches > 4) == (budget == 24)
        losses.append(trainer.step(*task.batch(range(16)), lr=0.0).loss)
    assert losses[0] == pytest.approx(losses[1], abs=1e-6)


@pytest.mark.parametrize(
    ("kind", "epochs", "above"), [pytest.param("pairrm", 12, 0.9, marks=pytest.mark.slow), ("cloud", 2, 0.9)]
)
def test_other_kinds_learn_too(config: Make, kind: str, epochs: int, above: float) -> None:
    result = fitted(config(kind, preferences(240), epochs=epochs, eval_share=0.2, export_model=False))
    assert result.last["eval/held_out/accuracy"] > above


def test_a_head_goes_on_from_its_checkpoint(config: Make, tmp_path: Path) -> None:
    whole = config("bt", max_updates=6, run_dir=tmp_path / "whole")
    fitted(whole)
    halves = config("bt", max_updates=6, save_interval=2, run_dir=tmp_path / "halves", stop_after_minutes=1e-9)
    made = [fitted(halves).updates for _ in range(7)]
    assert made[-1] == 6
    a, b = (load_file(tmp_path / name / "model" / "model.safetensors") for name in ("whole", "halves"))
    assert all(torch.equal(a[name], b[name]) for name in a)


def test_held_out_pairs_are_measured_by_the_training_loss(config: Make) -> None:
    own = config("bt", eval_data=config("bt").data)
    task, policy = load_task(own)
    assert isinstance(task, HeadTask)
    trainer = Trainer(own.trainer(None), policy=policy)
    trainer.step(*task.batch(range(120)), lr=1e-2)
    found = task.evaluate(trainer)
    assert trainer.step(*task.batch(range(120)), lr=0.0).loss == pytest.approx(found["loss"], abs=1e-5)
