from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from assay.training.fit.config import FitConfig
from assay.training.fit.length import Length, passes


def length(epoch_updates: int | None = None, **settings: Any) -> Length:
    return Length.of(FitConfig(data="x", lr=1.0, **settings), epoch_updates)


def test_the_first_end_ends_it() -> None:
    assert length(10).updates == 10
    assert length(10, max_updates=4).updates == 4
    assert length(None, minutes=1).updates is None
    both = length(None, minutes=1, max_updates=5)
    assert [both.over(4, 59.0), both.over(5, 0.0), both.over(0, 60.0)] == [False, True, True]


def test_nothing_said_is_one_pass() -> None:
    assert passes(FitConfig(data="x")) == 1.0
    assert passes(FitConfig(data="x", max_updates=3)) is None
    assert passes(FitConfig(data="x", minutes=3, epochs=2)) == 2


def test_the_rate_by_updates() -> None:
    linear = length(10, lr_decay_style="linear", lr_warmup_iters=2, min_lr=0.2)
    assert [round(linear.lr(n, 1e9), 6) for n in range(11)] == [
        0.5, 1.0, 1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2,
    ]  # fmt: skip
    assert length(10, lr_decay_style="cosine").lr(5, 0.0) == pytest.approx(0.5)
    assert length(10, lr_decay_style="constant").lr(9, 0.0) == 1.0


def test_the_rate_by_time() -> None:
    timed = length(None, minutes=2, lr_warmup_minutes=0.5, lr_decay_style="linear")
    # Seconds 0..30 rise, 30..120 fall.
    assert [round(timed.lr(777, s), 6) for s in (14.0, 29.0, 30.0, 75.0, 120.0, 999.0)] == [
        0.5,
        1.0,
        1.0,
        0.5,
        0.0,
        0.0,
    ]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"eval_data": "a", "eval_share": 0.1}, "say one of them"),
        ({"lr_warmup_minutes": 1}, "lr_warmup_minutes needs minutes"),
        ({"minutes": 1, "lr_warmup_iters": 3}, "the rate follows the time"),
        ({"minutes": 1, "lr_warmup_minutes": 1}, "must be below minutes"),
        ({"min_lr": 2.0}, "is above lr"),
    ],
)
def test_settings_without_effect_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        FitConfig(data="x", **settings)


def test_the_trainer_gets_its_settings() -> None:
    config = FitConfig(data="x", run_dir=Path("r"), lora_rank=4, lr_warmup_iters=5, lr_decay_iters=9, lr=0.1)
    trainer = config.trainer(None)
    assert (trainer.lora_rank, trainer.save, trainer.load, trainer.global_batch_size) == (
        4,
        "r/checkpoints",
        None,
        None,
    )
