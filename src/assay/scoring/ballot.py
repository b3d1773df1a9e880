"""What a vote plan means for one judge and one item: checked once, then used by whoever draws and decides.

Owns the joining of the pure parts of voting for a whole judgment. Does no I/O; the scorer and replays both use it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from assay.core.seeds import digest
from assay.core.types import Json, Outcome, Reduce, Vote
from assay.judges.base import Judge
from assay.judges.parts import join
from assay.voting.decide import decide, settle
from assay.voting.draws import tie_seed
from assay.voting.plan import VotePlan
from assay.voting.spoken import plan_to_json
from assay.voting.stopping import check_stop, enough


@dataclass(frozen=True, slots=True, kw_only=True)
class Ballot:
    """A plan for items of ``n`` candidates, judged ``shown`` at a time; ``how`` its votes become one."""

    plan: VotePlan
    how: Reduce
    scale: tuple[float, float] | None
    shown: int

    @classmethod
    def of(cls, plan: VotePlan, judge: Judge, n: int) -> Ballot:
        """Raises InputError: the plan asks for what this judge cannot give."""
        how = plan.reducer(judge.name, judge.reduce, n, per_candidate=judge.per_candidate)
        shown = 1 if judge.per_candidate else n
        check_stop(plan, judge=judge.name, how=how, n=shown, scale=judge.scale)
        return cls(plan=plan, how=how, scale=judge.scale, shown=shown)

    @property
    def told(self) -> dict[str, Json]:
        """For records: the plan with the reducer that was really used."""
        return plan_to_json(replace(self.plan, reduce=self.how))

    def enough(self, votes: Sequence[Vote], elapsed_s: float) -> bool:
        return enough(self.plan, votes, how=self.how, n=self.shown, scale=self.scale, elapsed_s=elapsed_s)

    def decided(self, votes: Sequence[Vote], base: int) -> tuple[list[Vote], Outcome]:
        """The votes about the same candidates, each marked whether it was kept, and what they come to."""
        decision = decide(votes, self.plan, self.how, self.shown)
        kept = frozenset(decision.kept)
        marked = [replace(vote, kept=vote.draw.vote in kept) for vote in votes]
        return marked, settle(decision.outcome, self.plan, tie_seed(votes[0].content_hash, base=base))

    def outcome(self, votes: Sequence[Vote], base: int) -> Outcome:
        """What the votes come to, as ``decided`` has it, where no one asks which of them were kept."""
        outcome = decide(votes, self.plan, self.how, self.shown).outcome
        return settle(outcome, self.plan, tie_seed(votes[0].content_hash, base=base))

    def whole(self, decisions: Mapping[int | None, Outcome], votes: Sequence[Vote], base: int) -> Outcome:
        """The outcome of the item out of those of its parts, in the order of the candidates."""
        outcomes = list(decisions.values())
        if len(outcomes) == 1:
            return outcomes[0]
        contents = digest(list(dict.fromkeys(vote.content_hash for vote in votes)))
        return settle(join(outcomes), self.plan, tie_seed(contents, base=base))
