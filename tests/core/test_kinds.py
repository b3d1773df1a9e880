from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import Field, ValidationError

from assay.core.config import Config, explain, names_at
from assay.core.kinds import refuse_mixed


class Inner(Config):
    weight: float = 1.0
    required: bool = True


class Outer(Config):
    lr: float = 1e-6
    steps: int = 1
    ray: bool = False
    folder: Path | None = None
    sizes: tuple[int, ...] = ()
    parts: dict[str, Inner] = Field(default_factory=dict)
    length: int | Literal["auto"] = "auto"
    free: dict[str, Any] = Field(default_factory=dict)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"lr": True}, "lr: must be a number, not true or false (got True)"),
        ({"steps": True}, "steps: must be a whole number, written as one (got True)"),
        ({"steps": 2.0}, "steps: must be a whole number, written as one (got 2.0)"),
        ({"steps": 2.5}, "steps: must be a whole number, written as one (got 2.5)"),
        ({"ray": 1}, "ray: must be true or false, not a number (got 1)"),
        ({"ray": 0.0}, "ray: must be true or false, not a number (got 0.0)"),
        ({"sizes": [1, True]}, "sizes.1: must be a whole number, written as one (got True)"),
        ({"parts": {"a": {"weight": False}}}, "parts.a.weight: must be a number, not true or false (got False)"),
        ({"length": True}, "length.int: must be a whole number, written as one (got True)"),
    ],
)
def test_a_boolean_is_no_number_and_a_number_is_no_boolean(told: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        refuse_mixed(Outer, told)
    assert explain(caught.value) == said


@pytest.mark.parametrize(
    "told",
    [
        {"lr": 1, "steps": 3, "ray": True, "folder": "x", "sizes": [1, 2], "length": 4},
        {"lr": "1e-6", "steps": "3", "length": "auto"},
        {"lr": float("inf"), "free": {"anything": True}},
        # Not for this check: it is refused where the configuration is made.
        {"unknown": 1, "folder": 3},
        {"free": {("no", "json"): object()}},
    ],
)
def test_everything_else_is_left_to_the_configuration(told: dict[str, Any]) -> None:
    refuse_mixed(Outer, told)


def test_an_unknown_option_is_told_with_the_nearest() -> None:
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate({"stepps": 1, "xyz": 1, "parts": {"a": {"wieght": 2}}})
    assert explain(caught.value, Outer).split("; ") == [
        "parts.a.wieght: there is no such option (got 2)",
        "did you mean 'weight'?",
        "stepps: there is no such option (got 1)",
        "did you mean 'steps'?",
        "xyz: there is no such option (got 1)",
    ]


def test_the_options_at_a_place() -> None:
    assert names_at(Outer, ("parts", "a")) == ("weight", "required")
    assert names_at(dict[str, Inner] | None, ("a",)) == ("weight", "required")
    assert names_at(tuple[Inner, ...], (0,)) == ("weight", "required")
    assert names_at(Outer, ("lr",)) == ()
