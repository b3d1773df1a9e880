"""The one thread that owns torch: it loads, steps, and carries out orders (sleep, wake, new weights) between requests.

Requests and orders come in through one queue, in order: an order waits until everything before it is answered, and what
comes after it waits for the order. This file holds the one boundary where any exception is caught: it ends the engine,
and everybody who waits is told.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Literal

import torch

from assay.core.errors import AssayError, GenerationError, StartError
from assay.core.types import FailureKind

from .batch import Batch
from .chat import Renderer
from .config import EmbeddedConfig
from .loading import Loaded, load
from .ticket import Ticket

log = logging.getLogger(__name__)

State = Literal["starting", "ready", "failed", "closed"]
Action = Callable[[Loaded, Batch], int]
"""Done while nothing runs; says how many bytes it freed or took."""


class Order:
    """An action and its result."""

    def __init__(self, action: Action) -> None:
        self.action = action
        self.result: Future[int] = Future()


class Worker:
    """Start it once; ``post`` and ``order`` from any thread; ``stop`` ends it."""

    def __init__(self, config: EmbeddedConfig) -> None:
        self.state: State = "starting"
        self.error: str | None = None
        self.loaded: Loaded | None = None
        self.renderer: Renderer | None = None
        self.batch: Batch | None = None
        self.started: Future[None] = Future()
        self.ended = threading.Event()
        self._config = config
        self._inbox: deque[Ticket | Order] = deque()
        self._wake = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._main, name="assay-embedded", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def post(self, item: Ticket | Order) -> None:
        """Queue a request or an order. Raises GenerationError where nobody would ever take it."""
        with self._wake:
            if self._closing or self.state in ("failed", "closed"):
                raise self._gone()
            self._inbox.append(item)
            self._wake.notify()

    def stop(self) -> None:
        """Ask the thread to end; ``ended`` is set when it has."""
        with self._wake:
            self._closing = True
            self._wake.notify()

    def _main(self) -> None:
        try:
            self._serve(*self._load())
        except Exception as error:  # noqa: BLE001  the thread's own boundary
            self._fail(error)
        finally:
            try:
                self._end()
            finally:
                self.ended.set()

    def _load(self) -> tuple[Loaded, Batch]:
        loaded = load(self._config)
        renderer = Renderer(loaded.tokenizer, loaded.vocabulary)
        batch = Batch(loaded, self._config, renderer)
        for warning in renderer.warnings:
            log.warning("model %s: %s", self._config.model, warning)
        self.loaded, self.renderer, self.batch = loaded, renderer, batch
        self.state = "ready"
        self.started.set_result(None)
        return loaded, batch

    @torch.inference_mode()
    def _serve(self, loaded: Loaded, batch: Batch) -> None:
        while self._take_in(loaded, batch):
            if batch.idle:
                continue
            try:
                batch.step()
            except torch.OutOfMemoryError as error:
                detail = f"out of memory ({str(error).splitlines()[0]}); lower max_batch or prefix_cache_mb"
                batch.fail_all(GenerationError(FailureKind.ENGINE_ERROR, detail))
                batch.release()

    def _take_in(self, loaded: Loaded, batch: Batch) -> bool:
        """Move what may begin out of the inbox; sleeps while there is nothing to do. False when it is time to end."""
        with self._wake:
            while batch.idle and not self._inbox and not self._closing:
                self._wake.wait()
        while self._inbox and not self._closing:
            item = self._inbox[0]
            if isinstance(item, Ticket):
                batch.add(item)
            elif batch.idle:
                self._obey(item, loaded, batch)
            else:
                break
            self._inbox.popleft()
        return not self._closing

    def _obey(self, order: Order, loaded: Loaded, batch: Batch) -> None:
        """An order that cannot be carried out is told to whoever gave it; the engine goes on as it was."""
        try:
            order.result.set_result(order.action(loaded, batch))
        except AssayError as error:
            order.result.set_exception(error)

    def _fail(self, error: Exception) -> None:
        self.error = f"{type(error).__name__}: {error}"
        if not self.started.done():
            self.started.set_exception(error if isinstance(error, AssayError) else StartError(self.error))
        else:
            log.critical("the embedded engine has stopped", exc_info=error)
        self.state = "failed"

    def _end(self) -> None:
        with self._wake:
            self.state = "failed" if self.state == "failed" else "closed"
            left = list(self._inbox)
            self._inbox.clear()
        if self.batch is not None:
            self.batch.fail_all(self._gone())
        for item in left:
            if isinstance(item, Ticket):
                item.fail(self._gone())
            else:
                item.result.set_exception(self._gone())
        self.batch = self.loaded = self.renderer = None
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _gone(self) -> GenerationError:
        why = f"the engine has stopped: {self.error}; restart it" if self.error else "the engine is closed"
        return GenerationError(FailureKind.ENGINE_ERROR, why)
