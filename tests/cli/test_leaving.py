"""Signals to a long command: the first asks, the second cuts off, and nothing of it stays behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
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


def test_without_an_event_loop_the_first_signal_asks() -> None:
    told, done = list[int](), threading.Event()
    leaving = Leaving(lambda times: (told.append(times), done.set()))
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with leaving.watching(lambda: True):
        os.kill(os.getpid(), signal.SIGTERM)
        assert leaving()
        assert done.wait(10)
        done.clear()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        assert done.wait(10)
    assert (told, leaving.exit_code) == ([1, 2], 143)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_without_an_event_loop_work_that_is_not_ready_is_cut_off() -> None:
    leaving = Leaving(lambda times: None)
    with pytest.raises(KeyboardInterrupt), leaving.watching(lambda: False):
        os.kill(os.getpid(), signal.SIGINT)
    assert leaving.exit_code == 130


STUCK = """
import asyncio, os, signal, sys, time
from assay.cli import leaving

leaving.GRACE_S = 0.2

async def work():
    for _ in range(2):
        os.kill(os.getpid(), signal.SIGINT)
    await asyncio.to_thread(time.sleep, 600)

signal.signal(signal.SIGINT, signal.default_int_handler)
leaving.Leaving(lambda times: None).run(work(), lambda: True)
"""


def test_what_does_not_close_is_left_behind() -> None:
    done = subprocess.run([sys.executable, "-c", STUCK], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, "stopped; what still ran after 0.2 s was cut off\n")
