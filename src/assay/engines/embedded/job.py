"""A request as the computing thread sees it: checked settings, the prompt's progress, and its samples."""

from __future__ import annotations

import math
import random
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from torch import Tensor

from assay.core.errors import GenerationError
from assay.core.seeds import SEED_BITS
from assay.core.types import (
    DEFAULT_SAMPLING,
    Completion,
    FailureKind,
    FinishReason,
    Request,
    SamplingParams,
    TokenLogprob,
)
from assay.engines.base import Delta
from assay.engines.grammars import refuse_grammar

from .chat import Renderer
from .kv import Seat, part
from .sampling import Alternatives, Knobs
from .text import Reply
from .ticket import Ticket

MOST_TOP_LOGPROBS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a request asks for, with every default filled in and every value checked."""

    knobs: Knobs
    max_new_tokens: int
    stops: tuple[str, ...]
    seed: int
    logprobs: int | None
    choices: tuple[tuple[int, ...], ...] | None


def settle(request: Request, prompt_tokens: int, context_len: int, renderer: Renderer) -> Settings:
    """Check a request against the model. Raises GenerationError (bad_request, context_overflow).

    A reply that would not fit behind its prompt is cut where the context ends (finish reason ``length``).
    """
    said = request.sampling.over(DEFAULT_SAMPLING)
    refuse_grammar(said, frozenset(), "embedded")
    temperature, top_p = _number(said.temperature, 0.1), _number(said.top_p, 1.0)
    max_new = said.max_new_tokens or 0
    for fault, name, value, rule in (
        (temperature < 0 or not math.isfinite(temperature), "temperature", temperature, "0 or more"),
        (not 0 < top_p <= 1, "top_p", top_p, "above 0, at most 1"),
        (max_new < 1, "max_new_tokens", said.max_new_tokens, "1 or more"),
        (request.n < 1, "n", request.n, "1 or more"),
        (not 0 <= (said.logprobs or 0) <= MOST_TOP_LOGPROBS, "logprobs", said.logprobs, f"0..{MOST_TOP_LOGPROBS}"),
    ):
        if fault:
            raise GenerationError(FailureKind.BAD_REQUEST, f"{name} must be {rule} (got {value!r})")
    choices = None if request.choices is None else _choices(request.choices, renderer)
    least = 1 if choices is None else max(len(choice) for choice in choices)
    if prompt_tokens + least > context_len:
        raise GenerationError(
            FailureKind.CONTEXT_OVERFLOW,
            f"the prompt has {prompt_tokens} tokens and the reply needs {least}, the context holds {context_len}",
        )
    return Settings(
        knobs=Knobs(temperature=temperature, top_p=top_p, top_k=said.top_k or -1),
        max_new_tokens=min(max_new, context_len - prompt_tokens),
        stops=tuple(said.stop or ()),
        seed=secrets.randbits(SEED_BITS) if said.seed is None else said.seed,
        logprobs=said.logprobs,
        choices=choices,
    )


def template_kwargs(sampling: SamplingParams) -> dict[str, object]:
    """The variables for the chat template that a request sets."""
    return dict(sampling.chat_template_kwargs or {})


def _number(value: float | None, default: float) -> float:
    return default if value is None else float(value)


def _choices(texts: Sequence[str], renderer: Renderer) -> tuple[tuple[int, ...], ...]:
    ids = tuple(renderer.reply_ids(text) for text in texts)
    if not ids or not all(ids) or len(set(ids)) != len(ids):
        raise GenerationError(FailureKind.BAD_REQUEST, f"choices must be different, non-empty texts (got {texts!r})")
    return ids


@dataclass(slots=True, eq=False)
class Row:
    """One sample that decodes."""

    job: Job
    index: int
    reply: Reply
    draws: random.Random
    """Uniform draws, one a step, that follow from the seed and the index alone."""
    sampled: int = 0
    last: int = -1
    logprobs: list[float] = field(default_factory=list[float])
    tops: list[Alternatives] = field(default_factory=list[Alternatives])
    seat: Seat | None = None

    def take(self, token: int, logprob: float, top: Alternatives, ends: frozenset[int]) -> FinishReason | None:
        """Take the sampled token; why the reply ends here, or None."""
        self.last = token
        self.sampled += 1
        self.logprobs.append(logprob)
        self.tops.append(top)
        if token in ends:
            self.reply.end(token)
            return "stop"
        if self.reply.push(token):
            return "stop"
        if self.sampled < self.job.settings.max_new_tokens:
            return None
        return "stop" if self.reply.finish() else "length"

    def delta(self, finish: FinishReason | None) -> Delta | None:
        """What the caller who streams has not seen yet; None where that is nothing."""
        text, start, stop = self.reply.news(final=finish is not None)
        if not text and start == stop and finish is None:
            return None
        logprobs = None if self.job.settings.logprobs is None else tuple(self.logprobs[start:stop])
        ids = tuple(self.reply.ids[start:stop])
        return Delta(index=self.index, text=text, token_ids=ids, logprobs=logprobs, finish_reason=finish)


@dataclass(slots=True, eq=False)
class Job:
    """A request being answered.

    ``parts`` are slabs for the first ``known`` tokens of ``ids``; ``computed`` counts those that this job paid for.
    """

    ticket: Ticket
    ids: tuple[int, ...]
    settings: Settings
    parts: list[Tensor] = field(default_factory=list[Tensor])
    known: int = 0
    computed: int = 0
    first: Tensor | None = None
    """Logits ``[1, vocabulary]`` behind the prompt, once it is computed."""
    started: int = 0
    done: dict[int, Completion] = field(default_factory=dict[int, Completion])

    @property
    def request(self) -> Request:
        return self.ticket.request

    def adopt(self, parts: Sequence[tuple[Tensor, int]], known: int) -> None:
        """Use what was computed for a prompt with the same beginning; ``(slab, tokens to take of it)`` in order."""
        self.parts = [slab if slab.shape[3] == take else part(slab, 0, take) for slab, take in parts]
        self.known = known

    def beginning(self, stop: int) -> list[tuple[Tensor, int]]:
        """This job's own parts up to ``stop``, for another to adopt."""
        parts: list[tuple[Tensor, int]] = []
        for slab in self.parts:
            take = min(slab.shape[3], stop)
            if take > 0:
                parts.append((slab, take))
            stop -= take
        return parts

    def next_row(self, renderer: Renderer) -> Row:
        """The next sample that has not begun."""
        index = self.started
        self.started += 1
        draws = random.Random(f"{self.settings.seed}/{index}")
        return Row(self, index, Reply(renderer.decode, self.settings.stops), draws)


def completion(row: Row, finish: FinishReason, renderer: Renderer, model: str, version: str) -> Completion:
    """The record of a finished sample. The first sample pays for the prompt, the others find all of it computed."""
    job, count = row.job, len(row.reply.ids)
    top = job.settings.logprobs
    tops = tuple(
        tuple(TokenLogprob(token_id=i, text=renderer.token_text(i), logprob=v) for i, v in place)
        for place in row.tops[:count]
    )
    return Completion(
        request_id=job.request.id,
        text=row.reply.text,
        index=row.index,
        finish_reason=finish,
        token_ids=tuple(row.reply.ids),
        logprobs=None if top is None else tuple(row.logprobs[:count]),
        top_logprobs=tops if top else None,
        completion_tokens=row.sampled,
        prompt_tokens=len(job.ids),
        cached_tokens=len(job.ids) - (job.computed if row.index == 0 else 0),
        seed=job.settings.seed,
        model=model,
        weight_version=version,
    )
