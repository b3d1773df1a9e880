"""The embedded reward engine: prompts that wait at the same time are computed together, in one thread of its own.

Deadlines and cancellation live on the asyncio side: a prompt whose caller has left is dropped before the next batch; a
batch that runs is not interrupted.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.types import ChatPrompt, FailureKind, Json, TokenPrompt
from assay.engines.base import Capability, EngineHealth, EngineInfo, Reward

from .config import EmbeddedRewardConfig
from .model import RewardModel, load_reward_model
from .picking import pick

log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Ticket:
    """One prompt on its way to the thread, and its answer on the way back; ``ids`` are known once the thread has it."""

    prompt: ChatPrompt | TokenPrompt
    ids: tuple[int, ...] = ()
    future: Future[Reward] = field(default_factory=Future[Reward])

    def answer(self, reward: Reward) -> None:
        if not self.future.done() and self.future.set_running_or_notify_cancel():
            self.future.set_result(reward)

    def fail(self, error: GenerationError) -> None:
        if not self.future.done() and self.future.set_running_or_notify_cancel():
            self.future.set_exception(error)


class EmbeddedRewardEngine:
    """RewardEngine. May be used from several event loops."""

    def __init__(self, config: EmbeddedRewardConfig) -> None:
        self.config = config
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="assay-reward")
        self._starting: Future[RewardModel] | None = None
        self._model: RewardModel | None = None
        self._lock = threading.Lock()
        self._inbox: list[_Ticket] = []
        self._ready: list[_Ticket] = []
        """Of the thread alone."""
        self._closed = False
        self._open = 0
        self._batches = 0
        self._answered = 0

    @property
    def info(self) -> EngineInfo:
        """The weight version and the limits are known once the engine has started."""
        model = self._model
        capabilities: set[Capability] = {"tokens"}
        if model is None or model.renderer.has_template:
            capabilities.add("chat")
        return EngineInfo(
            model=self.config.model,
            weight_version=model.version if model else "",
            capabilities=frozenset(capabilities),
            context_len=model.context_len if model else self.config.max_context_len,
            batch_invariant=model is not None and model.max_batch == 1,
            num_gpus=int(model is not None and model.device.type == "cuda"),
        )

    async def start(self) -> None:
        """Load the model. Raises InputError or StartError. Starting twice waits for the first start."""
        if self._starting is None:
            self._starting = self._pool.submit(load_reward_model, self.config)
        self._model = await asyncio.shield(asyncio.wrap_future(self._starting))

    async def reward(self, prompt: ChatPrompt | TokenPrompt, deadline: Deadline) -> Reward:
        """See ``RewardEngine.reward``."""
        ticket = self._post(prompt)
        self._open += 1
        try:
            async with asyncio.timeout(deadline.timeout):
                return await asyncio.wrap_future(ticket.future)
        except TimeoutError:
            detail = f"{self.config.model!r} had not scored the prompt when the deadline passed"
            raise GenerationError(FailureKind.TIMEOUT, detail) from None
        finally:
            self._open -= 1

    async def health(self) -> EngineHealth:
        detail: dict[str, Json] = {"open": self._open, "answered": self._answered, "batches": self._batches}
        if self._closed:
            return EngineHealth(healthy=False, state="closed", error="the reward engine is closed", detail=detail)
        if self._model is None:
            return EngineHealth(healthy=False, state="starting", error="it has not started", detail=detail)
        return EngineHealth(healthy=True, state="ready", detail=detail)

    async def close(self) -> None:
        with self._lock:
            self._closed = True
        await asyncio.to_thread(self._pool.shutdown, wait=True, cancel_futures=True)
        for ticket in (*self._inbox, *self._ready):
            ticket.fail(self._gone())
        self._inbox, self._ready, self._model, self._starting = [], [], None, None
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _post(self, prompt: ChatPrompt | TokenPrompt) -> _Ticket:
        model, ticket = self._model, _Ticket(prompt)
        with self._lock:
            if self._closed:
                raise self._gone()
            if model is None:
                raise GenerationError(FailureKind.ENGINE_ERROR, f"{self.config.model!r} has not started")
            if self._open >= model.max_batch + self.config.max_queue:
                detail = f"{self._open} prompts are open already and max_queue is {self.config.max_queue}"
                raise GenerationError(FailureKind.OVERLOADED, detail, retry_after=1.0)
            self._inbox.append(ticket)
            # One step for each prompt: a step that takes several leaves nothing to do for as many later ones.
            self._pool.submit(self._step, model).add_done_callback(_report)
        return ticket

    def _step(self, model: RewardModel) -> None:
        """Take in what has come, and compute one batch."""
        self._take_in(model)
        self._ready = [ticket for ticket in self._ready if not ticket.future.cancelled()]
        lengths = [len(ticket.ids) for ticket in self._ready]
        chosen = set(pick(lengths, rows=model.max_batch, tokens=self.config.max_batch_tokens))
        batch = [ticket for place, ticket in enumerate(self._ready) if place in chosen]
        self._ready = [ticket for place, ticket in enumerate(self._ready) if place not in chosen]
        if batch:
            self._compute(model, batch)

    def _take_in(self, model: RewardModel) -> None:
        with self._lock:
            come, self._inbox = self._inbox, []
        with self._nobody_left_waiting(model, come, but=self._ready):
            for ticket in come:
                try:
                    ticket.ids = self._ids(model, ticket.prompt)
                except GenerationError as error:
                    ticket.fail(error)
                else:
                    self._ready.append(ticket)

    def _ids(self, model: RewardModel, prompt: ChatPrompt | TokenPrompt) -> tuple[int, ...]:
        ids = model.renderer.whole_ids(prompt, self.config.chat_template_kwargs)
        if len(ids) > model.context_len:
            detail = f"the prompt has {len(ids)} tokens, {model.name!r} takes {model.context_len}"
            raise GenerationError(FailureKind.CONTEXT_OVERFLOW, detail)
        return ids

    def _compute(self, model: RewardModel, batch: Sequence[_Ticket]) -> None:
        with self._nobody_left_waiting(model, batch):
            try:
                logits = model.logits([ticket.ids for ticket in batch])
            except torch.OutOfMemoryError as error:
                detail = f"out of memory ({str(error).splitlines()[0]}); lower max_batch_tokens or max_context_len"
                for ticket in batch:
                    ticket.fail(GenerationError(FailureKind.ENGINE_ERROR, detail))
                return
            # Counted first: whoever has an answer finds itself counted.
            self._batches += 1
            self._answered += len(batch)
            for ticket, logit in zip(batch, logits, strict=True):
                if math.isfinite(logit):
                    ticket.answer(Reward(logit=logit, prompt_tokens=len(ticket.ids)))
                else:
                    ticket.fail(GenerationError(FailureKind.ENGINE_ERROR, f"the logit of {model.name!r} is {logit}"))

    @contextmanager
    def _nobody_left_waiting(
        self, model: RewardModel, tickets: Sequence[_Ticket], but: Sequence[_Ticket] = ()
    ) -> Generator[None]:
        """Whatever goes wrong inside (``_report`` says what), every ticket has an answer, or its place in ``but``."""
        try:
            yield
        finally:
            kept = set(map(id, but))
            for ticket in tickets:
                if id(ticket) not in kept:
                    ticket.fail(GenerationError(FailureKind.ENGINE_ERROR, f"{model.name!r} failed; the log says why"))

    def _gone(self) -> GenerationError:
        return GenerationError(FailureKind.ENGINE_ERROR, "the reward engine is closed")


def _report(step: Future[None]) -> None:
    if not step.cancelled() and (error := step.exception()) is not None:
        log.error("the embedded reward engine failed", exc_info=error)
