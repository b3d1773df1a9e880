"""The one error tree.

AssayError
 |- InputError         what the user gave is wrong: a file, a field, a flag, a judge, a model (exit code 2)
 |- StartError         a part could not be started: port in use, model not loadable (exit code 3)
 |- OutputError        a result could not be written: disk full, no permission (exit code 4)
 |- TrainingStopped    a run must not go on: too many failed judgments, an alarm (exit code 5); its state is saved
 `- GenerationError    an engine could not answer one request; carries the ``FailureKind`` it becomes

Raise the nearest type, put the offending value in the message with ``!r`` and say the fix. ``GenerationError`` becomes
a ``Failure`` in one place, the scorer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .types import Failure, FailureKind

RETRYABLE = frozenset({FailureKind.OVERLOADED, FailureKind.ENGINE_ERROR, FailureKind.ASLEEP})
"""Kinds for which the same request may succeed later without any change to it."""


class AssayError(Exception):
    """Base of everything that Assay raises on purpose; the message is for a person."""

    exit_code = 1


class InputError(AssayError):
    """What the user gave is wrong; the message names the value and the fix."""

    exit_code = 2


class StartError(AssayError):
    """A part could not be started."""

    exit_code = 3


class OutputError(AssayError):
    """A result could not be written; what was written before stays."""

    exit_code = 4


class TrainingStopped(AssayError):
    """A training run must not go on; the message says why and how to go on after mending it."""

    exit_code = 5


class GenerationError(AssayError):
    """One request could not be answered.

    ``retry_after``: seconds after which the engine asks to be tried again, where it said so.
    """

    def __init__(self, kind: FailureKind, detail: str, *, retry_after: float | None = None) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        self.detail = detail
        self.retry_after = retry_after

    def __reduce__(self) -> tuple[Callable[..., GenerationError], tuple[Any, ...]]:
        return _rebuilt, (self.kind, self.detail, self.retry_after)

    @property
    def retryable(self) -> bool:
        return self.kind in RETRYABLE

    def failure(self) -> Failure:
        return Failure(kind=self.kind, detail=self.detail, retry_after=self.retry_after)


def _rebuilt(kind: FailureKind, detail: str, retry_after: float | None) -> GenerationError:
    return GenerationError(kind, detail, retry_after=retry_after)
