"""Agentic rewards: each step of ``metadata["trajectory_steps"]`` judged by the judge of its module, then aggregated.

A step is an object with ``module`` and what was done in it: ``response`` (or ``output``, ``content``). It may say what
it was asked (``prompt``, ``input`` or ``messages``: a text or a chat list; else the sample's question) and its gold
answer (``label``). A step whose judgment fails makes the whole fail: an average over the others would be one of other
steps. Where the rollout writes no steps into the metadata, a function of the user's cuts the answer into them.
Owns: the form of a step, and what the scores come to. Does not own: the judges.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from assay.core.deadline import Deadline
from assay.core.errors import InputError
from assay.core.types import Candidate, Failure, FailureKind, Item, Message, Outcome

from ..sample import Prompt, Reward, Sample
from ..tasks import together
from .asking import Asker
from .calling import UserFunction
from .items import gold, question
from .returned import read_reward
from .seen import RunArgs, seen

STEPS_KEY = "trajectory_steps"
ANY_MODULE = "*"
AGGREGATES = ("mean", "min", "last")
_ASKED = ("prompt", "input", "messages")
_DONE = ("response", "output", "content")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a trajectory, as an item with one candidate."""

    module: str
    item: Item


def steps_of(sample: Sample) -> tuple[Step, ...]:
    """The steps of a sample.

    Raises:
        InputError: the metadata hold no list of steps, or one is not of the form above.
    """
    name = f"{sample.group_index}/{sample.index}"
    told = sample.metadata.get(STEPS_KEY)
    if not isinstance(told, list | tuple):
        there = ", ".join(map(str, sample.metadata)) or "nothing"
        raise InputError(f"sample {name}: metadata[{STEPS_KEY!r}] must be a list of steps; the metadata hold {there}")
    return tuple(_step(sample, f"{name} step {place}", step) for place, step in enumerate(cast("list[Any]", told), 1))


def _step(sample: Sample, name: str, step: Any) -> Step:
    if not isinstance(step, Mapping):
        raise InputError(f"sample {name}: a step must be an object with 'module', got {step!r:.80}")
    fields = cast("Mapping[str, Any]", step)
    module, done = fields.get("module"), next((fields[key] for key in _DONE if key in fields), None)
    if not isinstance(module, str) or not isinstance(done, str):
        keys = ", ".join(map(str, fields)) or "nothing"
        raise InputError(
            f"sample {name}: needs a text under 'module' and one under {' or '.join(_DONE)}; it has {keys}"
        )
    asked = next((fields[key] for key in _ASKED if key in fields), None)
    messages = question(sample.prompt, sample.metadata) if asked is None else _messages(asked, name)
    item = Item(id=name, messages=messages, candidates=(Candidate(text=done),), reference=gold(fields.get("label"), {}))
    return Step(module=module, item=item)


def _messages(asked: Any, name: str) -> tuple[Message, ...]:
    if isinstance(asked, str):
        return (Message(role="user", content=asked),)
    try:
        return tuple(Message(role=str(turn["role"]), content=str(turn["content"])) for turn in asked)
    except (TypeError, KeyError):
        raise InputError(f"sample {name}: {asked!r:.80} is neither a text nor a list of role and content") from None


class StepCutter:
    """A function of the user's, ``fn(args, sample)``, that says the steps of a sample, in the form of the metadata."""

    def __init__(self, function: UserFunction, args: RunArgs) -> None:
        self._function = function
        self._args = args

    async def cut(self, sample: Sample, deadline: Deadline) -> Sample | Failure:
        """The sample with its steps in the metadata; a failure where the function raised or was late."""
        told = await self._function.call(self._args, seen(sample), deadline=deadline)
        return told if isinstance(told, Failure) else replace(sample, metadata={**sample.metadata, STEPS_KEY: told})

    async def close(self) -> None:
        await self._function.close()


