"""``Judgment``: one item judged, as its votes and what they come to."""

from __future__ import annotations

from dataclasses import dataclass

from assay.core.types import Item, Outcome, Usage, Verdict, Vote


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """What a scorer returns. Everything about the asking stands in the votes; the rest is summed up from them."""

    item: Item
    judge: str
    judge_identity: str
    outcome: Outcome
    votes: tuple[Vote, ...]

    @property
    def ok(self) -> bool:
        return isinstance(self.outcome, Verdict)

    @property
    def usage(self) -> Usage:
        return sum((vote.usage for vote in self.votes), Usage())

    @property
    def cached(self) -> bool:
        """No engine was asked for it."""
        return all(vote.cached for vote in self.votes)

    @property
    def reasks(self) -> int:
        return sum(vote.reasks for vote in self.votes)

    @property
    def latency_s(self) -> float:
        """Seconds until the last vote was there; votes are drawn side by side."""
        return max(vote.latency_s for vote in self.votes)

    @property
    def model(self) -> str:
        return next((vote.model for vote in self.votes if vote.model), "")

    @property
    def weight_version(self) -> str:
        return next((vote.weight_version for vote in self.votes if vote.weight_version), "")
