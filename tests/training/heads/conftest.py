"""A tiny base model, and preferences that a head can tell apart: answers of good words, and of bad ones."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.training.heads.config import HeadConfig

from ..words import save_words

GOOD, BAD = ("apple", "pear", "plum", "fig"), ("rust", "mud", "soot", "mold")
ASKED = tuple("abcdefgh")
PROMPTS = tuple(
    " ".join(
        (
            "Which of the two responses answers the request in the last turn of this conversation better, the first or",
            "the second? Score the responses to the request in the last turn of this conversation. Look at your last",
            "reply again: say what is good and what is wrong in it, and how well it does what was asked.",
            "[[conversation [[/conversation [[turn 1: user]] [[response [[/response 1 2",
            "right wrong \\boxed{9, 1} \\boxed{1, 9}",
        )
    ).split()
)
"""The words around what is judged."""


def preferences(count: int, seed: int = 0) -> list[dict[str, Any]]:
    draw = random.Random(seed)

    def text(words: tuple[str, ...]) -> str:
        return " ".join(draw.choices(words, k=draw.randint(2, 4)))

    return [
        {
            "prompt": f"{text(ASKED)} {text(ASKED)}",
            "chosen": text(GOOD),
            "rejected": text(BAD),
            "critiques": ["right", "wrong"],
        }
        for _ in range(count)
    ]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return save_words(tmp_path / "base", [*ASKED, *GOOD, *BAD, *PROMPTS], layers=2)


@pytest.fixture
def config(tmp_path: Path, base: Path) -> Callable[..., HeadConfig]:
    def make(kind: str, rows: list[dict[str, Any]] | None = None, **settings: Any) -> HeadConfig:
        data = tmp_path / "rows.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in (preferences(120) if rows is None else rows)))
        flags: dict[str, Any] = {
            "kind": kind,
            "data": str(data),
            "hf_checkpoint": str(base),
            "run_dir": tmp_path / "run",
            "tracker": "none",
            "lr": 1e-2,
            "global_batch_size": 16,
        }
        return HeadConfig(**flags | settings)

    return make
