"""Engines at work, event by event: requests in, tokens for all that run, judgments as samples end.

An engine gives every request that it runs one token a step; how long a step takes depends on how many run. Reading a
prompt stops the others for its time, or for the host's time of a request where that is longer. Two engines on one card
slow each other by the product of the shares of time in which each needs the card. No clock, no chance: equal input,
equal result.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

from .speed import EngineSpeed


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One claim at work. ``work``: (prompt tokens to read, tokens to write) of each request; for judges, ``per``
    requests follow from each sample of the first stage."""

    name: str
    engines: tuple[tuple[int, ...], ...]
    speed: EngineSpeed
    work: tuple[tuple[float, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineTime:
    """What one engine did: from its first request to its last token, ``busy`` seconds of it."""

    name: str
    gpus: tuple[int, ...]
    start: float
    end: float
    busy: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """``ends``: when each stage had its last token. ``gpu_busy``: seconds in which any engine of a GPU worked."""

    ends: tuple[float, ...]
    engines: tuple[EngineTime, ...]
    gpu_busy: dict[int, float]

    @property
    def end(self) -> float:
        """When everything was done."""
        return max(self.ends, default=0.0)


@dataclass(slots=True)
class _Engine:
    stage: int
    gpus: tuple[int, ...]
    speed: EngineSpeed
    neighbours: list[_Engine] = field(default_factory=list["_Engine"])
    queue: deque[tuple[int, float, int]] = field(default_factory=deque[tuple[int, float, int]])
    running: list[tuple[float, int]] = field(default_factory=list[tuple[float, int]])
    written: float = 0.0
    stall: float = 0.0
    at: float = 0.0
    factor: float = 1.0
    version: int = 0
    start: float = math.inf
    end: float = 0.0
    busy: float = 0.0

    @property
    def load(self) -> int:
        return len(self.queue) + len(self.running)

    def advance(self, now: float) -> None:
        """Up to ``now`` at the present pace."""
        if self.running:
            self.busy += now - self.at
            left = (now - self.at) / self.factor
            stalled = min(left, self.stall)
            self.stall -= stalled
            self.written += (left - stalled) / self.speed.step(len(self.running))
        self.at = now

    def admit(self) -> None:
        while self.queue and len(self.running) < self.speed.most:
            request, prompt, tokens = self.queue.popleft()
            self.stall += self.speed.admission(prompt)
            heapq.heappush(self.running, (self.written + tokens, request))
            self.start = min(self.start, self.at)

    def next_end(self) -> float:
        if not self.running:
            return math.inf
        left = max(0.0, self.running[0][0] - self.written) * self.speed.step(len(self.running))
        return self.at + self.factor * (self.stall + left)


def simulate(stages: Sequence[Stage], *, follow: bool) -> Run:
    """Run the first stage from time 0; with ``follow`` the others are asked as its requests end, else from time 0 too.

    The requests of a later stage belong to those of the first in equal shares: request ``i`` of it to sample
    ``i * samples // requests``.
    """
    return _Simulation(stages, follow=follow).run()


class _Simulation:
    def __init__(self, stages: Sequence[Stage], *, follow: bool) -> None:
        self.stages = stages
        self.engines = [
            [_Engine(stage=number, gpus=gpus, speed=stage.speed) for gpus in stage.engines]
            for number, stage in enumerate(stages)
        ]
        everyone = [engine for row in self.engines for engine in row]
        for one in everyone:
            one.neighbours = [other for other in everyone if other is not one and set(other.gpus) & set(one.gpus)]
        self.follow = follow
        self.events: list[tuple[float, int, int, _Engine]] = []
        self.count = 0
        self.ends = [0.0] * len(stages)
        self.gpu_since: dict[int, float] = {}
        self.gpu_busy = dict.fromkeys((gpu for one in everyone for gpu in one.gpus), 0.0)

    def run(self) -> Run:
        for number, stage in enumerate(self.stages):
            if number == 0 or not self.follow:
                for request in range(len(stage.work)):
                    self._ask(number, request, 0.0)
        while self.events:
            now, _, version, engine = heapq.heappop(self.events)
            if version == engine.version:
                self._finish(engine, now)
        times = tuple(
            EngineTime(name=self.stages[e.stage].name, gpus=e.gpus, start=e.start, end=e.end, busy=e.busy)
            for row in self.engines
            for e in row
            if e.end > 0
        )
        return Run(ends=tuple(self.ends), engines=times, gpu_busy=self.gpu_busy)

    def _ask(self, number: int, request: int, now: float) -> None:
        engine = min(self.engines[number], key=lambda one: one.load)
        prompt, tokens = self.stages[number].work[request]
        engine.advance(now)
        engine.queue.append((request, prompt, tokens))
        self._settle(engine, now)

    def _finish(self, engine: _Engine, now: float) -> None:
        engine.advance(now)
        done: list[int] = []
        while engine.running and engine.running[0][0] <= engine.written + 1e-6:
            done.append(heapq.heappop(engine.running)[1])
        engine.end = self.ends[engine.stage] = now
        self._settle(engine, now)
        if engine.stage == 0 and self.follow:
            for sample in done:
                self._pass_on(sample, now)

    def _pass_on(self, sample: int, now: float) -> None:
        samples = len(self.stages[0].work)
        for number, stage in enumerate(self.stages[1:], 1):
            asked = len(stage.work)
            for request in range(-(-sample * asked // samples), -(-(sample + 1) * asked // samples)):
                self._ask(number, request, now)

    def _settle(self, engine: _Engine, now: float) -> None:
        """Admit what waits, and let those on the same cards know whether this one works."""
        engine.admit()
        self._schedule(engine)
        self._mark(engine, now)
        for other in engine.neighbours:
            factor = self._factor(other)
            if factor != other.factor:
                other.advance(now)
                other.factor = factor
                self._schedule(other)
        factor = self._factor(engine)
        if factor != engine.factor:
            engine.factor = factor
            self._schedule(engine)

    def _factor(self, engine: _Engine) -> float:
        others = max((other.speed.gpu for other in engine.neighbours if other.running), default=0.0)
        return 1 + engine.speed.gpu * others

    def _schedule(self, engine: _Engine) -> None:
        engine.version += 1
        self.count += 1
        when = engine.next_end()
        if when < math.inf:
            heapq.heappush(self.events, (when, self.count, engine.version, engine))

    def _mark(self, engine: _Engine, now: float) -> None:
        for gpu in engine.gpus:
            works = bool(engine.running) or any(gpu in other.gpus and other.running for other in engine.neighbours)
            if works and gpu not in self.gpu_since:
                self.gpu_since[gpu] = now
            elif not works and gpu in self.gpu_since:
                self.gpu_busy[gpu] += now - self.gpu_since.pop(gpu)


def lengths(count: int, mean: int, spread: float, most: int | None = None) -> tuple[int, ...]:
    """So many response lengths: evenly spaced quantiles of a log-normal with this mean, in a fixed scattered order."""
    if spread == 0:
        return (min(mean, most or mean),) * count
    sigma = math.sqrt(math.log(1 + spread**2))
    normal = NormalDist(math.log(mean) - sigma**2 / 2, sigma)
    sizes = [max(1, round(math.exp(normal.inv_cdf((i + 0.5) / count)))) for i in range(count)]
    stride = next(s for s in range(max(1, round(count * 0.618)), count + 2) if math.gcd(s, count) == 1)
    return tuple(min(sizes[i * stride % count], most or sizes[-1]) for i in range(count))
