"""How a command leaves: the first Ctrl-C (or SIGTERM) asks it to end where nothing is lost, the second cuts it off.

Owns: the signals. Does not own: where a command may end (it asks ``Leaving``), what is lost if it does not get there.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Leaving:
    """Called, it says whether the command is to end. ``number``: of the signal that asked first.

    Args:
        told: called at every signal with how many there were.
    """

    def __init__(self, told: Callable[[int], None]) -> None:
        self._told = told
        self.asked = 0
        self.number: int = signal.SIGINT

    def __call__(self) -> bool:
        return self.asked > 0

    @property
    def exit_code(self) -> int:
        """As a shell has it for a process that such a signal ended: 130 after Ctrl-C."""
        return 128 + self.number

    def run(self, work: Coroutine[Any, Any, None], ready: Callable[[], bool]) -> bool:
        """Run ``work``; returns whether it came to its end, which it may have done early because it asked.

        Args:
            ready: whether ``work`` has come to where it asks; until then the first signal cuts it off.
        """
        before = {each: signal.getsignal(each) for each in _SIGNALS}
        try:
            asyncio.run(self._run(work, ready))
        except (asyncio.CancelledError, KeyboardInterrupt):
            return False
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)
        return True

    async def _run(self, work: Coroutine[Any, Any, None], ready: Callable[[], bool]) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.create_task(work)

        def ask(number: int) -> None:
            self.asked += 1
            if self.asked == 1:
                self.number = number
            self._told(self.asked)
            if self.asked > 1 or not ready():
                # One more ends even a process whose event loop is stuck.
                for each in _SIGNALS:
                    loop.remove_signal_handler(each)
                    signal.signal(each, signal.default_int_handler)
                task.cancel()

        for each in _SIGNALS:
            if signal.getsignal(each) is not signal.SIG_IGN:
                loop.add_signal_handler(each, ask, each)
        await task
