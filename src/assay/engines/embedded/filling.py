"""Computing prompts: what several of them share once, what is known not again, in chunks of bounded size.

Owns the prefix tree and the choice of what to compute next. Does not own what follows a computed prompt (``batch``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from torch import Tensor

from .forward import Runner
from .job import Job
from .kv import KvShape, cut_slab, split_slab
from .prefix import PrefixTree, shared_stretches
from .sampling import broken
from .spans import Span

_LEAST_SHARED = 16
"""Fewer tokens than this are computed again rather than in a step of their own."""
_BLOCK = 128
"""Tokens of a block where prompts are computed alone: a part of their numbers, so never another for another device."""


@dataclass(frozen=True, slots=True)
class _Work:
    """The next tokens to compute, up to ``stop``, for all of ``jobs`` at once."""

    jobs: tuple[Job, ...]
    stop: int


class Filler:
    """Prompts that are being computed.

    Args:
        shape: of the model's keys and values.
        cache_bytes: most bytes of the prefix tree.
        chunk: most tokens of one step.
        alone: one prompt at a time, in blocks of fixed size. What a block holds then follows from the tokens up to its
            end alone, bit for bit, and whole blocks may still be reused.
    """

    def __init__(self, shape: KvShape, cache_bytes: int, chunk: int, *, alone: bool) -> None:
        self.jobs: list[Job] = []
        self.tree: PrefixTree[Tensor] = PrefixTree(cache_bytes, shape.token_bytes, split_slab)
        self._chunk = chunk
        self._alone = alone
        self._block = _BLOCK if alone else 1

    def add(self, job: Job) -> None:
        """Take a prompt; what the tree knows of it when its turn comes need not be computed."""
        self.jobs.append(job)

    def drop(self, job: Job) -> None:
        if job in self.jobs:
            self.jobs.remove(job)

    def step(self, runner: Runner) -> tuple[list[Job], int]:
        """Compute one chunk. Returns the jobs that are now complete (``first`` is set), and the tokens computed."""
        left = self._chunk
        works: list[_Work] = []
        for work in self._plan():
            if left <= 0:
                break
            known = work.jobs[0].known
            works.append(_Work(work.jobs, min(work.stop, known + left)))
            left -= works[-1].stop - known
        spans = [_span(work) for work in works]
        wanted = [int(work.stop == len(work.jobs[0].ids)) for work in works]
        complete: list[Job] = []
        for work, span, logits, slab in zip(works, spans, *runner.spans(spans, wanted), strict=True):
            assert slab is not None, "the spans of a prompt keep their keys and values"
            for job in work.jobs:
                job.parts.append(slab)
                job.known = work.stop
            work.jobs[0].computed += len(span.ids)
            if logits.shape[0]:
                work.jobs[0].first = logits
                complete.append(work.jobs[0])
        for job in complete:
            self.jobs.remove(job)
            if not broken(_logits(job))[0]:
                self.tree.insert(job.ids[: self._whole(len(job.ids))], partial(cut_slab, job.parts))
        return complete, self._chunk - left

    def _plan(self) -> list[_Work]:
        """What to compute next, the earliest request first."""
        for job in self.jobs[:1] if self._alone else self.jobs:
            if job.known == 0:
                self._reuse(job)
        if self._alone:
            return [_Work((job,), min(job.known + _BLOCK, len(job.ids))) for job in self.jobs[:1]]
        works, shared = self._shared()
        works += [_Work((job,), len(job.ids)) for job in self.jobs if job not in shared]
        place = {job: i for i, job in enumerate(self.jobs)}
        return sorted(works, key=lambda work: min(place[job] for job in work.jobs))

    def _reuse(self, job: Job) -> None:
        _, known = self.tree.match(job.ids, len(job.ids) - 1)
        job.adopt(*self.tree.match(job.ids, self._whole(known)))

    def _whole(self, tokens: int) -> int:
        """So many tokens in whole blocks."""
        return tokens - tokens % self._block

    def _shared(self) -> tuple[list[_Work], set[Job]]:
        """The stretches to compute for several jobs, and the jobs that wait for one.

        What one member knows already, the others take over; that may show a further stretch behind it, so look again.
        """
        while True:
            works: list[_Work] = []
            adopted = False
            stretches = shared_stretches([j.ids for j in self.jobs], [j.known for j in self.jobs], _LEAST_SHARED)
            for stretch in stretches:
                members = [self.jobs[i] for i in stretch.members]
                lead = max(members, key=lambda job: job.known)
                known = min(lead.known, stretch.stop)
                for job in members:
                    if job.known < known:
                        job.adopt(lead.beginning(known), known)
                        adopted = True
                waiting = tuple(job for job in members if job.known < stretch.stop)
                if waiting:
                    works.append(_Work(waiting, stretch.stop))
            if not adopted:
                return works, {job for work in works for job in work.jobs}


def _logits(job: Job) -> Tensor:
    assert job.first is not None, "a computed prompt has logits"
    return job.first


def _span(work: _Work) -> Span:
    lead = work.jobs[0]
    return Span(lead.ids[lead.known : work.stop], tuple(lead.parts))


def spread(costs: Sequence[int], most: int) -> list[list[int]]:
    """Indices in order, in groups whose costs sum to at most ``most`` (a single one may cost more)."""
    groups: list[list[int]] = []
    left = 0
    for index, cost in enumerate(costs):
        if not groups or cost > left:
            groups.append([])
            left = most
        groups[-1].append(index)
        left -= cost
    return groups
