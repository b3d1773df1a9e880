"""A scalar reward model as a scorer of candidates: the logit of the conversation that the candidate ends."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from assay.core.deadline import Deadline
from assay.core.types import ChatPrompt, Draw, Failure, FailureKind, Item, Reduce, Usage
from assay.engines.base import RewardEngine
from assay.judges.replies import reply_prompt
from assay.scoring.batch import RunFacts
from assay.scoring.boundary import reward_one

from .candidates import CandidateJudge, Scored, Varies


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardScorer:
    """Asks one reward engine; ``ScoresCandidates``. ``model``: what the user calls it."""

    engine: RewardEngine
    model: str

    name: str = field(default="reward", init=False)
    pointwise: bool = field(default=True, init=False)
    scalar: bool = field(default=True, init=False)
    varies: Varies = field(default="nothing", init=False)
    reduce: Reduce = field(default="mean", init=False)
    looks_at_gold: bool = field(default=False, init=False)

    @property
    def identity(self) -> str:
        return f"{self.name}-{self.model}"

    @staticmethod
    def judge(model: str) -> CandidateJudge:
        """The judge of a reward model, before there is an engine."""
        return CandidateJudge(name="reward", identity=f"reward-{model}", per_candidate=True, reduce="mean")

    async def start(self) -> RunFacts:
        """Start the engine."""
        await self.engine.start()
        info = self.engine.info
        return RunFacts(model=info.model, weight_version=info.weight_version)

    async def score(self, item: Item, draw: Draw, deadline: Deadline) -> Scored | Failure:  # noqa: ARG002
        """The logit of the one candidate as the last turn."""
        prompt = reply_prompt(item, 0)
        found = await reward_one(self.engine, prompt, deadline)
        if isinstance(found, Failure):
            return no_meta(found)
        return Scored(
            scores=(found.logit,), prompt=shown(prompt), usage=Usage(calls=1, prompt_tokens=found.prompt_tokens)
        )

    async def close(self) -> None:
        """Close the engine."""
        await self.engine.close()


def no_meta(failure: Failure) -> Failure:
    """A reward engine's failure, where the reward model is no meta RM."""
    return replace(failure, kind=FailureKind.ENGINE_ERROR) if failure.kind is FailureKind.META_ERROR else failure


def shown(prompt: ChatPrompt) -> str:
    """A prompt as a result file keeps it."""
    return "\n\n".join(f"[{turn.role}]\n{turn.text}" for turn in prompt.messages)
