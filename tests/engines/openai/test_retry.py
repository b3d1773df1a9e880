from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from assay.engines.openai.retry import pause, retry_after

NOW = datetime(2026, 11, 30, 10, 0, 0, tzinfo=UTC)


@settings(deadline=None)
@given(st.integers(0, 500), st.text(), st.floats(0.001, 10), st.floats(0.001, 100))
def test_a_pause_doubles_up_to_its_bound_and_loses_at_most_half(
    attempt: int, key: str, first: float, longest: float
) -> None:
    whole = min(longest, first * 2.0 ** min(attempt, 60))
    seconds = pause(attempt, key, first=first, longest=longest)
    assert whole / 2 <= seconds <= whole
    assert seconds == pause(attempt, key, first=first, longest=longest)


def test_requests_that_failed_together_do_not_come_back_together() -> None:
    pauses = [pause(0, f"request-{n}", first=1, longest=30) for n in range(100)]
    assert len({round(seconds, 2) for seconds in pauses}) > 30


def test_retry_after_in_seconds_and_as_a_date() -> None:
    assert retry_after("7", NOW) == 7
    assert retry_after(" 1.5 ", NOW) == 1.5
    assert retry_after("Mon, 30 Nov 2026 10:00:09 GMT", NOW) == 9
    assert retry_after("Mon, 30 Nov 2026 09:00:00 GMT", NOW) == 0
    assert retry_after("-3", NOW) == 0
    for nothing in (None, "", "soon", "nan", "inf", "Mon, 99 Nov 2026"):
        assert retry_after(nothing, NOW) is None


@settings(deadline=None)
@given(st.text())
def test_any_header_is_read_or_left(header: str) -> None:
    seconds = retry_after(header, NOW)
    assert seconds is None or 0 <= seconds < float("inf")
