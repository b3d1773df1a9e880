"""One update's loss and gradient against TRL's own SFTTrainer and RewardTrainer, on the tiny model of words.

Their data path is theirs: raw rows go in, and their tokenizing, masking, padding and loss come out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer

pytest.importorskip("trl", reason="compares with TRL, which is not installed (pip install trl)")

from assay.training.fit.task import Task
from assay.training.heads.config import HeadConfig
from assay.training.heads.task import load_task as load_head_task
from assay.training.sft.config import SftConfig
from assay.training.sft.task import load_task as load_sft_task
from assay.training.trainer import Trainer

from .words import save_words

# TRL asks transformers by names that are on their way out.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*gradient_checkpointing.*:FutureWarning"),
    pytest.mark.filterwarnings("ignore:.*pin_memory.*:UserWarning"),
]

# Words are split at white space, so no token stands behind the one that ends an answer (TRL would learn that too).
WORDS = ["a", "b", "c", "d", "e", "f", "apple", "rust"]
TURNS = [("a b", "apple c"), ("c", "rust"), ("d e f", "a b c d"), ("f", "e e")]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return save_words(tmp_path / "base", WORDS, layers=2)


def options(folder: Path) -> dict[str, Any]:
    return {
        "output_dir": str(folder / "trl"),
        "use_cpu": True,
        "bf16": False,
        "report_to": "none",
        "per_device_train_batch_size": len(TURNS),
        "gradient_checkpointing": False,
        "dataloader_num_workers": 0,
    }


def theirs(trainer: Any) -> tuple[float, dict[str, Tensor]]:
    """TRL's loss of its first batch, and the gradient of every weight."""
    trainer.model.train()
    inputs = trainer._prepare_inputs(next(iter(trainer.get_train_dataloader())))
    trainer.current_gradient_accumulation_steps = 1
    loss = trainer.compute_loss(trainer.model, inputs)
    loss.backward()
    grads = {name: p.grad.clone() for name, p in trainer.model.named_parameters() if p.grad is not None}
    return float(loss.detach()), grads


def ours(task: Task, trainer: Trainer) -> tuple[float, dict[str, Tensor]]:
    """Our loss of all examples, and the gradient as it stood before the update."""
    grads: dict[str, Tensor] = {}
    update = trainer._optimizer.update

    def watched(lr: float) -> tuple[float, bool]:
        for name, p in trainer.policy.lm.named_parameters():
            grads[name] = p.grad.clone()
        return update(lr)

    trainer._optimizer.update = watched  # type: ignore[method-assign]
    return trainer.step(*task.batch(range(task.size)), lr=0.0).loss, grads


def check(mine: tuple[float, dict[str, Tensor]], trl: tuple[float, dict[str, Tensor]]) -> None:
    assert mine[0] == pytest.approx(trl[0], abs=1e-5)
    assert mine[1].keys() == trl[1].keys()
    for name, grad in trl[1].items():
        torch.testing.assert_close(mine[1][name], grad, atol=1e-5, rtol=1e-4)


def written(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def chats(pairs: list[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    for asked, said in pairs:
        yield {
            "prompt": [{"role": "user", "content": asked}],
            "completion": [{"role": "assistant", "content": said}],
        }


def test_fine_tuning(tmp_path: Path, base: Path) -> None:
    from datasets import Dataset
    from trl import SFTConfig as TrlConfig
    from trl import SFTTrainer

    rows = list(chats(TURNS))
    trl = SFTTrainer(
        model=AutoModelForCausalLM.from_pretrained(base),
        args=TrlConfig(**options(tmp_path), completion_only_loss=True, max_length=None),
        train_dataset=Dataset.from_list(rows),
        processing_class=AutoTokenizer.from_pretrained(base),
    )
    own = SftConfig(data=written(tmp_path / "rows.jsonl", rows), hf_checkpoint=str(base), clip_grad=0)
    check(ours(load_sft_task(own), Trainer(own.trainer(None))), theirs(trl))


@pytest.mark.parametrize(("margin", "center"), [(False, 0.0), (True, 0.1)], ids=["plain", "margin_and_centre"])
def test_bradley_terry(tmp_path: Path, base: Path, margin: bool, center: float) -> None:
    from datasets import Dataset
    from trl import RewardConfig, RewardTrainer

    torch.manual_seed(3)
    head = AutoModelForSequenceClassification.from_pretrained(base, num_labels=1, pad_token_id=0)
    head.save_pretrained(tmp_path / "head")
    AutoTokenizer.from_pretrained(base).save_pretrained(tmp_path / "head")
    pairs = [(asked, said, f"{said} rust") for asked, said in TURNS]
    golds = [(2.0, 1.0), (3.0, 0.5), (1.0, 0.0), (9.0, 8.0)]

    def chat(asked: str, said: str) -> list[dict[str, str]]:
        return [{"role": "user", "content": asked}, {"role": "assistant", "content": said}]

    rows = [{"chosen": chat(a, good), "rejected": chat(a, bad)} for a, good, bad in pairs]
    told = [row | ({"margin": x - y} if margin else {}) for row, (x, y) in zip(rows, golds, strict=True)]
    trl = RewardTrainer(
        model=AutoModelForSequenceClassification.from_pretrained(tmp_path / "head"),
        args=RewardConfig(**options(tmp_path), center_rewards_coefficient=center or None, disable_dropout=False),
        train_dataset=Dataset.from_list(told),
        processing_class=AutoTokenizer.from_pretrained(base),
    )
    data = [
        {"prompt": a, "candidates": [good, bad], "gold": list(gold)}
        for (a, good, bad), gold in zip(pairs, golds, strict=True)
    ]
    own = HeadConfig(
        kind="bt",
        data=written(tmp_path / "pairs.jsonl", data),
        hf_checkpoint=str(tmp_path / "head"),
        margin="gold" if margin else "none",
        center=center,
        clip_grad=0,
    )
    task, policy = load_head_task(own)
    check(ours(task, Trainer(own.trainer(None), policy=policy)), theirs(trl))
