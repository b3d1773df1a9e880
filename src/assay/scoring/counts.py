"""Live counters of a scorer: what was asked, what came of it, what it cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from assay.core.types import Failure, Json, Usage, Vote


@dataclass(slots=True)
class Counts:
    """Counted once per vote, when it has ended; ``running`` counts those that have not.

    ``voted``: judgments that were voted on. ``drawn``: their votes. ``dropped``: those without a verdict, by kind.
    ``stopped``: judgments that needed fewer votes than ``k``.
    """

    running: int = 0
    judgments: int = 0
    verdicts: int = 0
    cached: int = 0
    reasks: int = 0
    failures: Counter[str] = field(default_factory=Counter[str])
    usage: Usage = field(default_factory=Usage)
    voted: int = 0
    drawn: int = 0
    dropped: Counter[str] = field(default_factory=Counter[str])
    stopped: int = 0

    def add(self, vote: Vote) -> None:
        self.judgments += 1
        self.cached += vote.cached
        self.reasks += vote.reasks
        self.usage += vote.usage
        if isinstance(vote.outcome, Failure):
            self.failures[str(vote.outcome.kind)] += 1
        else:
            self.verdicts += 1

    def vote(self, votes: Sequence[Vote], k: int) -> None:
        """A judgment about the same candidates was made out of these votes."""
        self.voted += 1
        self.drawn += len(votes)
        self.stopped += len(votes) < k
        self.dropped.update(str(vote.outcome.kind) for vote in votes if isinstance(vote.outcome, Failure))

    def snapshot(self) -> dict[str, Json]:
        return {
            "running": self.running,
            "judgments": self.judgments,
            "verdicts": self.verdicts,
            "failures": dict(self.failures),
            "cached": self.cached,
            "reasks": self.reasks,
            "calls": self.usage.calls,
            "prompt_tokens": self.usage.prompt_tokens,
            "cached_tokens": self.usage.cached_tokens,
            "completion_tokens": self.usage.completion_tokens,
            "voted": self.voted,
            "votes_drawn": self.drawn,
            "votes_dropped": dict(self.dropped),
            "stopped_early": self.stopped,
        }
