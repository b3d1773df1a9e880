"""``Judgment``: one item (or one of its candidates) judged once, with everything a record of it needs."""

from __future__ import annotations

from dataclasses import dataclass

from assay.core.types import Item, Outcome, Usage, Verdict, Vote


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """What the scorer returns.

    ``candidate``: which candidate of the item was judged, for judges that look at one at a time; None = all together.
    ``prompt``: the judge's prompt as text (several requests joined by a blank line); empty when a service judged.
    """

    item: Item
    judge: str
    judge_identity: str
    content_hash: str
    outcome: Outcome
    votes: tuple[Vote, ...]
    usage: Usage
    latency_s: float
    candidate: int | None = None
    cached: bool = False
    reasks: int = 0
    model: str = ""
    weight_version: str = ""
    prompt: str = ""

    @property
    def ok(self) -> bool:
        return isinstance(self.outcome, Verdict)
