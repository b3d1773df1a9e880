"""Requests with a fixed list of replies: how likely the model finds each of them, read off in one step.

ln P(reply | prompt) is the sum over the reply's own tokens. What would follow is not asked, not even the end of the
text: so a reply that begins another one is at least as likely as it, and a mass over 1 is possible for such lists.
The first token of every reply is read from the prompt's own last logits; only longer replies cost a step more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from assay.core.types import Completion

from .filling import spread
from .forward import Runner
from .job import Job
from .spans import Span

Logprobs = list[list[float]]
"""For each choice of a job, the log-prob of each of its tokens."""


def score_choices(jobs: Sequence[Job], runner: Runner, chunk: int, *, alone: bool) -> list[Logprobs]:
    """The log-probs of every choice of jobs whose prompts are computed, a NaN where the model gives no distribution."""
    firsts = [_first(job) for job in jobs]
    found = [_begin(job, first) for job, first in zip(jobs, firsts, strict=True)]
    longer = [
        (number, place, choice)
        for number, job in enumerate(jobs)
        for place, choice in enumerate(job.settings.choices or ())
        if len(choice) > 1
    ]
    costs = [chunk if alone else len(choice) for _, _, choice in longer]
    for group in spread(costs, chunk):
        tasks = [longer[i] for i in group]
        spans = [Span(choice[:-1], tuple(jobs[number].parts), keep=False) for number, _, choice in tasks]
        logits, _ = runner.spans(spans, [len(span.ids) for span in spans])
        for (number, place, choice), own in zip(tasks, logits, strict=True):
            logs = own.log_softmax(-1)
            found[number][place] += [float(logs[i, token]) for i, token in enumerate(choice[1:])]
    return found


def choice_completion(job: Job, logprobs: Logprobs, model: str, version: str) -> Completion:
    """The record: the likeliest reply as the text, whatever the temperature, with the log-probs and mass of all."""
    totals = [math.fsum(own) for own in logprobs]
    best = max(range(len(totals)), key=lambda i: totals[i])
    texts, ids = job.request.choices or (), job.settings.choices or ()
    return Completion(
        request_id=job.request.id,
        text=texts[best],
        token_ids=ids[best],
        completion_tokens=len(ids[best]),
        logprobs=tuple(logprobs[best]),
        choice_logprobs=tuple(totals),
        mass=math.fsum(math.exp(total) for total in totals),
        prompt_tokens=len(job.ids),
        cached_tokens=len(job.ids) - job.computed,
        seed=job.request.sampling.seed,
        model=model,
        weight_version=version,
    )


def _first(job: Job) -> Tensor:
    assert job.first is not None, "choices are read once the prompt is computed"
    return job.first


def _begin(job: Job, first: Tensor) -> Logprobs:
    logs = first[0].log_softmax(-1)
    return [[float(logs[choice[0]])] for choice in job.settings.choices or ()]
