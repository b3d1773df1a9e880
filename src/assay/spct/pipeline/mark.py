"""What a stage's folder says about itself: the key and settings of what is in it, and how far it is. Pure, but for one
file that is written whole.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from assay.core.config import Config, explain
from assay.core.errors import InputError
from assay.core.files import write_whole
from assay.core.types import Json

from .stage import Stage

FILE = "stage.json"

Standing = Literal["to do", "begun", "done", "changed", "stale"]
"""``changed``: the folder holds a stage with other settings. ``stale``: what it was made of was made anew since."""


class Mark(Config):
    """The mark of a stage that was begun. ``made``: a name that no other making has, once it is done."""

    stage: str
    key: str
    settings: dict[str, Any]
    needs: dict[str, str] = Field(default_factory=dict[str, str])
    """The makings of the stages that it needs."""
    finished: int = 0
    """Commands that are done."""
    seconds: float = 0.0
    """Over all calls."""
    lines: tuple[str, ...] = ()
    """The command lines, as they were run last."""
    made: str | None = None


def read_mark(folder: Path) -> Mark | None:
    """The mark in a folder; None where there is none.

    Raises:
        InputError: it is no mark.
    """
    path = folder / FILE
    if not path.exists():
        return None
    try:
        return Mark(**json.loads(path.read_text("utf-8")))
    except (ValueError, TypeError, ValidationError) as error:
        told = explain(error) if isinstance(error, ValidationError) else str(error)
        raise InputError(f"{str(path)!r} is not the mark of a stage ({told}); name another --run-dir") from error


def write_mark(folder: Path, mark: Mark) -> None:
    """Write it, whole or not at all. Raises OutputError."""
    write_whole(folder / FILE, json.dumps(mark.model_dump(mode="json"), indent=1, sort_keys=True), durable=True)


def standing(mark: Mark | None, key: str, needs: Mapping[str, str | None]) -> Standing:
    """How a stage of this key stands. ``needs``: the makings of what it needs as they are now."""
    if mark is None:
        return "to do"
    if mark.key != key:
        return "changed"
    if any(made is not None and mark.needs.get(name, made) != made for name, made in needs.items()):
        return "stale"
    return "begun" if mark.made is None else "done"


def differences(mark: Mark, stage: Stage) -> list[str]:
    """What is set otherwise than in the folder, in words; empty where only commands or needs are others."""
    before, now = mark.settings, dict(stage.settings)
    names = sorted({*before, *now}, key=str)
    return [
        f"{name}={_shown(before, name)} instead of {_shown(now, name)}"
        for name in names
        if before.get(name, _ABSENT) != now.get(name, _ABSENT)
    ]


_ABSENT: Json = "\0not set"


def _shown(settings: Mapping[str, Any], name: str) -> str:
    return json.dumps(settings[name]) if name in settings else "nothing"
