"""How far rollouts may run ahead of training: a small state machine without tasks, clocks or clients.

A step trains a batch of B groups and makes version v into v + 1. A group that is started while the rollout engines have
version v may be trained on by the step from version v + s at the latest (``--max-staleness`` s). Two rules keep that
promise without throwing anything away: no more is started than could be used in time, and a batch leaves no more behind
than later steps can still take.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from assay.core.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The batch that can be taken now: tickets in the order of their start; or those that must be waited for."""

    take: tuple[int, ...] = ()
    wait_for: tuple[int, ...] = ()


@dataclass(slots=True, kw_only=True)
class StalenessGate:
    """Tickets are the numbers that ``start`` hands out, one a group."""

    batch_size: int
    max_staleness: int
    version: int = 0
    """Of the weights that the rollout engines have: the steps whose weights were published."""
    training: bool = False
    """Whether a batch was taken whose weights are not published yet."""
    _next: int = 0
    _started_at: dict[int, int] = field(default_factory=dict[int, int])
    _finished: set[int] = field(default_factory=set[int])

    def __post_init__(self) -> None:
        if self.batch_size < 1 or self.max_staleness < 0:
            raise InputError(
                f"a batch needs at least one group and a staleness of at least 0, got {self.batch_size} and "
                f"{self.max_staleness}"
            )

    @property
    def open(self) -> int:
        """How many groups may be started now: as many as the steps that are left to them can take."""
        steps = self.max_staleness + (not self.training)
        return max(0, steps * self.batch_size - len(self._started_at))

    def start(self) -> int:
        """A group is started."""
        if not self.open:
            raise ValueError("no group may be started now")
        ticket, self._next = self._next, self._next + 1
        self._started_at[ticket] = self.version
        return ticket

    def finish(self, ticket: int) -> None:
        """A group is rolled out and judged, and worth training on."""
        self._finished.add(ticket)

    def drop(self, ticket: int) -> None:
        """A group will not be trained on (it teaches nothing, or it failed): another may be started."""
        self._started_at.pop(ticket)
        self._finished.discard(ticket)

    def wanted(self) -> Wanted:
        """The next batch: the oldest finished groups, unless too many older ones would then be left for later steps.

        Groups that must be trained on by version u are at most (u - v) B after this step, for every u (the condition
        under which an earliest-deadline schedule exists); where finished ones cannot make that true, it must be waited.
        """
        chosen: list[int] = []
        for ahead in range(self.max_staleness + 1):
            bound = self.version + ahead
            group = [t for t, at in self._started_at.items() if at + self.max_staleness <= bound]
            needed = len(group) - ahead * self.batch_size - sum(ticket in chosen for ticket in group)
            ready = [ticket for ticket in group if ticket in self._finished and ticket not in chosen]
            if needed > len(ready):
                return Wanted(wait_for=tuple(t for t in group if t not in self._finished))
            chosen += ready[: max(0, needed)]
        spare = [t for t in self._started_at if t in self._finished and t not in chosen]
        chosen += spare[: self.batch_size - len(chosen)]
        if len(chosen) < self.batch_size:
            return Wanted(wait_for=tuple(t for t in self._started_at if t not in self._finished))
        return Wanted(take=tuple(sorted(chosen)))

    def take(self, tickets: tuple[int, ...]) -> tuple[int, ...]:
        """A batch goes into a step; how many versions old the weights were that each of its groups began with."""
        ages = tuple(self.version - self._started_at[ticket] for ticket in tickets)
        for ticket in tickets:
            self.drop(ticket)
        self.training = True
        return ages

    def published(self) -> None:
        """The rollout engines have the weights of the step."""
        if self.training:
            self.version += 1
            self.training = False
