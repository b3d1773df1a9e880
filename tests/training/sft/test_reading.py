"""Tokenizing in several processes: the same rows in the same order, and the same error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import InputError
from assay.training.fit.held import split
from assay.training.sft.config import SftConfig
from assay.training.sft.encode import Encoded
from assay.training.sft.reading import EncoderSettings, encoded
from assay.training.sft.task import load_task

from .test_task import WORDS, config

ROWS: list[dict[str, Any]] = [
    {"prompt": "a b c"[: 1 + 2 * (number % 3)], "completion": "d e f"[: 1 + number % 5], "id": "x" * 300}
    for number in range(1600)
]
"""Longer than two parts of a file."""


def rows(own: SftConfig) -> list[Encoded]:
    return list(encoded(own.data, EncoderSettings.of(own), 1))


def test_two_processes_give_what_one_gives(tmp_path: Path) -> None:
    own = config(tmp_path, ROWS)
    alone, together = (load_task(own.model_copy(update={"encode_workers": workers})) for workers in (1, 2))
    assert alone.size == 1600
    assert alone.identity == together.identity


def test_a_row_that_cannot_be_encoded_is_named(tmp_path: Path) -> None:
    """The first of them, though the process that has the second part may be there sooner."""
    unfit = {"prompt": " ", "completion": "a"}
    own = config(tmp_path, [*ROWS[:800], unfit, *ROWS[800:], unfit], apply_chat_template=False, encode_workers=2)
    with pytest.raises(InputError, match="line 801: nothing stands before"):
        load_task(own)


def test_a_file_without_rows_is_refused(tmp_path: Path) -> None:
    own = config(tmp_path)
    Path(own.data).write_text("\n \n")
    with pytest.raises(InputError, match="holds no rows to train on"):
        rows(own)


def test_what_is_held_out_follows_from_the_prompt_alone(tmp_path: Path) -> None:
    made: list[dict[str, Any]] = [{"prompt": f"{a} {b}", "completion": c} for a in WORDS for b in WORDS for c in "ab"]
    found = rows(config(tmp_path, made, eval_share=0.3, seed=5))
    _, wanted = split(found, lambda row: list(row.ids[: row.prompt]), 0.3, seed=5)
    assert [row for row in found if row.held] == wanted
    assert 10 < len(wanted) < 36
    assert not any(row.held for row in rows(config(tmp_path, made)))
