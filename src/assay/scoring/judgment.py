"""``Judgment``: one item judged, as its votes and what they come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.core.types import Item, Json, Outcome, Usage, Verdict, Vote


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """What a scorer returns. Everything about the asking stands in the votes; the rest is summed up from them.

    ``outcome``: of the whole item. ``decisions``: what the votes about each candidate (None = about all of them
    together) come to. ``voting``: the vote plan as JSON, with the way in which votes were reduced; empty for a plain
    judgment, which is one vote. ``sampling``: what was asked of the engine, as far as that is known here.
    ``parameters``: active ones of the model (``EngineInfo``), where known.
    """

    item: Item
    judge: str
    judge_identity: str
    outcome: Outcome
    votes: tuple[Vote, ...]
    decisions: Mapping[int | None, Outcome] = field(default_factory=dict[int | None, Outcome])
    voting: Mapping[str, Json] = field(default_factory=dict[str, Json])
    sampling: Mapping[str, Json] = field(default_factory=dict[str, Json])
    parameters: int | None = None

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
