from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.client.retry import FIRST_S, LONGEST_S, read_retry_after, wait_s


@given(st.integers(0, 60), st.integers())
def test_waits_grow_and_stay_within_their_bounds(attempt: int, seed: int) -> None:
    longest = min(LONGEST_S, FIRST_S * 2.0**attempt)
    assert longest / 2 <= wait_s(attempt, None, random.Random(seed)) <= longest


@given(st.floats(0, 1e6), st.integers(0, 60), st.integers())
def test_the_service_is_never_asked_sooner_than_it_said(said: float, attempt: int, seed: int) -> None:
    assert said <= wait_s(attempt, said, random.Random(seed)) <= said * 1.25


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("3", 3.0), ("0.5", 0.5), (None, None), ("", None), ("Wed, 21 Oct 2026 07:28:00 GMT", None), ("-1", None)],
)
def test_retry_after_is_read(header: str | None, seconds: float | None) -> None:
    assert read_retry_after(header) == seconds
