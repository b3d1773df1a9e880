from __future__ import annotations

import pickle

from assay.client import GenRMError
from assay.core.errors import AssayError
from assay.core.types import Failure, FailureKind


def test_an_error_is_one_of_ours_and_becomes_a_failure() -> None:
    error = GenRMError(429, "overloaded", "the queue is full", 2.0)
    assert isinstance(error, AssayError)
    assert error.failure() == Failure(kind=FailureKind.OVERLOADED, detail="the queue is full", retry_after=2.0)
    assert error.retryable
    assert str(error) == "HTTP 429, overloaded: the queue is full"
    assert str(GenRMError(None, "timeout", "too late")) == "no reply, timeout: too late"


def test_an_error_crosses_processes() -> None:
    back = pickle.loads(pickle.dumps(GenRMError(503, "asleep", "later", 5.0)))
    assert (back.status, back.type, back.message, back.retry_after, back.kind) == (
        503, "asleep", "later", 5.0, FailureKind.ASLEEP,
    )  # fmt: skip
