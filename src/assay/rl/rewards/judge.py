"""A judge's verdict as the reward.

One answer at a time, or (``grouped``) all answers to a prompt as the candidates of one item. The value is the judge's
own score; of a judge that only names the best candidate it is the share of its votes: 1 for the best one, 0 for the
others, and half each where it finds no winner between two.
Owns: what a verdict is worth. Does not own: the backend it asks, which whoever built it starts and closes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from assay.core.deadline import Deadline
from assay.core.errors import InputError
from assay.core.types import Candidate, Failure, FailureKind, Item, Outcome, Verdict
from assay.judges.base import Judge
from assay.scoring.ballot import Ballot
from assay.scoring.batch import Judging
from assay.voting.plan import VotePlan

from ..sample import Prompt, Reward, Sample
from ..tasks import together
from .asking import Asker
from .items import gold, question, to_item

Told: TypeAlias = Callable[[float | None, str], Mapping[str, Any]]
"""The parts of a reward out of its value (None where the judgment failed) and the judge's text."""


def score_part(value: float | None, text: str) -> dict[str, Any]:  # noqa: ARG001 - a ``Told``
    """The score alone."""
    return {"score": value}


def dapo_parts(value: float | None, text: str) -> dict[str, Any]:
    """What ``dapo-genrm`` returns in the seeds; ``score`` and ``acc`` are None where the judgment failed."""
    return {"score": value, "acc": None if value is None else int(value), "pred": text.strip()}


class JudgeReward:
    """A ``RewardFunction`` over any judge, asked of a local scorer or of a service.

    ``told`` makes the parts of each reward. Votes of a judge that adds its scores up are averaged instead: a sum would
    grow with the number of votes that held a verdict, which is not the same for every answer.
    """

    def __init__(
        self,
        judge: Judge,
        backend: Judging,
        *,
        grouped: bool = False,
        plan: VotePlan | None = None,
        seed: int = 0,
        told: Told = score_part,
    ) -> None:
        self.judge = judge
        self.plan = _averaged(plan, judge, grouped=grouped)
        self._grouped = grouped
        self._told = told
        self.asker = Asker(judge, backend, plan=self.plan, seed=seed)
        _check(judge, self.plan, grouped=grouped)

    @property
    def grouped(self) -> bool:
        return self._grouped

    async def start(self) -> None:
        """Nothing: the backend is somebody else's."""

    async def close(self) -> None:
        """Nothing: the backend is somebody else's."""

    def check(self, prompt: Prompt) -> None:
        """Refuse a prompt that lacks what the judge needs, before anything is rolled out.

        Raises:
            InputError: names the prompt and what is missing.
        """
        number = 2 if self._grouped and _compares(self.judge) else 1
        item = Item(
            id=f"prompt {prompt.ordinal}",
            messages=question(prompt.prompt, prompt.metadata),
            candidates=(Candidate(text="an answer"),) * number,
            reference=gold(prompt.label, prompt.metadata),
        )
        self.asker.content(item)

    async def score(self, samples: Sequence[Sample], deadline: Deadline) -> tuple[Reward, ...]:
        if not self._grouped:
            outcomes = await together(self.asker.ask(to_item([sample]), deadline) for sample in samples)
            return tuple(self._reward(outcome, 0) for outcome in outcomes)
        if len(samples) == 1 and _compares(self.judge):
            alone = Failure(kind=FailureKind.BAD_REQUEST, detail="one answer of the group is there: nothing to compare")
            return (self._reward(alone, 0),)
        outcome = await self.asker.ask(to_item(samples), deadline)
        return tuple(self._reward(outcome, place) for place in range(len(samples)))

    def _reward(self, outcome: Outcome, place: int) -> Reward:
        judge = self.judge.identity
        if isinstance(outcome, Failure):
            return Reward(failure=outcome, parts=self._told(None, outcome.text), judge=judge, text=outcome.text)
        value = self._value(outcome, place)
        criteria = outcome.breakdown[place] if outcome.breakdown else {}
        return Reward(
            value=value, parts={**criteria, **self._told(value, outcome.text)}, judge=judge, text=outcome.text
        )

    def _value(self, verdict: Verdict, place: int) -> float:
        if verdict.scores is None:
            return float(verdict.choice == place)
        total = sum(verdict.scores) if _compares(self.judge) else 1.0
        return verdict.scores[place] / (total or 1.0)


def _compares(judge: Judge) -> bool:
    """Whether the judge names the best candidate, which it cannot of one."""
    return judge.reduce == "majority"


def _averaged(plan: VotePlan | None, judge: Judge, *, grouped: bool) -> VotePlan | None:
    if plan is None:
        return None
    if plan.reduce is None and judge.reduce == "sum":
        return replace(plan, reduce="mean")
    if plan.reduce == "sum" and not grouped:
        raise InputError(
            "reduce 'sum' adds up as many votes as held a verdict, which is not the same number for every answer: "
            "use 'mean' for rewards"
        )
    return plan


def _check(judge: Judge, plan: VotePlan | None, *, grouped: bool) -> None:
    """Refuse what cannot work with any sample."""
    if grouped and judge.per_candidate:
        raise InputError(f"judge {judge.name!r} looks at one answer at a time: leave --group-rm out")
    if not grouped and _compares(judge):
        raise InputError(f"judge {judge.name!r} compares answers: add --group-rm, so that it sees the whole group")
    if plan is not None and not grouped:
        Ballot.of(plan, judge, 1)
