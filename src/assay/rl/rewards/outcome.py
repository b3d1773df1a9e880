"""``--rm-type grm-outcome``: the policy is itself a judge, and earns +1 for a right verdict and -1 for any other.

DeepSeek-GRM's rule-based RL: eq. 11 on the verdict that the policy's answer holds, nothing for its form. An answer
without a verdict earns -1 (our reading of the paper): it is the policy's own answer, so that nothing that judges it has
failed, and no failure becomes a number. Owns: what a prompt says of its verdict, and what the answer is worth. Does not
own: the prompts (``spct.prompts`` writes them), eq. 11 (``voting.correct``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import Field, FiniteFloat, ValidationError, model_validator

from assay.core.config import Config, explain
from assay.core.deadline import Deadline
from assay.core.errors import InputError
from assay.core.seeds import canonical
from assay.core.types import Candidate, Completion, Draw, Item, Outcome, Verdict
from assay.judges import Judge, build_judge
from assay.voting.correct import gold_best, reward

from ..sample import Prompt, Reward, Sample, Status

KEY = "verdict"
"""Where a prompt's metadata says which judge asks and what is right."""


class AskedVerdict(Config):
    """What a prompt asks for: the judge whose prompt it is, the order in which it shows the candidates, their gold."""

    judge: str
    options: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Options of the judge."""
    order: tuple[int, ...]
    gold: Annotated[tuple[FiniteFloat, ...], Field(min_length=1)]
    """In the item's own order."""

    @model_validator(mode="after")
    def _decides(self) -> Self:
        if sorted(self.order) != list(range(len(self.gold))):
            raise ValueError(f"order {self.order} is no order of {len(self.gold)} candidates")
        if len(self.gold) > 1 and gold_best(self.gold) is None:
            raise ValueError(f"gold {self.gold} has no single best candidate")
        return self


class OutcomeReward:
    """Reads each answer as the judge would read its own. ``readable``: what a verdict earns for being one, right or
    wrong (0 in the paper)."""

    grouped = False

    def __init__(self, *, readable: float = 0.0) -> None:
        self._readable = readable
        self._judges: dict[str, Judge] = {}

    async def start(self) -> None:
        """Nothing: nobody is asked."""

    async def close(self) -> None:
        """Nothing."""

    def check(self, prompt: Prompt) -> None:
        """Refuse a prompt that does not say what verdict it asks for. Raises InputError."""
        self._judge(asked_of(prompt.metadata, f"prompt {prompt.ordinal}"))

    async def score(self, samples: Sequence[Sample], deadline: Deadline) -> tuple[Reward, ...]:  # noqa: ARG002
        return tuple(self._one(sample) for sample in samples)

    def _one(self, sample: Sample) -> Reward:
        asked = asked_of(sample.metadata, f"sample {sample.group_index}/{sample.index}")
        judge = self._judge(asked)
        if sample.status is Status.FAILED and sample.failure is not None:
            return Reward(failure=sample.failure, judge=judge.identity)
        draw = Draw(vote=0, seed=0, order=asked.order)
        said = Completion(request_id="", text=sample.response, finish_reason="length" if sample.truncated else "stop")
        outcome = judge.read(_shown(asked), draw, [said])
        verdict = outcome if isinstance(outcome, Verdict) else None
        right = reward(None if verdict is None else _scores(verdict, len(asked.gold)), asked.gold)
        parts = {
            "score": float(right),
            "readable": float(verdict is not None),
            "verdict": "" if verdict is None else str(verdict.choice if verdict.scores is None else verdict.scores),
        }
        value = right + self._readable * (verdict is not None)
        return Reward(value=float(value), parts=parts, judge=judge.identity, text=_why(outcome))

    def _judge(self, asked: AskedVerdict) -> Judge:
        key = canonical([asked.judge, asked.options])
        if key not in self._judges:
            self._judges[key] = build_judge(asked.judge, **asked.options)
        return self._judges[key]


def asked_of(metadata: Mapping[str, Any], where: str) -> AskedVerdict:
    """What the prompt says of its verdict.

    Raises:
        InputError: it says nothing, or something wrong; names the prompt.
    """
    said = metadata.get(KEY)
    if said is None:
        raise InputError(
            f"{where}: its metadata has no {KEY!r}, which rm_type 'grm-outcome' compares with: "
            "write the prompts with assay rft (rl.jsonl)"
        )
    try:
        return AskedVerdict.model_validate(said)
    except ValidationError as error:
        raise InputError(f"{where}: {KEY}: {explain(error)}") from error


def _shown(asked: AskedVerdict) -> Item:
    """As much of the item as reading a verdict needs: how many candidates there are."""
    return Item(id="", messages=(), candidates=(Candidate(text=""),) * len(asked.gold), gold=asked.gold)


def _scores(verdict: Verdict, n: int) -> tuple[float, ...] | None:
    if verdict.scores is not None or verdict.choice is None:
        return verdict.scores
    return tuple(float(place == verdict.choice) for place in range(n))


def _why(outcome: Outcome) -> str:
    return "" if isinstance(outcome, Verdict) else f"{outcome.kind}: {outcome.detail}"
