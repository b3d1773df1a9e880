"""Tokenizing in several processes: the same rows in the same order, and the same error."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.training.sft.task import load_task

from .test_task import config

ROWS = [{"prompt": "a b c"[: 1 + 2 * (number % 3)], "completion": "d e f"[: 1 + number % 5]} for number in range(1100)]


def test_two_processes_give_what_one_gives(tmp_path: Path) -> None:
    own = config(tmp_path, ROWS)
    alone, together = (load_task(own.model_copy(update={"encode_workers": workers})) for workers in (1, 2))
    assert alone.size == 1100
    assert alone.identity == together.identity


def test_a_row_that_cannot_be_encoded_is_named(tmp_path: Path) -> None:
    own = config(tmp_path, [*ROWS, {"prompt": " ", "completion": "a"}], apply_chat_template=False, encode_workers=2)
    with pytest.raises(InputError, match="line 1101"):
        load_task(own)
