"""One request on its way from an event loop to the thread that computes, and its answer on the way back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from assay.core.errors import AssayError
from assay.core.types import Completion, Request
from assay.engines.base import Delta


class Ticket:
    """Made on an event loop. ``tell``, ``answer`` and ``fail`` may be called from any thread; the first end counts."""

    def __init__(self, request: Request, on_delta: Callable[[Delta], None] | None = None) -> None:
        self.request = request
        self.cancelled = False
        """Set by whoever stops waiting; read by the computing thread between steps."""
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[tuple[Completion, ...]] = self._loop.create_future()
        self._on_delta = on_delta

    @property
    def streams(self) -> bool:
        return self._on_delta is not None

    def tell(self, delta: Delta) -> None:
        if self._on_delta is not None:
            self._call(self._on_delta, delta)

    def answer(self, completions: tuple[Completion, ...]) -> None:
        self._call(self._resolve, completions)

    def fail(self, error: AssayError) -> None:
        self._call(self._reject, error)

    def _resolve(self, completions: tuple[Completion, ...]) -> None:
        if not self.future.done():
            self.future.set_result(completions)

    def _reject(self, error: AssayError) -> None:
        # Nobody would look at the error of a request that its caller has left.
        if not self.future.done() and not self.cancelled:
            self.future.set_exception(error)

    def _call(self, function: Callable[[Any], None], value: object) -> None:
        try:
            self._loop.call_soon_threadsafe(function, value)
        except RuntimeError:
            # The loop was closed while we computed: nobody is left to tell.
            self.cancelled = True
