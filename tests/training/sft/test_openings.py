"""Which openings are shared, by hand; and an update over shared openings is the update over whole rows."""

from __future__ import annotations

from array import array
from pathlib import Path

import pytest
import torch

from assay.training.sft.openings import openings
from assay.training.sft.task import SftTask, load_task
from assay.training.trainer import Trainer

from .test_task import config

A, B, C = [7, 7, 7, 7], [7, 7, 9, 9, 9], [1, 2]


def rows(*tokens: list[int]) -> list[array[int]]:
    return [array("i", one) for one in tokens]


def test_the_longest_opening_that_enough_rows_have() -> None:
    """A with 300 behind it: tokens above a byte sort as numbers; order of the rows does not matter."""
    given = rows([*A, 300], [*B, 1], [*A, 2], [*C, 5], [*B, 2], [*A, 1])
    assert openings(given, often=0.5, least=2) == [4, 2, 4, 0, 2, 4]
    assert openings(given, often=1 / 3, least=2) == [4, 5, 4, 0, 5, 4]
    assert openings(given, often=0.5, least=3) == [4, 0, 4, 0, 0, 4]


def test_openings_of_nearly_one_length_are_one() -> None:
    """Half of the rows share one token more than all do: that is no opening of its own."""
    given = rows([*A, 1, 5], [*A, 1, 6], [*A, 1, 7], [*A, 2, 5], [*A, 3, 6], [*A, 4, 7])
    assert openings(given, often=0.5, least=2) == [4] * 6
    assert openings(given, often=0.5, least=1) == [5, 5, 5, 4, 4, 4]


def test_few_rows_share_nothing() -> None:
    assert openings(rows([*A, 1]), least=1) == [0]
    assert openings([], least=1) == []


@pytest.mark.parametrize("budget", [4096, 30])
def test_an_update_is_the_same_over_shared_openings(tmp_path: Path, budget: int) -> None:
    """The first row learns within what others share: its own prompt is the limit of its opening."""
    long = "a b c d e f " * 8
    given = [
        {"prompt": long[:24].strip(), "completion": long[24:].strip()},
        *({"prompt": long + tail, "completion": said} for tail, said in (("a", "b"), ("f f", "c d"), ("e", "a"))),
    ]
    own = config(tmp_path, given, max_tokens_per_micro_batch=budget, apply_chat_template=False, lr=0.1)
    shared = load_task(own)
    whole = load_task(own.model_copy(update={"share_prompts": False}))
    assert shared.identity == whole.identity
    starts = [len(s.prompt_ids) for s in shared.batch(range(4))[0].sequences]
    assert starts == [12, 48, 48, 48]
    assert [len(s.prompt_ids) for s in whole.batch(range(4))[0].sequences] == [12, 49, 50, 49]
    ends = [_after(task, own.trainer(None)) for task in (shared, whole)]
    assert ends[0][0] == pytest.approx(ends[1][0], abs=1e-12)
    torch.testing.assert_close(ends[0][1], ends[1][1], rtol=1e-9, atol=1e-12)


def _after(task: SftTask, settings: object) -> tuple[float, dict[str, torch.Tensor]]:
    trainer = Trainer(settings)  # pyright: ignore[reportArgumentType]
    loss = trainer.step(*task.batch(range(4))).loss
    return loss, {name: value.clone() for name, value in trainer.named_tensors()}