class StepsReward:
    """A ``RewardFunction`` over trajectories.

    ``judges``: who judges the steps of a module; ``*`` those of any other. ``aggregate``: ``mean``, ``min`` or
    ``last``, or a function of the user's that is called with the scores and the steps of the metadata. ``cutter``: who
    says the steps; None where the rollout wrote them.
    """

    grouped = False

    def __init__(
        self, judges: Mapping[str, Asker], aggregate: str | UserFunction = "mean", cutter: StepCutter | None = None
    ) -> None:
        self.judges = dict(judges)
        self._aggregate = aggregate
        self._cutter = cutter

    async def start(self) -> None:
        """Nothing: the backends are somebody else's."""

    async def close(self) -> None:
        """What functions of the user's opened; the backends are somebody else's."""
        if self._cutter is not None:
            await self._cutter.close()
        if isinstance(self._aggregate, UserFunction):
            await self._aggregate.close()

    def check(self, prompt: Prompt) -> None:
        """See ``ChecksPrompts``: where nobody cuts answers into steps, the metadata of the prompts hold them."""
        if self._cutter is None:
            own = Sample(
                group_index=prompt.ordinal, index=0, prompt=prompt.prompt, label=prompt.label, metadata=prompt.metadata
            )
            for step in steps_of(own):
                self._judge(step).content(step.item)

    async def score(self, samples: Sequence[Sample], deadline: Deadline) -> tuple[Reward, ...]:
        return tuple(await together(self._one(sample, deadline) for sample in samples))

    async def _one(self, sample: Sample, deadline: Deadline) -> Reward:
        cut = sample if self._cutter is None else await self._cutter.cut(sample, deadline)
        if isinstance(cut, Failure):
            return Reward(failure=cut, parts={"score": None})
        sample, steps = cut, steps_of(cut)
        askers = [self._judge(step) for step in steps]
        asked = zip(askers, steps, strict=True)
        outcomes = await together(asker.ask(step.item, deadline) for asker, step in asked)
        parts = {"score": None, "steps": [_told(*one) for one in zip(steps, outcomes, strict=True)]}
        judge = ", ".join(dict.fromkeys(asker.judge.identity for asker in askers))
        text = "\n\n".join(outcome.text for outcome in outcomes)
        failure = failed_step(steps, outcomes)
        if failure is not None:
            return Reward(failure=failure, parts=parts, judge=judge, text=text)
        scores = [_value(outcome) or 0.0 for outcome in outcomes]
        reward = await self._aggregated(scores, sample, deadline)
        return replace(reward, parts=parts | {"score": reward.value} | dict(reward.parts), judge=judge, text=text)

    def _judge(self, step: Step) -> Asker:
        found = self.judges.get(step.module) or self.judges.get(ANY_MODULE)
        if found is None:
            raise InputError(
                f"sample {step.item.id}: no judge for module {step.module!r}; --step-judges has {list(self.judges)}, "
                f"and {ANY_MODULE!r} would take any other"
            )
        return found

    async def _aggregated(self, scores: Sequence[float], sample: Sample, deadline: Deadline) -> Reward:
        match self._aggregate:
            case "mean":
                return Reward(value=math.fsum(scores) / len(scores))
            case "min":
                return Reward(value=min(scores))
            case "last":
                return Reward(value=scores[-1])
            case str(other):
                raise InputError(f"step_aggregate {other!r}: there are {', '.join(AGGREGATES)}, or module.fn")
            case function:
                steps = [dict(step) for step in sample.metadata[STEPS_KEY]]
                returned = await function.call(list(scores), steps, deadline=deadline)
                return read_reward(returned, "score", function.name)


def failed_step(steps: Sequence[Step], outcomes: Sequence[Outcome]) -> Failure | None:
    """The failure of the first step that failed, which says which one it is; None where all were judged."""
    if not steps:
        return Failure(kind=FailureKind.BAD_REQUEST, detail="the trajectory has no steps: there is nothing to judge")
    for place, (step, outcome) in enumerate(zip(steps, outcomes, strict=True), 1):
        if isinstance(outcome, Failure):
            return replace(outcome, detail=f"step {place} of {len(steps)} ({step.module}): {outcome.detail}")
    return None


def _value(outcome: Outcome) -> float | None:
    return None if isinstance(outcome, Failure) or outcome.scores is None else outcome.scores[0]


def _told(step: Step, outcome: Outcome) -> dict[str, Any]:
    if isinstance(outcome, Failure):
        return {"module": step.module, "score": None, "failure": str(outcome.kind)}
    return {"module": step.module, "score": _value(outcome)}
