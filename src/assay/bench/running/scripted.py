"""Scripted judges of known quality: they see whether the harness works, and what a benchmark's score means.

``perfect`` gives each candidate its gold, ``inverted`` the opposite, ``constant`` all the same, ``first`` prefers
whatever is shown first. No engine, no model, no randomness of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from assay.core.deadline import Deadline
from assay.core.errors import InputError
from assay.core.types import Draw, Failure, FailureKind, Item, Reduce
from assay.scoring.batch import RunFacts

from .candidates import Scored, Varies

PREFIX = "scripted:"
Script = Literal["perfect", "inverted", "constant", "first"]
SCRIPTS: tuple[Script, ...] = ("perfect", "inverted", "constant", "first")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedScorer:
    """Scores by script; ``ScoresCandidates``."""

    script: Script

    pointwise: bool = field(default=False, init=False)
    scalar: bool = field(default=False, init=False)
    varies: Varies = field(default="orders", init=False)
    reduce: Reduce = field(default="sum", init=False)
    looks_at_gold: bool = field(default=True, init=False)

    @property
    def name(self) -> str:
        return f"{PREFIX}{self.script}"

    @property
    def identity(self) -> str:
        return self.name

    async def start(self) -> RunFacts:
        """Nothing to load."""
        return RunFacts(model=self.name, weight_version="0")

    async def score(self, item: Item, draw: Draw, deadline: Deadline) -> Scored | Failure:  # noqa: ARG002
        """The scores that the script gives; only ``first`` looks at the order."""
        if item.gold is None:
            return Failure(kind=FailureKind.BAD_REQUEST, detail="a script needs the gold")
        match self.script:
            case "perfect":
                return Scored(scores=item.gold)
            case "inverted":
                return Scored(scores=tuple(-gold for gold in item.gold))
            case "constant":
                return Scored(scores=(0.0,) * item.n)
            case "first":
                return Scored(scores=tuple(float(index == draw.order[0]) for index in range(item.n)))

    async def close(self) -> None:
        """Nothing to free."""


def scripted(name: str) -> ScriptedScorer:
    """The script of ``scripted:<name>``.

    Raises:
        InputError: there is none of that name.
    """
    for script in SCRIPTS:
        if f"{PREFIX}{script}" == name:
            return ScriptedScorer(script=script)
    raise InputError(f"unknown script {name!r}: there are {', '.join(PREFIX + script for script in SCRIPTS)}")
