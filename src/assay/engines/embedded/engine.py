"""The embedded engine: a transformers model in this process, behind the engine protocols.

The asyncio side: it posts requests to the computing thread (``worker``) and awaits their tickets. Deadlines and
cancellation live here: whoever stops waiting marks the ticket, and the thread drops its rows before the next step.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.types import Completion, FailureKind, Json, Request
from assay.engines.base import Capability, Delta, EngineHealth, EngineInfo, Tag

from .config import EmbeddedConfig
from .orders import give_back, given_tensors, new_weights, take_again
from .ticket import Ticket
from .worker import Action, Order, Worker

_TAGS: frozenset[Tag] = frozenset({"weights", "kv_cache"})


class EmbeddedEngine:
    """Engine, StreamingEngine, Offloadable, Updatable and TensorUpdatable. May be used from several event loops."""

    def __init__(self, config: EmbeddedConfig) -> None:
        self.config = config
        self._worker = Worker(config)
        self._begun = False
        self._open: set[Ticket] = set()
        self._asleep: frozenset[Tag] = frozenset()
        self._finished: deque[float] = deque(maxlen=64)

    @property
    def info(self) -> EngineInfo:
        """The weight version and the limits are known once the engine has started."""
        loaded, renderer = self._worker.loaded, self._worker.renderer
        capabilities: set[Capability] = {"tokens", "choices", "logprobs", "token_ids"}
        if renderer is None or renderer.has_template:
            capabilities.add("chat")
        return EngineInfo(
            model=loaded.name if loaded else self.config.model,
            adapter=loaded.lora.identity if loaded and loaded.lora else "",
            weight_version=loaded.version if loaded else "",
            capabilities=frozenset(capabilities),
            context_len=loaded.context_len if loaded else self.config.max_context_len,
            batch_invariant=self.config.batch_invariant,
            num_gpus=int(loaded is not None and loaded.device.type == "cuda"),
            parameters=loaded.parameters if loaded else None,
        )

    async def start(self) -> None:
        """Load the model. Raises InputError (unknown model) or StartError. Starting twice waits for the first start."""
        if not self._begun:
            self._begun = True
            self._worker.start()
        await asyncio.shield(asyncio.wrap_future(self._worker.started))

    async def generate(self, request: Request, deadline: Deadline) -> tuple[Completion, ...]:
        """See ``Engine.generate``. A deadline that passes, and a cancelled caller, free the rows within one step."""
        with self._ticket(request) as ticket:
            async with _in_time(request, deadline):
                return await ticket.future

    async def stream(self, request: Request, deadline: Deadline) -> AsyncIterator[Delta]:
        """See ``StreamingEngine.stream``. Choices come as one delta."""
        deltas: asyncio.Queue[Delta | None] = asyncio.Queue()
        with self._ticket(request, deltas.put_nowait) as ticket:
            ticket.future.add_done_callback(lambda _: deltas.put_nowait(None))
            while True:
                async with _in_time(request, deadline):
                    delta = await deltas.get()
                if delta is None:
                    break
                yield delta
            for done in ticket.future.result() if request.choices is not None else ():
                yield Delta(
                    index=0, text=done.text, token_ids=done.token_ids, logprobs=done.logprobs, finish_reason="stop"
                )
            ticket.future.result()

    async def health(self) -> EngineHealth:
        """Live figures: requests, tokens, bytes of keys and values, and what is odd about the chat template."""
        worker = self._worker
        state = worker.state if worker.state != "ready" or not self._asleep else "asleep"
        detail: dict[str, Json] = {"open_requests": len(self._open), "asleep": [*sorted(self._asleep)]}
        if worker.renderer is not None:
            detail["template_warnings"] = list(worker.renderer.warnings)
        if (batch := worker.batch) is not None:
            counters = batch.counters
            detail |= {
                "running": len(batch.decoder.rows),
                "prefilling": len(batch.filler.jobs),
                "waiting": len(batch.waiting),
                "prefix_tokens": batch.filler.tree.tokens,
                "prefix_bytes": batch.filler.tree.nbytes,
                "kv_bytes": batch.decoder.banks.nbytes,
                "requests": counters.requests,
                "prompt_tokens": counters.prompt_tokens,
                "cached_tokens": counters.cached_tokens,
                "completion_tokens": counters.completion_tokens,
                "steps": counters.steps,
            }
        return EngineHealth(healthy=worker.state == "ready", state=state, error=worker.error, detail=detail)

    async def sleep(self, tags: frozenset[Tag] = _TAGS) -> int:
        """Refuse new requests from now on, answer those accepted, then free what ``tags`` name. The bytes freed."""
        before, self._asleep = self._asleep, self._asleep | tags
        return await self._order(give_back(tags - before))

    async def wake(self, tags: frozenset[Tag] = _TAGS) -> int:
        """Take memory again; requests are accepted once no tag is asleep. The bytes taken."""
        taken = await self._order(take_again(self.config, tags & self._asleep))
        self._asleep -= tags
        return taken

    async def update_weights(self, source: str, version: str) -> None:
        """Take the weights in the folder ``source`` after the requests accepted so far; later ones wait for it.

        Raises InputError or StartError, and then the old weights go on serving.
        """
        await self._order(new_weights(self.config, source, version))

    async def update_tensors(self, tensors: Iterable[tuple[str, Any]], version: str) -> int:
        """See ``TensorUpdatable``. The tensors are read in the engine's thread, before this returns."""
        return await self._order(given_tensors(tensors, version))

    async def close(self) -> None:
        self._worker.stop()
        if self._begun:
            await asyncio.to_thread(self._worker.ended.wait)

    async def _order(self, action: Action) -> int:
        order = Order(action)
        self._worker.post(order)
        return await asyncio.shield(asyncio.wrap_future(order.result))

    @contextmanager
    def _ticket(self, request: Request, on_delta: Callable[[Delta], None] | None = None) -> Generator[Ticket]:
        self._refuse()
        ticket = Ticket(request, on_delta)
        self._worker.post(ticket)
        self._open.add(ticket)
        try:
            yield ticket
        finally:
            self._open.discard(ticket)
            self._finished.append(time.monotonic())
            ticket.cancelled = True

    def _refuse(self) -> None:
        if self._asleep:
            raise GenerationError(
                FailureKind.ASLEEP, f"{self.config.model!r} is asleep; wake it first", retry_after=1.0
            )
        if self._worker.state == "starting" and not self._worker.started.done():
            raise GenerationError(FailureKind.ENGINE_ERROR, f"{self.config.model!r} has not started", retry_after=1.0)
        if len(self._open) >= self.config.max_batch + self.config.max_queue:
            waiting = len(self._open) - self.config.max_batch
            detail = f"{waiting} requests wait already and max_queue is {self.config.max_queue}; try again later"
            raise GenerationError(FailureKind.OVERLOADED, detail, retry_after=self._retry_after(waiting))

    def _retry_after(self, waiting: int) -> float:
        """Seconds until half of the queue is gone, at the pace of the last requests."""
        if len(self._finished) < 2:
            return 1.0
        pace = (len(self._finished) - 1) / max(1e-3, self._finished[-1] - self._finished[0])
        return round(min(60.0, max(0.5, waiting / 2 / pace)), 1)


@asynccontextmanager
async def _in_time(request: Request, deadline: Deadline) -> AsyncGenerator[None]:
    try:
        async with asyncio.timeout(deadline.timeout):
            yield
    except TimeoutError as error:
        raise GenerationError(
            FailureKind.TIMEOUT, f"request {request.id!r} was not answered by its deadline"
        ) from error
