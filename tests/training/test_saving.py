"""When a checkpoint is due: by count where one is said, else by the time since the last one and what it took."""

from __future__ import annotations

import pytest

from assay.training.saving import Saves, SavingConfig, is_due


@pytest.mark.parametrize(
    ("said", "made", "since_s", "save_s", "due"),
    [
        ({"save_interval": 3}, 6, 0.0, 1e9, True),
        ({"save_interval": 3}, 7, 1e9, 0.0, False),
        ({}, 1, 299.0, 1.0, False),
        ({}, 1, 300.0, 1.0, True),
        # A save of 30 s is 5 % of 600 s.
        ({}, 1, 599.0, 30.0, False),
        ({}, 1, 600.0, 30.0, True),
        ({"save_minutes": 1}, 1, 60.0, 0.0, True),
        ({"save_minutes": 0}, 1, 1e9, 0.0, False),
    ],
)
def test_when_one_is_due(said: dict[str, float], made: int, since_s: float, save_s: float, due: bool) -> None:
    assert is_due(SavingConfig(**said), made, since_s=since_s, save_s=save_s) is due


def test_steps_of_ten_minutes_are_saved_one_by_one() -> None:
    now = 0.0
    saves, saved = Saves(SavingConfig(), lambda: now), list[int]()
    for made in range(1, 5):
        now += 600
        if saves.due(made):
            with saves.saving(made):
                now += 60
            saved.append(made)
    # The save takes a minute: from then on 20 minutes must have passed, which is every second step.
    assert saved == [1, 3]
    assert (saves.made, saves.seconds) == (3, 60)


def test_a_save_that_fails_is_none() -> None:
    now = 0.0
    saves = Saves(SavingConfig(), lambda: now)
    now = 300.0
    with pytest.raises(OSError), saves.saving(1):
        raise OSError
    assert saves.due(1)
    assert saves.made is None
