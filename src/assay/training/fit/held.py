"""What is held out of the data: by the hash of a prompt, so that all answers to it are on one side. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from assay.core.seeds import digest
from assay.core.types import Json

T = TypeVar("T")

_PARTS = 1 << 32


def is_held(prompt: Json, share: float, *, seed: int) -> bool:
    """Whether a prompt is held out; so many of all prompts are, whatever else is in the data."""
    return int(digest(["held out", seed, prompt])[:8], 16) < share * _PARTS


def split(examples: Iterable[T], prompt: Callable[[T], Json], share: float, *, seed: int) -> tuple[list[T], list[T]]:
    """The examples to train on, and those that are held out; both in their order."""
    train, held = list[T](), list[T]()
    for example in examples:
        (held if share and is_held(prompt(example), share, seed=seed) else train).append(example)
    return train, held
