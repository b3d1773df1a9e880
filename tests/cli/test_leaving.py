"""Signals to a long command: the first asks, the second cuts off, and nothing of it stays behind."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable

import pytest

from assay.cli.leaving import Leaving


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_signal_asks(number: int, code: int) -> None:
    told: list[int] = []
    leaving = Leaving(told.append)
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)

    async def work() -> None:
        os.kill(os.getpid(), number)
        for _ in range(10_000):
            if leaving():
                return
            await asyncio.sleep(0.001)
        raise AssertionError("nobody asked")

    assert leaving.run(work(), lambda: True), "it came to its end by itself"
    assert (told, leaving.exit_code) == ([1], code)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


@pytest.mark.parametrize(("ready", "signals"), [(lambda: True, 2), (lambda: False, 1)], ids=["second", "not ready"])
def test_what_cuts_off(ready: Callable[[], bool], signals: int) -> None:
    told: list[int] = []
    leaving, closed = Leaving(told.append), list[str]()

    async def work() -> None:
        try:
            while True:
                if len(told) < signals:
                    os.kill(os.getpid(), signal.SIGINT)
                await asyncio.sleep(0.001)
        finally:
            closed.append("parts")

    assert not leaving.run(work(), ready)
    assert told == list(range(1, signals + 1))
    assert closed == ["parts"]


def test_one_more_ends_what_is_stuck() -> None:
    leaving, told = Leaving(lambda times: None), list[str]()

    async def work() -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(60)
        finally:
            os.kill(os.getpid(), signal.SIGINT)
            told.append("not reached, or too late")
            while True:  # An event loop that never comes back.
                pass

    assert not leaving.run(work(), lambda: False)
    assert told == []


def test_an_error_of_the_work_is_told() -> None:
    async def work() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Leaving(lambda times: None).run(work(), lambda: True)
