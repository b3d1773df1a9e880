"""How a command leaves: the first Ctrl-C (or SIGTERM) asks it to end where nothing is lost, the second cuts it off.

What is cut off closes its parts; what has not closed after ``GRACE_S`` seconds (a thread in a long step) is left to end
with the process, and processes that it started notice that and end as well. Owns: the signals. Does not own: where a
command may end (it asks ``Leaving``), what is lost if it does not get there.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from threading import Thread, Timer
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
GRACE_S = 5.0
_SHOW_CURSOR = "\x1b[?25h"


class Leaving:
    """Called, it says whether the command is to end. ``number``: of the signal that asked first.

    Args:
        told: called at every signal with how many there were.
    """

    def __init__(self, told: Callable[[int], None]) -> None:
        self._told = told
        self._timer: Timer | None = None
        self.asked = 0
        self.number: int = signal.SIGINT

    def __call__(self) -> bool:
        return self.asked > 0

    @property
    def exit_code(self) -> int:
        """As a shell has it for a process that such a signal ended: 130 after Ctrl-C, 143 after SIGTERM."""
        return 128 + self.number

    def run(self, work: Coroutine[Any, Any, None], ready: Callable[[], bool]) -> bool:
        """Run ``work``; returns whether it came to its end, which it may have done early because it asked.

        Args:
            ready: whether ``work`` has come to where it asks; until then the first signal cuts it off.
        """
        with self._signals():
            try:
                asyncio.run(self._run(work, ready))
            except (asyncio.CancelledError, KeyboardInterrupt):
                return False
        return True

    @contextmanager
    def watching(self, ready: Callable[[], bool]) -> Generator[None]:
        """The same for work that has no event loop: what cuts it off is a KeyboardInterrupt in the midst of it.

        Args:
            ready: whether the work has come to where it asks; until then the first signal cuts it off.
        """

        def ask(number: int, _: FrameType | None) -> None:
            self._count(number)
            # The work may hold the lock of what is written to: another thread waits for it.
            Thread(target=self._told, args=(self.asked,)).start()
            if self.asked > 1 or not ready():
                self._cut_off()
                raise KeyboardInterrupt

        with self._signals():
            for each in _heeded():
                signal.signal(each, ask)
            yield

    async def _run(self, work: Coroutine[Any, Any, None], ready: Callable[[], bool]) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.create_task(work)

        def ask(number: int) -> None:
            self._count(number)
            self._told(self.asked)
            if self.asked > 1 or not ready():
                for each in _SIGNALS:
                    loop.remove_signal_handler(each)
                self._cut_off()
                task.cancel()

        for each in _heeded():
            loop.add_signal_handler(each, ask, each)
        await task

    def _count(self, number: int) -> None:
        self.asked += 1
        if self.asked == 1:
            self.number = number

    def _cut_off(self) -> None:
        """One more signal ends even a process whose event loop is stuck, and none is needed after a while."""
        for each in _SIGNALS:
            signal.signal(each, signal.default_int_handler)
        self._timer = Timer(GRACE_S, _end, (self.exit_code,))
        self._timer.daemon = True
        self._timer.start()

    @contextmanager
    def _signals(self) -> Generator[None]:
        """Signals mean afterwards what they did before, and nothing that was cut off ends the process any more."""
        before = {each: signal.getsignal(each) for each in _SIGNALS}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)
            if self._timer is not None:
                self._timer.cancel()


def _heeded() -> list[signal.Signals]:
    """Those that whoever started the process does not want to be ignored (``nohup``, a shell's background)."""
    return [each for each in _SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]


def _end(code: int) -> None:
    if sys.stdout.isatty():
        os.write(sys.stdout.fileno(), _SHOW_CURSOR.encode())
    os.write(sys.stderr.fileno(), f"stopped; what still ran after {GRACE_S:g} s was cut off\n".encode())
    os._exit(code)
