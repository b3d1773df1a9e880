"""Reading a verdict off the log-probs of a fixed list of replies, instead of off a text.

Owns: which reply is the more probable one, and when that says nothing. Does not own: how an engine scores the replies.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, TypeAlias

from pydantic import Field

from assay.core.types import Completion, Failure, FailureKind, Outcome, Verdict

MinMass: TypeAlias = Annotated[float, Field(ge=0, le=1)]
"""An option: the least common probability of the labels."""


def read_choice(completions: Sequence[Completion], labels: Mapping[str, float], min_mass: float) -> Outcome:
    """The score of the most probable label; its text is that label, its mass that of all labels.

    Failures: ``low_mass`` below ``min_mass`` (the model wanted to say something else), ``parse_error`` when the two
    best are equally probable, ``engine_error`` when the engine did not return one log-prob per label.
    """
    logprobs = completions[0].choice_logprobs if len(completions) == 1 else None
    if logprobs is None or len(logprobs) != len(labels) or any(math.isnan(value) for value in logprobs):
        got = f"{len(completions)} completions" if len(completions) != 1 else f"choice_logprobs {logprobs!r}"
        detail = f"expected one completion with a log-prob for each of {list(labels)!r}, got {got}"
        return Failure(kind=FailureKind.ENGINE_ERROR, detail=detail)
    told = completions[0].mass
    mass = told if told is not None else math.fsum(map(math.exp, logprobs))
    shown = ", ".join(f"{label!r}: {value:.3f}" for label, value in zip(labels, logprobs, strict=True))
    if not mass >= min_mass:
        detail = f"the labels have only {mass:.3g} of the probability, {min_mass:g} is needed (log-probs {shown})"
        return Failure(kind=FailureKind.LOW_MASS, detail=detail, text=completions[0].text)
    best = max(logprobs)
    winners = [label for label, value in zip(labels, logprobs, strict=True) if value == best]
    if len(winners) > 1:
        detail = f"{' and '.join(map(repr, winners))} are equally probable (log-probs {shown})"
        return Failure(kind=FailureKind.PARSE_ERROR, detail=detail, text=completions[0].text)
    return Verdict(scores=(labels[winners[0]],), text=winners[0], mass=mass)
