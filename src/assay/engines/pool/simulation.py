"""A simulated pool: what a way of routing does to latency, balance and cache hits, without an engine. Pure.

A replica works like one that batches continuously: all of its requests advance at once and share its speed. Prompt
tokens whose prefix it has in its cache cost nothing. The routing does not know how long a reply will be: it is told the
mean of those seen.
"""

from __future__ import annotations

import heapq
import random
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from assay.core.stats import percentile

from .tokens import CHUNK_TOKENS, work


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One request. ``keys`` as in ``tokens.prefix_keys``."""

    at: float
    keys: tuple[int, ...]
    prompt: int
    reply: int


@dataclass(slots=True)
class Replica:
    """``speed``: reply tokens a second, shared by all that it runs; it dies at ``dies_at``."""

    speed: float
    dies_at: float = float("inf")
    cache_tokens: int = 100_000
    owed: float = 0.0
    running: dict[int, float] = field(default_factory=dict[int, float])
    """Work left of each request."""
    now: float = 0.0
    cache: OrderedDict[int, None] = field(default_factory=OrderedDict[int, None])
    worked: float = 0.0

    def advance(self, now: float) -> None:
        if self.running:
            done = (now - self.now) * self.speed / len(self.running)
            self.worked += (now - self.now) * self.speed
            for job in self.running:
                self.running[job] -= done
        self.now = now

    def next_end(self) -> float:
        """When the request that is next to end does, if nothing else comes."""
        if not self.running:
            return float("inf")
        return self.now + max(0.0, min(self.running.values())) * len(self.running) / self.speed

    def take(self, number: int, job: Job) -> int:
        """Begin a request; its prompt tokens that were in the cache."""
        hit = 0
        for key in job.keys:
            if key not in self.cache:
                break
            hit += CHUNK_TOKENS
        for key in job.keys:
            self.cache[key] = None
            self.cache.move_to_end(key)
        while len(self.cache) * CHUNK_TOKENS > self.cache_tokens:
            self.cache.popitem(last=False)
        self.running[number] = work(job.prompt, hit, job.reply)
        return min(hit, job.prompt)


class Routing(Protocol):
    """A way of routing; ``Router`` is one."""

    def choose(self, keys: Sequence[int], owed: Mapping[int, float]) -> int: ...
    def cached_tokens(self, keys: Sequence[int], replica: int) -> int: ...
    def sent(self, keys: Sequence[int], replica: int) -> None: ...
    def forget(self, replica: int) -> None: ...


class RoundRobin:
    """In turn, whatever they owe."""

    def __init__(self) -> None:
        self._turn = 0

    def choose(self, keys: Sequence[int], owed: Mapping[int, float]) -> int:  # noqa: ARG002
        self._turn += 1
        return sorted(owed)[self._turn % len(owed)]

    def cached_tokens(self, keys: Sequence[int], replica: int) -> int:  # noqa: ARG002
        return 0

    def sent(self, keys: Sequence[int], replica: int) -> None: ...
    def forget(self, replica: int) -> None: ...


class AtRandom(RoundRobin):
    """Anyone."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = random.Random(seed)

    def choose(self, keys: Sequence[int], owed: Mapping[int, float]) -> int:  # noqa: ARG002
        return self._random.choice(sorted(owed))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of it. ``lost``: requests that no living replica answered."""

    p50_s: float
    p99_s: float
    hit_share: float
    """Cached prompt tokens over all prompt tokens."""
    imbalance: float
    """Most work done by a replica over the mean of those that live."""
    retried: int
    lost: int


def simulate(routing: Routing, replicas: Sequence[Replica], jobs: Sequence[Job]) -> Outcome:
    """Send the jobs by the routing. What runs on a replica that dies is sent again at that moment."""
    run = _Run(routing, replicas, jobs)
    while run.step():
        pass
    return run.outcome()


class _Run:
    def __init__(self, routing: Routing, replicas: Sequence[Replica], jobs: Sequence[Job]) -> None:
        self._routing = routing
        self._jobs = jobs
        self._all = replicas
        self._alive = dict(enumerate(replicas))
        self._arrivals = [(job.at, number) for number, job in enumerate(jobs)]
        heapq.heapify(self._arrivals)
        self._sent: dict[int, float] = {}
        self._latencies: list[float] = []
        self._hits = 0
        self._retried = 0
        self._mean_reply = 128.0

    def step(self) -> bool:
        """The next thing that happens; False when nothing will."""
        arrival = self._arrivals[0][0] if self._arrivals else float("inf")
        end, ending = min(((r.next_end(), i) for i, r in self._alive.items()), default=(float("inf"), -1))
        death, dying = min(((r.dies_at, i) for i, r in self._alive.items()), default=(float("inf"), -1))
        now = min(arrival, end, death)
        if now == float("inf"):
            return False
        for replica in self._alive.values():
            replica.advance(now)
        if now == death:
            self._die(dying, now)
        elif now == end:
            self._finish(ending, now)
        else:
            self._send(heapq.heappop(self._arrivals)[1])
        return True

    def outcome(self) -> Outcome:
        worked = [replica.worked for replica in self._alive.values()]
        return Outcome(
            p50_s=percentile(self._latencies, 50) or 0.0,
            p99_s=percentile(self._latencies, 99) or 0.0,
            hit_share=self._hits / max(1, sum(job.prompt for job in self._jobs)),
            imbalance=max(worked) * len(worked) / max(1e-9, sum(worked)) if worked else 0.0,
            retried=self._retried,
            lost=len(self._jobs) - len(self._latencies),
        )

    def _die(self, index: int, now: float) -> None:
        replica = self._alive.pop(index)
        self._routing.forget(index)
        self._retried += len(replica.running)
        for number in replica.running:
            heapq.heappush(self._arrivals, (now, number))

    def _send(self, number: int) -> None:
        if not self._alive:
            return
        job = self._jobs[number]
        index = self._routing.choose(job.keys, {i: replica.owed for i, replica in self._alive.items()})
        owed = work(job.prompt, self._routing.cached_tokens(job.keys, index), round(self._mean_reply))
        self._routing.sent(job.keys, index)
        self._hits += self._alive[index].take(number, job)
        self._alive[index].owed += owed
        self._sent[number] = owed

    def _finish(self, index: int, now: float) -> None:
        replica = self._alive[index]
        number = min(replica.running, key=replica.running.__getitem__)
        del replica.running[number]
        replica.owed -= self._sent[number]
        self._mean_reply += 0.05 * (self._jobs[number].reply - self._mean_reply)
        self._latencies.append(now - self._jobs[number].at)
