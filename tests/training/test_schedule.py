"""The learning rate, by hand-worked numbers."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from assay.training.config import TrainerConfig
from assay.training.schedule import lr_at


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        ("constant", [0.5, 1.0, 1.0, 1.0, 1.0, 1.0]),
        ("linear", [0.5, 1.0, 1.0, 0.55, 0.1, 0.1]),
        ("cosine", [0.5, 1.0, 1.0, 0.55, 0.1, 0.1]),
    ],
)
def test_rates(style: str, expected: list[float]) -> None:
    numbers = (0, 1, 2, 6, 10, 99)
    rates = [lr_at(n, lr=1.0, minimum=0.1, style=style, warmup=2, total=10) for n in numbers]  # type: ignore[arg-type]
    assert rates == pytest.approx(expected)


def test_a_cosine_is_flat_at_its_ends() -> None:
    rates = [lr_at(n, lr=1.0, minimum=0.0, style="cosine", warmup=0, total=4) for n in range(5)]
    assert rates == pytest.approx([1.0, 0.8535534, 0.5, 0.1464466, 0.0])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"lr_decay_style": "cosine"}, "needs lr_decay_iters"),
        ({"lr_decay_iters": 4, "lr_warmup_iters": 4}, "must be below"),
        ({"lr": 1e-6, "min_lr": 1e-5}, "above lr"),
        ({"reference": "adapter"}, "set lora_rank"),
        ({"reference": "adapter", "lora_rank": 4, "ref_load": "other"}, "needs 'copy'"),
    ],
)
def test_settings_that_contradict_are_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        TrainerConfig(**settings)  # type: ignore[arg-type]
