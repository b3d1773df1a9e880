"""Reading a verdict off the log-probs of a fixed list of replies, instead of off a text.

Owns: which reply is how probable, and when that says nothing. Does not own: how an engine scores the replies.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeAlias

from pydantic import Field

from assay.core.types import Completion, Failure, FailureKind, Outcome, Verdict

MinMass: TypeAlias = Annotated[float, Field(ge=0, le=1)]
"""An option: the least common probability of the labels."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """How probable each label is: ``logprobs``, one per label, and ``mass``, the probability of all together."""

    logprobs: tuple[float, ...]
    mass: float

    @property
    def shares(self) -> tuple[float, ...]:
        """The probability of each label among the labels; they add up to 1."""
        best = max(self.logprobs)
        weights = [math.exp(value - best) for value in self.logprobs]
        return tuple(weight / math.fsum(weights) for weight in weights)


def weigh(completions: Sequence[Completion], labels: Collection[str], min_mass: float) -> Weighed | Failure:
    """The log-probs that an engine gave to the ``choices`` of a request.

    Failures: ``low_mass`` below ``min_mass`` (the model wanted to say something else), ``engine_error`` when the engine
    did not return one log-prob per label.
    """
    logprobs = completions[0].choice_logprobs if len(completions) == 1 else None
    if logprobs is None or len(logprobs) != len(labels) or any(math.isnan(value) for value in logprobs):
        got = f"{len(completions)} completions" if len(completions) != 1 else f"choice_logprobs {logprobs!r}"
        detail = f"expected one completion with a log-prob for each of {list(labels)!r}, got {got}"
        return Failure(kind=FailureKind.ENGINE_ERROR, detail=detail)
    told = completions[0].mass
    mass = told if told is not None else math.fsum(map(math.exp, logprobs))
    return enough(Weighed(logprobs, mass), labels, min_mass, completions[0].text)


def enough(weighed: Weighed, labels: Collection[str], min_mass: float, text: str) -> Weighed | Failure:
    """``weighed``; the failure ``low_mass`` where all labels together are too improbable to say anything."""
    if weighed.mass >= min_mass and max(weighed.logprobs) > -math.inf:
        return weighed
    detail = f"the labels have only {weighed.mass:.3g} of the probability, {min_mass:g} is needed"
    return Failure(kind=FailureKind.LOW_MASS, detail=f"{detail} (log-probs {shown(weighed, labels)})", text=text)


def shown(weighed: Weighed, labels: Collection[str]) -> str:
    """The log-prob of each label, for a message."""
    return ", ".join(f"{label!r}: {value:.3f}" for label, value in zip(labels, weighed.logprobs, strict=True))


def read_choice(completions: Sequence[Completion], labels: Mapping[str, float], min_mass: float) -> Outcome:
    """The score of the most probable label; its text is that label, its mass that of all labels.

    Failures: those of ``weigh``, and ``parse_error`` when the two best are equally probable.
    """
    weighed = weigh(completions, labels, min_mass)
    if isinstance(weighed, Failure):
        return weighed
    best = max(weighed.logprobs)
    winners = [label for label, value in zip(labels, weighed.logprobs, strict=True) if value == best]
    if len(winners) > 1:
        detail = f"{' and '.join(map(repr, winners))} are equally probable (log-probs {shown(weighed, labels)})"
        return Failure(kind=FailureKind.PARSE_ERROR, detail=detail, text=completions[0].text)
    return Verdict(scores=(labels[winners[0]],), text=winners[0], mass=weighed.mass)
