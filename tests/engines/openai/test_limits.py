import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.types import FailureKind
from assay.engines.openai.limits import BURST_S, Limiter, TokenBucket


def test_a_bucket_by_hand() -> None:
    bucket = TokenBucket.per_minute(120)  # two a second, twelve saved up
    assert bucket.capacity == 2 * BURST_S == 12
    assert [bucket.reserve(6, 0.0) for _ in range(2)] == [0, 0]
    assert bucket.reserve(2, 0.0) == 1
    assert bucket.reserve(2, 0.0) == 2
    assert bucket.reserve(1, 10.0) == 0
    bucket.release(1, 10.0)
    assert bucket.level == 12


def test_more_than_the_capacity_waits_for_a_full_bucket_and_is_paid_for() -> None:
    bucket = TokenBucket.per_minute(600)  # ten a second, sixty saved up
    assert bucket.reserve(100, 0.0) == 0
    assert bucket.level == -40
    assert bucket.reserve(100, 0.0) == 10


@settings(deadline=None)
@given(
    st.integers(1, 6000),
    st.lists(st.tuples(st.floats(0, 30), st.floats(0.1, 50)), min_size=1, max_size=60),
)
def test_no_window_gets_more_than_the_rate_and_one_burst(rate: int, asked: list[tuple[float, float]]) -> None:
    bucket = TokenBucket.per_minute(rate)
    now, granted = 0.0, list[tuple[float, float]]()
    for step, amount in asked:
        now += step
        wait = bucket.reserve(amount, now)
        assert wait >= 0
        granted.append((now + wait, amount))
    times = [at for at, _ in granted]
    assert times == sorted(times)
    largest = max(amount for _, amount in granted)
    for start, (begin, _) in enumerate(granted):
        for end in range(start, len(granted)):
            spent = sum(amount for _, amount in granted[start : end + 1])
            allowed = max(bucket.capacity, largest) + largest + bucket.rate * (granted[end][0] - begin)
            assert spent <= allowed + 1e-6


@settings(deadline=None)
@given(st.lists(st.floats(0, 100), max_size=20), st.floats(0, 1000))
def test_what_is_released_is_as_if_never_reserved(amounts: list[float], later: float) -> None:
    used, untouched = TokenBucket.per_minute(600), TokenBucket.per_minute(600)
    for amount in amounts:
        used.reserve(amount, 0.0)
    for amount in amounts:
        used.release(amount, 0.0)
    assert used.reserve(50, later) == pytest.approx(untouched.reserve(50, later))


def test_the_limiter_refuses_at_once_what_the_deadline_forbids() -> None:
    async def main() -> None:
        limiter = Limiter(requests=10, tokens=None, clock=lambda: 100.0)
        await limiter.admit(0, Deadline.after(1))
        with pytest.raises(GenerationError) as caught:
            await limiter.admit(0, Deadline.after(1))  # the next place comes free in six seconds
        assert caught.value.kind is FailureKind.OVERLOADED
        assert caught.value.retry_after == pytest.approx(6)
        with pytest.raises(GenerationError) as again:  # and the refused one gave its place back
            await limiter.admit(0, Deadline.after(1))
        assert again.value.retry_after == pytest.approx(6)

    asyncio.run(main())


def test_a_cancelled_wait_gives_its_place_back_and_a_reply_corrects_the_tokens() -> None:
    async def main() -> None:
        limiter = Limiter(requests=None, tokens=600, clock=lambda: 100.0)
        await limiter.admit(60, Deadline.never())
        waits = asyncio.create_task(limiter.admit(10, Deadline.never()))
        await asyncio.sleep(0)
        waits.cancel()
        await asyncio.gather(waits, return_exceptions=True)
        limiter.settle(60, 20)  # forty were not used
        await asyncio.wait_for(limiter.admit(40, Deadline.never()), 0.05)

    asyncio.run(main())


def test_a_pause_that_the_server_asked_for_holds_everybody() -> None:
    async def main() -> None:
        limiter = Limiter(requests=None, tokens=None)
        limiter.pause(0.1)
        with pytest.raises(GenerationError):
            await limiter.admit(0, Deadline.after(0.05))
        begin = asyncio.get_running_loop().time()
        await limiter.admit(0, Deadline.never())
        assert asyncio.get_running_loop().time() - begin >= 0.08

    asyncio.run(main())
