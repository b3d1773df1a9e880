"""The loss of an update, by hand and by a pass that packs nothing."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from assay.core.errors import InputError
from assay.training.sft.config import SftConfig
from assay.training.sft.task import SftObjective, load_task
from assay.training.table import Columns
from assay.training.trainer import Trainer

from ..words import save_words

WORDS = ["a", "b", "c", "d", "e", "f"]
ROWS: list[dict[str, Any]] = [
    {"prompt": "a b", "completion": "c d"},
    {"prompt": "a b", "completion": "e", "weight": 3.0},
    {"prompt": "f", "completion": "a b c d e f"},
    {"messages": [{"role": "user", "content": "c"}, {"role": "assistant", "content": "b a"}]},
]


def config(folder: Path, rows: list[dict[str, Any]] = ROWS, **settings: Any) -> SftConfig:
    model = folder / "model"
    if not model.exists():
        save_words(model, WORDS)
    data = folder / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return SftConfig(
        **{"data": str(data), "hf_checkpoint": str(model), "run_dir": folder / "run", "dtype": "float64", **settings}
    )


def test_the_loss_is_the_weighted_mean_over_tokens() -> None:
    """Two rows of 1 and 2 tokens, weights 3 and 1: (3 * 1 + 1 * 2 + 1 * 4) / (3 + 1 + 1) = 9 / 5."""
    objective = SftObjective(rows=(3.0, 1.0))
    sequence = torch.tensor([0, 1, 1])
    weights = objective.weights(torch.ones(3, dtype=torch.bool), sequence)
    assert weights.tolist() == pytest.approx([0.6, 0.2, 0.2])
    columns = Columns(
        sequence=sequence, weights=weights, advantages=torch.zeros(3), old=None, reference=None, rollout=None
    )
    logprobs = torch.tensor([-1.0, -2.0, -4.0], dtype=torch.float64)
    assert objective.loss(columns, logprobs, torch.zeros(3)).loss.item() == pytest.approx(1.8)


@pytest.mark.parametrize("budget", [4096, 12])
def test_packed_it_is_the_loss_of_each_row_alone(tmp_path: Path, budget: int) -> None:
    """Rows of one micro-batch, and rows that share their prompt, do not see each other."""
    own = config(tmp_path, max_tokens_per_micro_batch=budget)
    task = load_task(own)
    trainer = Trainer(own.trainer(None))
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "model", dtype=torch.float64)
    total = weight = 0.0
    for row, said in zip((s for s in task.batch(range(4))[0].sequences), ROWS, strict=True):
        ids = torch.tensor([[*row.prompt_ids, *row.response_ids]])
        logprobs = model(input_ids=ids).logits[0, :-1].log_softmax(-1).gather(1, ids[0, 1:, None])[:, 0]
        own_weight = said.get("weight", 1.0)
        total -= own_weight * float(logprobs[len(row.prompt_ids) - 1 :].detach().sum())
        weight += own_weight * len(row.response_ids)
    batch, objective = task.batch(range(4))
    done = trainer.step(batch, objective, lr=0.0)
    # transformers rounds norms to single precision, the packed pass too.
    assert done.loss == pytest.approx(total / weight, abs=1e-6)


def test_held_out_rows_are_measured_by_the_same_loss(tmp_path: Path) -> None:
    own = config(tmp_path, eval_data=str(tmp_path / "rows.jsonl"))
    task, trainer = load_task(own), Trainer(own.trainer(None))
    found = task.evaluate(trainer)
    done = trainer.step(*task.batch(range(4)), lr=0.0)
    assert found["loss"] == pytest.approx(done.loss, abs=1e-9)
    assert found["perplexity"] == pytest.approx(math.exp(done.loss))


def test_long_rows_are_left_out_and_counted(tmp_path: Path) -> None:
    task = load_task(config(tmp_path, max_length=8))
    assert (task.size, task.too_long) == (3, 1)
    with pytest.raises(InputError, match=r"every row of .* is longer than 3 tokens"):
        load_task(config(tmp_path, max_length=3))
    with pytest.raises(InputError, match="holds none out: raise it"):
        load_task(config(tmp_path, eval_share=1e-6))
