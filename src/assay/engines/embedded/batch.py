"""What runs now: admits requests, takes turns between computing prompts and decoding, and hands out the answers.

Used from the computing thread only. A step is one forward pass (or a few small ones); requests join and leave between
steps.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from assay.core.errors import AssayError, GenerationError
from assay.core.types import FailureKind, FinishReason

from .chat import Renderer
from .choices import choice_completion, score_choices
from .config import EmbeddedConfig
from .decoding import BrokenLogitsError, Decoder, Sampled
from .filling import Filler
from .forward import Runner
from .job import Job, Row, completion, settle, template_kwargs
from .loading import Loaded
from .ticket import Ticket

_CHUNK = {"cpu": 512, "cuda": 8192}
"""Most prompt tokens of one step: enough to keep the device busy, few enough to notice a cancellation soon."""
_CHUNKS_IN_A_ROW = 4
"""After so many chunks of prompts, rows that decode get a step."""
_MEGABYTE = 1 << 20


@dataclass(slots=True)
class Counters:
    """Totals since the engine started."""

    requests: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    steps: int = 0


class Batch:
    """Requests in all stages, and the memory that they use."""

    def __init__(self, loaded: Loaded, config: EmbeddedConfig, renderer: Renderer) -> None:
        shape = loaded.shape
        self.counters = Counters()
        self.waiting: deque[Ticket] = deque()
        self.jobs: dict[Job, None] = {}
        """In the order in which they were admitted."""
        self._loaded = loaded
        self._renderer = renderer
        self._most = config.max_batch
        self._alone = config.batch_invariant
        self._chunk = _CHUNK[loaded.device.type]
        self.filler = Filler(shape, config.prefix_cache_mb * _MEGABYTE, self._chunk, alone=self._alone)
        self.decoder = Decoder(shape, config.max_batch, alone=self._alone)
        self._filled = 0

    @property
    def idle(self) -> bool:
        return not self.jobs and not self.waiting

    def add(self, ticket: Ticket) -> None:
        self.waiting.append(ticket)

    def step(self) -> None:
        """Let requests leave and join, then compute once."""
        for job in [job for job in self.jobs if job.ticket.cancelled]:
            self._drop(job)
        self._admit()
        runner = self._loaded.runner
        if runner is None or not self.jobs:
            return
        self.counters.steps += 1
        fill = bool(self.filler.jobs)
        if fill and self.decoder.rows and self._filled >= _CHUNKS_IN_A_ROW * self._chunk:
            fill = False
        if fill:
            complete, tokens = self.filler.step(runner)
            self._filled += tokens
            self._begin(complete, runner)
        else:
            self._filled = 0
            self._take(self.decoder.step(runner))
        self._open()

    def fail_all(self, error: AssayError) -> None:
        """Everything that runs or waits fails with ``error``."""
        tickets = [job.ticket for job in self.jobs] + list(self.waiting)
        self.waiting.clear()
        self.jobs.clear()
        self.filler.jobs.clear()
        self.decoder.clear()
        for ticket in tickets:
            ticket.fail(error)

    def release(self) -> int:
        """Drop every key and value that is kept; the bytes freed. Only while idle."""
        return self.decoder.banks.nbytes + self.filler.tree.clear()

    def _admit(self) -> None:
        while self.waiting and self._places_taken() < self._most:
            ticket = self.waiting.popleft()
            if ticket.cancelled:
                continue
            try:
                job = self._job(ticket)
            except GenerationError as error:
                ticket.fail(error)
                continue
            self.jobs[job] = None
            self.filler.add(job)

    def _places_taken(self) -> int:
        return len(self.filler.jobs) + len(self.decoder.ready) + len(self.decoder.rows)

    def _job(self, ticket: Ticket) -> Job:
        request = ticket.request
        ids = self._renderer.ids(request.prompt, template_kwargs(request.sampling))
        return Job(ticket, ids, settle(request, len(ids), self._loaded.context_len, self._renderer))

    def _begin(self, complete: Sequence[Job], runner: Runner) -> None:
        """The prompts of these jobs are computed: score their choices, or line up their samples."""
        choosing = [job for job in complete if job.settings.choices is not None]
        self.decoder.ready.extend(job for job in complete if job.settings.choices is None)
        found = score_choices(choosing, runner, self._chunk, alone=self._alone)
        for job, logprobs in zip(choosing, found, strict=True):
            if any(math.isnan(value) for own in logprobs for value in own):
                self._broken(job)
                continue
            job.done[0] = choice_completion(job, logprobs, self._loaded.name, self._loaded.version)
            self._answer(job, 1)

    def _open(self) -> None:
        """Begin samples while there is room; a sample of one token never takes a seat, so look again."""
        while jobs := self.decoder.openings():
            rows = [job.next_row(self._renderer) for job in jobs]
            self._take(list(zip(rows, self.decoder.sample_first(rows), strict=True)))

    def _take(self, results: Sequence[tuple[Row, Sampled | BrokenLogitsError]]) -> None:
        for row, result in results:
            if row.job not in self.jobs:
                continue
            if isinstance(result, BrokenLogitsError):
                self._broken(row.job)
                continue
            finish = row.take(*result, self._loaded.end_ids)
            if row.job.ticket.streams and (delta := row.delta(finish)) is not None:
                row.job.ticket.tell(delta)
            if finish is not None:
                self._finish(row, finish)
            elif row.seat is None:
                self.decoder.sit(row)

    def _finish(self, row: Row, finish: FinishReason) -> None:
        self.decoder.leave(row)
        done = completion(row, finish, self._renderer, self._loaded.name, self._loaded.version)
        row.job.done[row.index] = done
        if len(row.job.done) == row.job.request.n:
            self._answer(row.job, row.job.request.n)

    def _answer(self, job: Job, count: int) -> None:
        completions = tuple(job.done[i] for i in range(count))
        del self.jobs[job]
        self.counters.requests += 1
        self.counters.prompt_tokens += sum(c.prompt_tokens for c in completions)
        self.counters.cached_tokens += sum(c.cached_tokens for c in completions)
        self.counters.completion_tokens += sum(len(c.token_ids) for c in completions)
        job.ticket.answer(completions)

    def _broken(self, job: Job) -> None:
        self._drop(job, wipe=True)
        detail = f"the model gave no finite log-probs ({self._loaded.dtype}); load it with dtype float32"
        job.ticket.fail(GenerationError(FailureKind.ENGINE_ERROR, detail))

    def _drop(self, job: Job, *, wipe: bool = False) -> None:
        del self.jobs[job]
        self.filler.drop(job)
        self.decoder.drop(job, wipe=wipe)
